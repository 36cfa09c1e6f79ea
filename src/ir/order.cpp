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
  if (&a == &b) return 0;
  return std::less<const VarNode*>()(&a, &b) ? -1 : 1;
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

int count(const Expr& e, int limit);

int count_all(const std::vector<Expr>& list, int limit) {
  int total = 0;
  for (const Expr& e : list) {
    if (total < limit) total += count(e, limit - total);
  }
  return total;
}

// At most `limit`, and no longer in coming: stops as soon as the limit is reached.
int count(const Expr& e, int limit) {
  if (!e.defined() || limit <= 0) return 0;
  int total = 1;
  auto add = [&](const Expr& operand) { total += count(operand, limit - total); };
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::VarNode: break;
    case ExprKind::Unary: add(get<Unary>(e).a); break;
    case ExprKind::Binary:
      add(get<Binary>(e).a);
      add(get<Binary>(e).b);
      break;
    case ExprKind::Select:
      add(get<Select>(e).condition);
      add(get<Select>(e).a);
      add(get<Select>(e).b);
      break;
    case ExprKind::Cast: add(get<Cast>(e).a); break;
    case ExprKind::Load:
      total += count_all(get<Load>(e).indices, limit - total);
      add(get<Load>(e).safe);
      break;
  }
  return total;
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

int tree_size(const Expr& e, int limit) { return count(e, limit); }

}  // namespace tilecopy::ir
