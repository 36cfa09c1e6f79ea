#include "ir/identities.h"

#include "ir/fold.h"
#include "ir/make.h"
#include "ir/raw.h"
#include "ir/walk.h"

namespace tilecopy::ir {
namespace {

bool contains_load(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& part) { found |= part.node()->kind == ExprKind::Load; });
  return found;
}

// `constant`, unless that would drop a Load.
Expr instead_of(const Expr& dropped, const Expr& constant) {
  return contains_load(dropped) ? Expr() : constant;
}

Expr of_and(const Expr& a, const Expr& b) {
  if (is_const_int(a, 1)) return b;
  if (is_const_int(b, 1)) return a;
  if (is_const_int(a, 0)) return a;
  if (is_const_int(b, 0)) return instead_of(a, b);
  return {};
}

Expr of_or(const Expr& a, const Expr& b) {
  if (is_const_int(a, 0)) return b;
  if (is_const_int(b, 0)) return a;
  if (is_const_int(a, 1)) return a;
  if (is_const_int(b, 1)) return instead_of(a, b);
  return {};
}

Expr of_mul(const Expr& a, const Expr& b) {
  if (is_const_int(a, 1)) return b;
  if (is_const_int(b, 1)) return a;
  if (is_const_int(a, 0)) return instead_of(b, a);
  if (is_const_int(b, 0)) return instead_of(a, b);
  return {};
}

}  // namespace

Expr identity(UnaryOp op, const Expr& a) {
  const auto* inner = as<Unary>(a);
  const bool undone = op == UnaryOp::neg || op == UnaryOp::logical_not;
  // Negating a float NaN twice need not give its bits back.
  const bool exact = !is_float(a.node()->dtype);
  return undone && exact && inner && inner->op == op ? inner->a : Expr();
}

Expr identity(BinaryOp op, const Expr& a, const Expr& b) {
  if (is_float(a.node()->dtype)) return {};
  switch (op) {
    case BinaryOp::add: return is_const_int(b, 0) ? a : is_const_int(a, 0) ? b : Expr();
    case BinaryOp::sub: return is_const_int(b, 0) ? a : Expr();
    case BinaryOp::mul: return of_mul(a, b);
    case BinaryOp::div: return is_const_int(b, 1) ? a : Expr();
    case BinaryOp::mod:
      return is_const_int(b, 1) ? instead_of(a, make_zero(a.node()->dtype)) : Expr();
    case BinaryOp::min:
    case BinaryOp::max: return equal(a, b) ? a : Expr();
    case BinaryOp::logical_and: return of_and(a, b);
    case BinaryOp::logical_or: return of_or(a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or: break;
  }
  return {};
}

Expr plain(UnaryOp op, const Expr& a) {
  if (Expr value = fold(op, a); value.defined()) return value;
  if (Expr same = identity(op, a); same.defined()) return same;
  return raw::unary(op, a);
}

Expr plain(BinaryOp op, const Expr& a, const Expr& b) {
  if (Expr value = fold(op, a, b); value.defined()) return value;
  if (Expr same = identity(op, a, b); same.defined()) return same;
  return raw::binary(op, a, b);
}

}  // namespace tilecopy::ir
