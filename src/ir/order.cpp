#include "ir/order.h"

#include <bit>
#include <compare>
#include <functional>

namespace tilecopy::ir {
namespace {

template <typename T>
int sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int order_vars(const VarNode& a, const VarNode& b) {
  if (int by_name = a.name.compare(b.name); by_name != 0) return by_name;
  return sign(a.serial, b.serial);
}

int order_lists(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return sign(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (int result = order(a[i], b[i]); result != 0) return result;
  }
  return 0;
}

int order_loads(const Load& a, const Load& b) {
  if (a.buffer.node() != b.buffer.node()) {
    const int by_name = a.buffer.node()->name.compare(b.buffer.node()->name);
    return by_name != 0 ? by_name : std::less<>()(a.buffer.node(), b.buffer.node()) ? -1 : 1;
  }
  if (int result = order_lists(a.indices, b.indices); result != 0) return result;
  return order(a.safe, b.safe);
}

// `head`, unless that is a tie.
int order_parts(int head, const Expr& a, const Expr& b) { return head != 0 ? head : order(a, b); }

int order_alike(const Expr& a, const Expr& b) {
  switch (a.node()->kind) {
    case ExprKind::IntConst: return sign(get<IntConst>(a).value, get<IntConst>(b).value);
    case ExprKind::FloatConst:
      return sign(std::bit_cast<std::uint64_t>(get<FloatConst>(a).value),
                  std::bit_cast<std::uint64_t>(get<FloatConst>(b).value));
    case ExprKind::VarNode: return order_vars(get<VarNode>(a), get<VarNode>(b));
    case ExprKind::Unary:
      return order_parts(sign(get<Unary>(a).op, get<Unary>(b).op), get<Unary>(a).a,
                         get<Unary>(b).a);
    case ExprKind::Binary: {
      const auto& x = get<Binary>(a);
      const auto& y = get<Binary>(b);
      return order_parts(order_parts(sign(x.op, y.op), x.a, y.a), x.b, y.b);
    }
    case ExprKind::Select: {
      const auto& x = get<Select>(a);
      const auto& y = get<Select>(b);
      return order_parts(order_parts(order(x.condition, y.condition), x.a, y.a), x.b, y.b);
    }
    case ExprKind::Cast: return order(get<Cast>(a).a, get<Cast>(b).a);
    case ExprKind::Load: return order_loads(get<Load>(a), get<Load>(b));
  }
  return 0;
}

}  // namespace

int order(const Expr& a, const Expr& b) {
  if (a.node() == b.node()) return 0;
  if (!a.defined() || !b.defined()) return a.defined() ? 1 : -1;
  const ExprNode& x = *a.node();
  const ExprNode& y = *b.node();
  if (x.kind != y.kind) return sign(x.kind, y.kind);
  if (x.dtype != y.dtype) return sign(x.dtype, y.dtype);
  return order_alike(a, b);
}

}  // namespace tilecopy::ir
