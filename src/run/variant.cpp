#include "run/variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"

namespace tilecopy::run {
namespace {

constexpr std::int64_t most_blocks = INT32_MAX;

bool holds(const Guard& guard, const BoundArguments& bound,
           const std::vector<DevicePointer>& pointers) {
  if (guard.pointer) {
    return pointers[*guard.pointer] % static_cast<DevicePointer>(guard.multiple_of) == 0;
  }
  auto value = guard.value.evaluate(bound.symbols, bound.scalar_sizes);
  return value && *value % guard.multiple_of == 0 && *value >= guard.least && *value <= guard.most;
}

// The maps of a variant; empty when one of its tensors has no elements.
std::optional<std::vector<BoundMap>> bind_maps(const Variant& variant, const LaunchPlan& plan,
                                               const BoundArguments& bound,
                                               const std::vector<DevicePointer>& pointers) {
  std::vector<BoundMap> maps;
  for (const TensorMapRecipe& recipe : variant.tensor_maps) {
    auto map = bind_map(recipe, plan, bound, pointers[recipe.tensor]);
    if (!map) return std::nullopt;
    maps.push_back(std::move(*map));
  }
  return maps;
}

}  // namespace

ChosenVariant choose_variant(const LaunchPlan& plan, const BoundArguments& bound,
                             const std::vector<DevicePointer>& pointers) {
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const Variant& variant = plan.variants[i];
    bool fits = std::all_of(variant.guards.begin(), variant.guards.end(),
                            [&](const Guard& guard) { return holds(guard, bound, pointers); });
    auto maps = fits ? bind_maps(variant, plan, bound, pointers) : std::nullopt;
    if (maps) return {i, std::move(*maps)};
  }
  // Only a kernel that was written at device level has no variant for all arguments.
  raise(ErrorCode::E0807, {},
        {.needed = "tensor maps with dimensions of 1 and more, for these arguments",
         .found = "a dimension or stride of " + plan.kernel + " that is less, or overflows"});
}

std::vector<std::int64_t> grid_of(const LaunchPlan& plan, const BoundArguments& bound) {
  std::vector<std::int64_t> grid;
  for (const SizeProgram& extent : plan.grid) {
    auto value = extent.evaluate(bound.symbols, bound.scalar_sizes);
    if (!value) {
      raise(ErrorCode::E0716, {},
            {.needed = "at most 2^31 - 1 blocks", .found = "an extent of 2^63 or more"});
    }
    grid.push_back(*value);
  }
  const std::int64_t blocks = block_count(grid);
  if (blocks <= most_blocks) return grid;
  raise(ErrorCode::E0716, {},
        {.needed = "at most 2^31 - 1 blocks", .found = fmt::format("{} or more", blocks)});
}

std::int64_t block_count(const std::vector<std::int64_t>& grid) {
  std::int64_t blocks = 1;
  for (std::int64_t extent : grid) {
    if (extent <= 0) return 0;
    // Still too many when it stops counting, unless a later extent is 0.
    if (__builtin_mul_overflow(blocks, extent, &blocks)) blocks = INT64_MAX / 2;
  }
  return blocks;
}

}  // namespace tilecopy::run
