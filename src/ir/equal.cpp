// Structural equality.
#include <algorithm>
#include <bit>

#include "ir/make.h"

namespace tilecopy::ir {
namespace {

bool all_equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool equal_loads(const Load& a, const Load& b) {
  return a.buffer.node() == b.buffer.node() && all_equal(a.indices, b.indices) &&
         equal(a.safe, b.safe);
}

bool equal_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

bool equal(const Expr& a, const Expr& b) {
  if (a.node() == b.node()) return true;
  if (!a.defined() || !b.defined()) return false;
  const ExprNode& x = *a.node();
  const ExprNode& y = *b.node();
  if (x.kind != y.kind || x.dtype != y.dtype || x.depth != y.depth || x.size != y.size)
    return false;
  switch (x.kind) {
    case ExprKind::IntConst: return get<IntConst>(a).value == get<IntConst>(b).value;
    case ExprKind::FloatConst:
      return equal_bits(get<FloatConst>(a).value, get<FloatConst>(b).value);
    case ExprKind::VarNode: return false;
    case ExprKind::Unary: {
      const auto& p = get<Unary>(a);
      const auto& q = get<Unary>(b);
      return p.op == q.op && equal(p.a, q.a);
    }
    case ExprKind::Binary: {
      const auto& p = get<Binary>(a);
      const auto& q = get<Binary>(b);
      return p.op == q.op && equal(p.a, q.a) && equal(p.b, q.b);
    }
    case ExprKind::Select: {
      const auto& p = get<Select>(a);
      const auto& q = get<Select>(b);
      return equal(p.condition, q.condition) && equal(p.a, q.a) && equal(p.b, q.b);
    }
    case ExprKind::Cast: return equal(get<Cast>(a).a, get<Cast>(b).a);
    case ExprKind::Load: return equal_loads(get<Load>(a), get<Load>(b));
  }
  return false;
}

bool equal(const Region& a, const Region& b) {
  return a.buffer.node() == b.buffer.node() && all_equal(a.origin, b.origin) &&
         all_equal(a.extent, b.extent);
}

}  // namespace tilecopy::ir
