#include "copy/tma_common.h"

#include <fmt/format.h>

#include <algorithm>

#include "copy/cuda_common.h"
#include "ir/make.h"

namespace tilecopy::planner {
std::int64_t granule_elements(const Buffer& buffer) {
  return std::max<std::int64_t>(tma_granule_bytes / bytes(buffer.dtype()), 1);
}

std::optional<int> swizzle_span(const Buffer& tile, const Layouts& layouts) {
  auto layout = layouts.find(tile.node());
  if (layout == layouts.end() || !layout->second.swizzle()) return 0;
  const Swizzle& swizzle = *layout->second.swizzle();
  if (swizzle.bits() == 0) return 0;
  Swizzle in_bytes = swizzle.in_bytes(bytes(tile.dtype()));
  for (int bits : {1, 2, 3}) {
    if (in_bytes == Swizzle(bits, 4, 3)) return 16 << bits;
  }
  return std::nullopt;
}

std::shared_ptr<ir::TensorMap> make_tensor_map(const Site& site, const Buffer& tensor,
                                               const std::vector<std::int64_t>& box,
                                               int swizzle_bytes) {
  auto map = ir::make_stmt<ir::TensorMap>(site.op->where);
  map->var = Var("map_" + tensor.name(), uint64);
  map->tensor = tensor;
  map->box = box;
  map->swizzle_bytes = swizzle_bytes;
  map->l2_promotion_bytes = box[0] * bytes(tensor.dtype()) >= 256 ? 256 : 128;
  return map;
}

void add_dimension(ir::TensorMap& map, const Expr& size, const Expr& stride) {
  map.dims.push_back(size);
  map.element_strides.push_back(1);
  if (map.dims.size() == 1) return;
  map.strides.push_back(times(stride, ir::make_int(bytes(map.tensor.dtype()))));
}

bool require_sides(const Buffer& from, const Buffer& to, Rules& rules) {
  bool scopes = (from.scope() == Scope::global && to.scope() == Scope::shared) ||
                (from.scope() == Scope::shared && to.scope() == Scope::global);
  return rules.require("scopes", scopes, "global and shared memory",
                       fmt::format("{} to {}", to_string(from.scope()), to_string(to.scope()))) &&
         rules.require("dtype", from.dtype() == to.dtype(), "equal dtypes",
                       fmt::format("{} to {}", to_string(from.dtype()), to_string(to.dtype())),
                       "copy without a cast, and cast in a fragment");
}

bool require_only_read(const Site& site, const Buffer& tensor, Rules& rules) {
  return rules.require("source_written", !site.simt->written.contains(tensor.node()),
                       "a source that the kernel only reads",
                       fmt::format("{} is written by this kernel, too", tensor.name()),
                       "read from one tensor and write to another");
}

bool require_size(const Expr& size, const Expr& stride, Rules& rules) {
  bool launch = known_at_launch(size) && known_at_launch(stride);
  return rules.require("launch", launch, "sizes and strides that are known at launch",
                       fmt::format("size {}, stride {}", size.to_string(), stride.to_string())) &&
         rules.require("size", rules.proof().within(size, 0, most_coordinate),
                       fmt::format("dimensions up to {}", most_coordinate), size.to_string());
}

bool require_inner_stride(const Expr& stride, Rules& rules) {
  return rules.require(
      "inner_stride", rules.proof().within(stride, 1, 1), "an innermost dimension of stride 1",
      fmt::format("stride {}", stride.to_string()), "make the innermost dimension contiguous");
}

bool require_outer_stride(const Buffer& tensor, const Expr& stride, const std::vector<Expr>& sizes,
                          Rules& rules) {
  std::int64_t element = bytes(tensor.dtype());
  // A stride that is a size, as of most matrices, is small enough, and needs no guard of its own.
  bool small = std::any_of(sizes.begin(), sizes.end(),
                           [&](const Expr& size) { return ir::equal(size, stride); });
  bool fits = rules.proof().multiple(stride, granule_elements(tensor)) &&
              (small || rules.proof().within(stride, 0, most_stride_bytes / element));
  auto constant = ir::const_int(stride);
  // Elements where bytes would not fit into 64 bits.
  bool in_bytes = constant && std::abs(*constant) <= most_stride_bytes;
  return rules.require(
      "outer_stride", fits, "strides that are multiples of 16 bytes, from 0 to 2^40",
      in_bytes ? fmt::format("{} bytes", *constant * element)
               : fmt::format("{} elements of {} bytes", stride.to_string(), element),
      "pad the rows to a multiple of 16 bytes");
}

bool require_aligned(const Buffer& tensor, Rules& rules) {
  return rules.require("alignment", rules.proof().aligned(tensor, tma_granule_bytes),
                       "a 16-byte aligned tensor", "an alignment that is known at launch only");
}

bool require_barrier_bytes(std::int64_t bytes, Rules& rules) {
  return rules.require("barrier_bytes", bytes <= most_barrier_bytes,
                       fmt::format("at most {} bytes", most_barrier_bytes),
                       fmt::format("{} bytes", bytes), "use a smaller tile");
}

void describe_boxes(const Site& site, const std::string& box, std::size_t boxes,
                    std::int64_t tile_bytes, Plan& plan) {
  auto add = [&](const char* name, std::string text) {
    plan.parameters.emplace_back(name, std::move(text));
  };
  const ir::TensorMap& map = *plan.tensor_maps[0];
  add("box", box);
  add("boxes", fmt::format("{}", boxes));
  add("swizzle", map.swizzle_bytes ? fmt::format("{}B", map.swizzle_bytes) : "none");
  if (plan.barrier_bytes > 0) add("barrier_bytes", fmt::format("{}", plan.barrier_bytes));
  add("bytes", fmt::format("{}", tile_bytes));
  add("l2_promotion", fmt::format("{}", map.l2_promotion_bytes));
  describe_policy(site, plan);
}

}  // namespace tilecopy::planner
