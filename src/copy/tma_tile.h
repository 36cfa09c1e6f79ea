// The shared side of a tiled copy by the TMA unit: the region as digits of the tile's layout.
#pragma once

#include "copy/method.h"
#include "copy/tma_box.h"

namespace tilecopy::planner {

struct SharedTile {
  std::vector<TileDigit> digits;  ///< the `dim` of each is an axis of the site
  int swizzle_bytes = 0;
  Expr start;  ///< of the region in the tile, in elements before the swizzle, which keeps it
};

/// Empty when a rule failed: the layout is not the hardware's, or the region cuts through it. The
/// region lies inside of the tile.
std::optional<SharedTile> plan_shared_tile(const Site& site, Rules& rules);

}  // namespace tilecopy::planner
