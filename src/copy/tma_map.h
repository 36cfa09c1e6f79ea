// The global side of a tiled copy by the TMA unit: the tensor's dimensions as those of a tensor
// map.
#pragma once

#include "copy/tma_tile.h"

namespace tilecopy::planner {

/// A dimension of a tensor map; all in elements.
struct MapDim {
  Expr size, stride;
  Expr origin;    ///< of the region
  int axis = -1;  ///< of the site; -1 for a single index
};

/// At most 5 dimensions, the innermost first and the others in the order in which `tile` goes along
/// them, so that boxes take as much of it as they can; empty when a rule failed.
std::optional<std::vector<MapDim>> plan_map_dims(const Site& site, const SharedTile& tile,
                                                 Rules& rules);

/// A coordinate as the hardware takes it, in 32 bits: one that is further out is kept outside of
/// the tensor, on the side where it is.
Expr tma_coordinate(const Expr& value, const ir::Facts& facts);

}  // namespace tilecopy::planner
