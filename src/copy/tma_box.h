// Splits a tile in shared memory into boxes of the TMA unit: pure arithmetic, without IR.
// Limits: CUDA driver API, cuTensorMapEncodeTiled; places in shared memory as measured on an H200
// (docs/hardware-facts.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilecopy::planner {

/// Rows of boxes, starts in rows, strides and addresses are multiples of this.
inline constexpr std::int64_t tma_granule_bytes = 16;
/// One thread issues the boxes of a tile, one after the other.
inline constexpr std::int64_t most_boxes = 64;

/// Boxes start at multiples of this many bytes in shared memory: a swizzle acts on addresses, and
/// the layout on offsets, which agree from the beginning of its pattern.
constexpr std::int64_t box_alignment(int swizzle_bytes) {
  return swizzle_bytes ? std::int64_t{swizzle_bytes} * 8 : 128;
}

/// A digit of a dimension of the tile as it lies in shared memory.
struct TileDigit {
  int dim = 0;  ///< of the tensor map, the innermost first
  std::int64_t extent = 1;
  std::int64_t stride = 1;  ///< in shared memory, in elements
  std::int64_t step = 1;    ///< in the tensor, in elements of its dimension
};

/// What the boxes must obey.
struct BoxLimits {
  int element_bytes = 1;
  int rank = 1;
  int swizzle_bytes = 0;          ///< 0, 32, 64 or 128
  std::int64_t most_outer = 256;  ///< elements of a box in each dimension but the innermost
};

/// One box of a tile.
struct TmaBox {
  std::size_t shape = 0;           ///< index into BoxPlan::shapes
  std::int64_t shared_offset = 0;  ///< in elements from the tile's origin, before the swizzle
  std::vector<std::int64_t> at;    ///< coordinates from the tile's origin, the innermost first
};

struct BoxPlan {
  std::vector<std::vector<std::int64_t>> shapes;  ///< the innermost dimension first
  std::vector<TmaBox> boxes;
};

/// A rule that no boxes can obey.
struct BoxFailure {
  std::string rule, needed, found, advice;
};

/// The boxes, each dense in shared memory and as large as the hardware takes; or what fails.
std::optional<BoxPlan> plan_boxes(std::vector<TileDigit> digits, const BoxLimits& limits,
                                  BoxFailure& failure);

}  // namespace tilecopy::planner
