// Where the TMA unit moves each piece of a box: the walk over a tensor map as pure arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "run/tensor_map.h"

namespace tilecopy::emulator {

/// Up to 16 bytes that lie together on both sides.
struct Piece {
  std::int64_t shared;  ///< address in shared memory
  std::int64_t tensor;  ///< bytes from the tensor's first element; meaningless where not inside
  int bytes;
  bool inside;  ///< else zeros are loaded, and nothing is stored
};

/// The pieces of a box whose first element is at `start` (innermost first). PTX ISA, tensor copies;
/// rows of a swizzled box begin at multiples of the span (docs/hardware-facts.md).
std::vector<Piece> tile_pieces(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                               std::int64_t shared);
/// `start` is c, w, h, n of the first pixel, `tap` the offsets along w and h.
std::vector<Piece> im2col_pieces(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                                 const std::vector<std::int64_t>& tap, std::int64_t shared);

/// The bytes that a load writes, and that its mbarrier counts: the whole box, inside or not.
std::int64_t box_bytes(const run::BoundMap& map);

/// The rule of the copy that coordinates and addresses break, or empty: as measured
/// (docs/hardware-facts.md).
std::string broken_rule(const run::BoundMap& map, const std::vector<std::int64_t>& start,
                        std::int64_t shared, bool store);

}  // namespace tilecopy::emulator
