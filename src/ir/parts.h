// What a statement or expression consists of, taken apart kind by kind. Unlike ir/walk.h it also
// shows what a broken node lacks.
#pragma once

#include <vector>

#include "ir/node.h"

namespace tilecopy::ir {

/// What a whole node has here, and undefined or null in a broken one. Absent safe values and
/// else-branches are left out.
struct Parts {
  std::vector<Expr> exprs = {};
  std::vector<Buffer> buffers = {};
  std::vector<Region> regions = {};
  std::vector<Stmt> bodies = {};
  std::vector<Var> vars = {};
};

Parts parts_of(const StmtNode& s);
std::vector<Expr> children_of(const ExprNode& e);

}  // namespace tilecopy::ir
