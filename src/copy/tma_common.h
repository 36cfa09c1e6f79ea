// What the methods that describe a tensor to the TMA unit share: its limits, and rules about them.
// Facts: CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; PTX ISA,
// cp.async.bulk.tensor; and as measured on an H200 (docs/hardware-facts.md).
#pragma once

#include "copy/method.h"
#include "copy/tma_box.h"

namespace tilecopy::planner {

/// Above this, a coordinate and the extent of a box would leave 32 bits.
inline constexpr std::int64_t most_coordinate = (std::int64_t{1} << 31) - 512;
inline constexpr std::int64_t most_stride_bytes = (std::int64_t{1} << 40) - 1;
/// What one phase of an mbarrier can wait for.
inline constexpr std::int64_t most_barrier_bytes = (std::int64_t{1} << 20) - 1;

/// Elements of 16 bytes.
std::int64_t granule_elements(const Buffer& buffer);

/// The span of the swizzle of a shared tile, 32, 64 or 128; 0 without one, and empty for one that
/// the TMA unit lacks.
std::optional<int> swizzle_span(const Buffer& tile, const Layouts& layouts);

/// A tensor map with the strides, in elements, of the dimensions, and the promotion for its rows.
std::shared_ptr<ir::TensorMap> make_tensor_map(const Site& site, const Buffer& tensor,
                                               const std::vector<std::int64_t>& box,
                                               int swizzle_bytes);

/// What `make_tensor_map` needs of each dimension, the innermost first.
void add_dimension(ir::TensorMap& map, const Expr& size, const Expr& stride);

// Rules.

/// The tensor is in global memory and the tile in shared memory, with equal dtypes.
bool require_sides(const Buffer& from, const Buffer& to, Rules& rules);
/// No write of the kernel could still be under way, and none is ordered before the TMA unit's
/// reads.
bool require_only_read(const Site& site, const Buffer& tensor, Rules& rules);
/// The size and stride of a dimension are known at launch, and the size is below 2^31.
bool require_size(const Expr& size, const Expr& stride, Rules& rules);
bool require_inner_stride(const Expr& stride, Rules& rules);
/// `sizes` are those of the tensor, of which rules about sizes hold already.
bool require_outer_stride(const Buffer& tensor, const Expr& stride, const std::vector<Expr>& sizes,
                          Rules& rules);
bool require_aligned(const Buffer& tensor, Rules& rules);
bool require_barrier_bytes(std::int64_t bytes, Rules& rules);

/// Adds what every method says of its boxes to the plan's parameters.
void describe_boxes(const Site& site, const std::string& box, std::size_t boxes,
                    std::int64_t tile_bytes, Plan& plan);

}  // namespace tilecopy::planner
