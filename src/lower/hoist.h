// Names the values that a tile operation reads from buffers (an origin from an index tensor, say),
// so that the planner sees variables and each is read once.
#pragma once

#include "ir/node.h"
#include "lower/access.h"

namespace tilecopy::lower {

struct HoistedOp {
  std::shared_ptr<const ir::TileOp> op;
  std::vector<ir::Stmt> prologue;  ///< device-level Lets that stand before the operation
};

HoistedOp hoist_loads(const ir::Stmt& op, const AccessLowering& access);

}  // namespace tilecopy::lower
