// What other methods borrow from copies by threads.
#pragma once

#include "copy/method.h"

namespace tilecopy::planner {

/// Executes a plan of the method simt for a tile that is out of bounds in part: every access is
/// guarded.
ir::Stmt lower_ragged_simt(const Plan& plan, const Site& site);

}  // namespace tilecopy::planner
