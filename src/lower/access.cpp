#include "lower/access.h"

#include "ir/make.h"

namespace tilecopy::lower {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

Expr AccessLowering::offset(const Buffer& buffer, const std::vector<Expr>& indices) const {
  return facts_.simplify(planner::element_offset(buffer, indices, layouts_));
}

Expr AccessLowering::bounds_condition(const Buffer& buffer,
                                      const std::vector<Expr>& indices) const {
  Expr result;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    for (const Expr& condition : {make_binary(BinaryOp::ge, indices[d], make_int(0)),
                                  make_binary(BinaryOp::lt, indices[d], buffer.shape()[d])}) {
      Expr simple = facts_.simplify(condition);
      if (ir::is_const_int(simple, 1)) continue;
      result = result.defined() ? make_binary(BinaryOp::logical_and, result, simple) : simple;
    }
  }
  return result;
}

std::vector<Expr> AccessLowering::exprs(const std::vector<Expr>& list) const {
  std::vector<Expr> result;
  for (const Expr& e : list) result.push_back(expr(e));
  return result;
}

Expr AccessLowering::expr(const Expr& e) const {
  switch (e.node()->kind) {
    case ir::ExprKind::IntConst:
    case ir::ExprKind::FloatConst:
    case ir::ExprKind::VarNode: return e;
    case ir::ExprKind::Unary: {
      const auto& u = ir::get<ir::Unary>(e);
      return ir::remake_unary(u.op, expr(u.a));
    }
    case ir::ExprKind::Binary: {
      const auto& b = ir::get<ir::Binary>(e);
      return ir::remake_binary(b.op, expr(b.a), expr(b.b));
    }
    case ir::ExprKind::Select: {
      const auto& s = ir::get<ir::Select>(e);
      return ir::make_select(expr(s.condition), expr(s.a), expr(s.b));
    }
    case ir::ExprKind::Cast: return ir::make_cast(expr(ir::get<ir::Cast>(e).a), e.dtype());
    case ir::ExprKind::Load: break;
  }
  const auto& load = ir::get<ir::Load>(e);
  if (auto held = registers_.find(load.buffer.node()); held != registers_.end()) {
    return ir::make_load(held->second.buffer, {held->second.offset});
  }
  std::vector<Expr> indices = exprs(load.indices);
  Expr result = ir::make_load(load.buffer, {offset(load.buffer, indices)});
  Expr inside = bounds_condition(load.buffer, indices);
  if (!inside.defined()) return result;
  return ir::make_select(inside, result,
                         load.safe.defined() ? load.safe : ir::make_zero(load.dtype));
}

ir::Stmt AccessLowering::store(const ir::Store& s) const {
  if (auto held = registers_.find(s.buffer.node()); held != registers_.end()) {
    return ir::make_store(held->second.buffer, {held->second.offset}, expr(s.value), s.where);
  }
  std::vector<Expr> indices = exprs(s.indices);
  ir::Stmt result = ir::make_store(s.buffer, {offset(s.buffer, indices)}, expr(s.value), s.where);
  Expr inside = bounds_condition(s.buffer, indices);
  return inside.defined() ? ir::make_if(inside, result, nullptr, s.where) : result;
}

}  // namespace tilecopy::lower
