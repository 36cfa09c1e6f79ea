#include "run/cuda_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/diagnostic.h"
#include "run/arguments.h"
#include "run/cuda_memory.h"
#include "run/tensor_map.h"

namespace tilecopy::run {
namespace {

constexpr std::int64_t most_blocks = INT32_MAX;
constexpr std::size_t kept_encodings = 16;

struct Encoding {
  BoundMap map;
  EncodedMap encoded;
};

bool holds(const Guard& guard, const BoundArguments& bound,
           const std::vector<DevicePointer>& pointers) {
  if (guard.pointer) {
    return pointers[*guard.pointer] % static_cast<DevicePointer>(guard.multiple_of) == 0;
  }
  auto value = guard.value.evaluate(bound.symbols, bound.scalar_sizes);
  return value && *value % guard.multiple_of == 0 && *value >= guard.least && *value <= guard.most;
}

std::int64_t block_count(const LaunchPlan& plan, const BoundArguments& bound) {
  std::int64_t blocks = 1;
  for (const SizeProgram& extent : plan.grid) {
    auto value = extent.evaluate(bound.symbols, bound.scalar_sizes);
    if (!value) {
      raise(ErrorCode::E0716, {},
            {.needed = "at most 2^31 - 1 blocks", .found = "an extent of 2^63 or more"});
    }
    if (*value <= 0) return 0;
    // Still too many when it stops counting, unless a later extent is 0.
    if (__builtin_mul_overflow(blocks, *value, &blocks)) blocks = INT64_MAX / 2;
  }
  if (blocks <= most_blocks) return blocks;
  raise(ErrorCode::E0716, {},
        {.needed = "at most 2^31 - 1 blocks", .found = fmt::format("{} or more", blocks)});
}

}  // namespace

struct CudaKernel::State {
  std::shared_ptr<const CudaModule> module;
  LaunchPlan plan;
  std::mutex mutex;
  std::deque<Encoding> encodings;  ///< the latest last

  EncodedMap encoding(const BoundMap& map, const CudaDriver& driver) {
    std::lock_guard lock(mutex);
    for (const Encoding& known : encodings) {
      if (known.map.same_as(map)) return known.encoded;
    }
    if (encodings.size() == kept_encodings) encodings.pop_front();
    encodings.push_back({map, encode(map, driver)});
    return encodings.back().encoded;
  }

  // The maps of a variant; empty when one of its tensors has no elements.
  std::optional<std::vector<BoundMap>> bind_maps(const Variant& variant,
                                                 const BoundArguments& bound,
                                                 const std::vector<DevicePointer>& pointers) const {
    std::vector<BoundMap> maps;
    for (const TensorMapRecipe& recipe : variant.tensor_maps) {
      auto map = bind_map(recipe, plan, bound, pointers[recipe.tensor]);
      if (!map) return std::nullopt;
      maps.push_back(std::move(*map));
    }
    return maps;
  }

  void launch(const Variant& variant, const std::vector<BoundMap>& maps,
              const BoundArguments& bound, std::vector<DevicePointer>& pointers, unsigned blocks,
              const CudaDriver& driver, void* stream) {
    std::vector<EncodedMap> encoded;
    encoded.reserve(maps.size());
    for (const BoundMap& map : maps) encoded.push_back(encoding(map, driver));
    std::vector<void*> parameters;
    for (DevicePointer& pointer : pointers) parameters.push_back(&pointer);
    for (const std::int64_t& symbol : bound.symbols) {
      parameters.push_back(const_cast<std::int64_t*>(&symbol));
    }
    for (const std::uint64_t& scalar : bound.scalars) {
      parameters.push_back(const_cast<std::uint64_t*>(&scalar));
    }
    for (EncodedMap& map : encoded) parameters.push_back(&map);
    void* function = module->function(driver, variant.entry, variant.shared_bytes);
    driver.check(driver.cuLaunchKernel(function, blocks, 1, 1, static_cast<unsigned>(plan.threads),
                                       1, 1, static_cast<unsigned>(variant.shared_bytes), stream,
                                       parameters.data(), nullptr),
                 "cuLaunchKernel");
  }
};

CudaKernel::CudaKernel(std::shared_ptr<const CudaModule> module, LaunchPlan plan)
    : state_(std::make_shared<State>()) {
  state_->module = std::move(module);
  state_->plan = std::move(plan);
}

const LaunchPlan& CudaKernel::plan() const { return state_->plan; }

void CudaKernel::launch(const std::vector<Argument>& arguments, void* stream) const {
  const LaunchPlan& plan = state_->plan;
  BoundArguments bound = bind_arguments(plan, arguments);
  std::int64_t blocks = block_count(plan, bound);
  if (blocks == 0) return;
  const CudaDriver& driver = CudaDriver::get();
  ContextScope context(driver, bound, plan);
  DeviceArguments device(driver, bound, plan, stream);
  for (const Variant& variant : plan.variants) {
    bool fits = std::all_of(variant.guards.begin(), variant.guards.end(), [&](const Guard& guard) {
      return holds(guard, bound, device.pointers());
    });
    auto maps = fits ? state_->bind_maps(variant, bound, device.pointers()) : std::nullopt;
    if (!maps) continue;
    state_->launch(variant, *maps, bound, device.pointers(), static_cast<unsigned>(blocks), driver,
                   stream);
    return device.copy_back();
  }
  raise_internal("no variant of " + plan.kernel + " takes these arguments");
}

}  // namespace tilecopy::run
