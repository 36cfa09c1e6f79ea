// Visiting and rewriting.
#pragma once

#include <functional>

#include "ir/node.h"

namespace tilecopy::ir {

/// Calls `visit` for every expression in `e`, parents before children; once for a node that is used
/// at several places.
void for_each_expr(const Expr& e, const std::function<void(const Expr&)>& visit);
/// Calls `visit` for each expression that `s` itself holds (not those of nested statements).
void for_each_direct_expr(const StmtNode& s, const std::function<void(const Expr&)>& visit);
/// Calls `visit` for `s` and every nested statement, parents before children.
void for_each_stmt(const Stmt& s, const std::function<void(const Stmt&)>& visit);

/// `e` with variables replaced.
Expr substitute(const Expr& e, const std::map<const ExprNode*, Expr>& replacement);

}  // namespace tilecopy::ir
