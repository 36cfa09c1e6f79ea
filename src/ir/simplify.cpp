// The parts of the simplifier that are neither division nor comparison.
#include "ir/simplify.h"

#include <bit>

#include "ir/fold.h"
#include "ir/identities.h"
#include "ir/make.h"
#include "ir/order.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

bool is_constant(const Expr& e) { return as<IntConst>(e) || as<FloatConst>(e); }

// `x & mask` as `x % modulus`.
std::optional<std::int64_t> modulus_of_mask(const Expr& mask) {
  auto value = const_int(mask);
  if (!value || *value < 0 || *value == Interval::max) return std::nullopt;
  const auto next = static_cast<std::uint64_t>(*value) + 1;
  return std::has_single_bit(next) ? std::optional(*value + 1) : std::nullopt;
}

// The opposite of an order of integers.
std::optional<BinaryOp> opposite(BinaryOp op) {
  if (op == BinaryOp::lt) return BinaryOp::ge;
  if (op == BinaryOp::le) return BinaryOp::gt;
  if (op == BinaryOp::gt) return BinaryOp::le;
  if (op == BinaryOp::ge) return BinaryOp::lt;
  if (op == BinaryOp::eq) return BinaryOp::ne;
  if (op == BinaryOp::ne) return BinaryOp::eq;
  return std::nullopt;
}

// What `select(!c, a, b)` is said with instead.
bool strip_not(Expr& condition) {
  const auto* u = as<Unary>(condition);
  if (!u || u->op != UnaryOp::logical_not) return false;
  condition = Expr(u->a);
  return true;
}

// Whether going by way of `middle` changes no value that a cast to `to` keeps.
bool passes_through(DType middle, DType to, const Interval& values, DType from) {
  if (!is_int(middle) || !is_int(to) || is_float(from)) return false;
  const bool known = from != uint64 || values.hi != Interval::max;
  return bits(to) <= bits(middle) || (known && values.within(range_of(middle)));
}

}  // namespace

Expr Simplifier::run(const Expr& e) {
  if (!e.defined() || is_constant(e)) return e;
  auto found = entries_.find(e.node());
  if (found != entries_.end() && found->second.result.defined()) return found->second.result;
  Expr result = rewrite(e);
  if (equal(result, e)) result = e;
  Entry& entry = entries_[e.node()];
  entry.e = e;
  return entry.result = result;
}

Expr Simplifier::rewrite(const Expr& e) {
  if (as<VarNode>(e)) return rewrite_variable(e);
  if (e.node()->dtype == int64) return rewrite_int64(e);
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::VarNode: break;
    case ExprKind::Unary: return rewrite_unary(e);
    case ExprKind::Binary: {
      const BinaryOp op = get<Binary>(e).op;
      if (op == BinaryOp::logical_and || op == BinaryOp::logical_or) return logic(e);
      return gives_bool(op) ? compare(e) : rewrite_operands(e);
    }
    case ExprKind::Select: return rewrite_select(e);
    case ExprKind::Cast: return rewrite_cast(e);
    case ExprKind::Load: return rewrite_load(e);
  }
  return e;
}

Expr Simplifier::rewrite_int64(const Expr& e) {
  const Linear normal = linear(e);
  Expr best = build(normal);
  std::int64_t size = size_of(best);
  const Linear expanded = analysis_.expanded(normal);
  if (!equal(expanded, normal)) {
    const Expr other = build(expanded);
    if (size_of(other) < size) {
      best = other;
      size = size_of(other);
    }
  }
  return size <= size_of(e) ? best : rewrite_operands(e);
}

Expr Simplifier::rewrite_operands(const Expr& e) {
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::VarNode: return e;
    case ExprKind::Unary: return plain(get<Unary>(e).op, run(get<Unary>(e).a));
    case ExprKind::Binary:
      return plain(get<Binary>(e).op, run(get<Binary>(e).a), run(get<Binary>(e).b));
    case ExprKind::Select: return rewrite_select(e);
    case ExprKind::Cast: return rewrite_cast(e);
    case ExprKind::Load: return rewrite_load(e);
  }
  return e;
}

Expr Simplifier::rewrite_variable(const Expr& e) {
  const Known* known = analysis_.facts().known(e.node());
  if (!known) return e;
  const Expr value = known->value ? build(*known->value) : known->other_value;
  if (value.defined() && (is_constant(value) || as<VarNode>(value))) return value;
  const Interval range = analysis_.bounds(e);
  const bool single = range.is_point() && !is_float(e.node()->dtype);
  return single ? raw::int_const(range.lo, e.node()->dtype) : e;
}

Expr Simplifier::rewrite_unary(const Expr& e) {
  const auto& u = get<Unary>(e);
  const Expr a = run(u.a);
  const auto* b = as<Binary>(a);
  if (u.op == UnaryOp::logical_not && b && !is_float(b->a.node()->dtype)) {
    if (auto op = opposite(b->op)) return compare(raw::binary(*op, b->a, b->b));
  }
  return plain(u.op, a);
}

Expr Simplifier::rewrite_select(const Expr& e) {
  const auto& s = get<Select>(e);
  if (auto truth = decided(s.condition)) return run(*truth ? s.a : s.b);
  Expr condition = run(s.condition);
  Expr a = run(s.a);
  Expr b = run(s.b);
  if (equal(a, b)) return a;
  if (strip_not(condition)) std::swap(a, b);
  return raw::select(condition, a, b);
}

Expr Simplifier::rewrite_cast(const Expr& e) {
  const DType to = e.node()->dtype;
  Expr a = run(get<Cast>(e).a);
  while (const auto* inner = as<Cast>(a)) {
    const DType from = inner->a.node()->dtype;
    if (!passes_through(inner->dtype, to, analysis_.bounds(inner->a), from)) break;
    a = Expr(inner->a);
  }
  if (Expr value = fold_cast(a, to); value.defined()) return value;
  return a.node()->dtype == to ? a : raw::cast(a, to);
}

Expr Simplifier::rewrite_load(const Expr& e) {
  const auto& l = get<Load>(e);
  std::vector<Expr> indices;
  for (const Expr& index : l.indices) indices.push_back(run(index));
  return raw::load(l.buffer, std::move(indices), run(l.safe));
}

std::optional<bool> Simplifier::decided(const Expr& condition) {
  const Expr result = run(condition);
  if (auto value = const_int(result)) return *value != 0;
  const Known* known = as<VarNode>(result) ? analysis_.facts().known(result.node()) : nullptr;
  return known && known->other_value.defined() ? decided(known->other_value) : std::nullopt;
}

// ---- Int64 ----

Linear Simplifier::linear(const Expr& e) {
  return absorbed(joined(decompose(e, [this](const Expr& part) { return leaf(part); })));
}

Linear Simplifier::leaf(const Expr& e) {
  auto found = entries_.find(e.node());
  if (found != entries_.end() && found->second.leaf) return *found->second.leaf;
  Linear result = constant_if_known(compute_leaf(e));
  Entry& entry = entries_[e.node()];
  entry.e = e;
  entry.leaf = result;
  return result;
}

Linear Simplifier::constant_if_known(const Linear& a) {
  if (a.is_constant()) return a;
  const Interval range = a.is_atom() ? analysis_.bounds(a.terms[0].atom) : analysis_.bounds(a);
  return range.is_point() ? linear_constant(range.lo) : a;
}

Linear Simplifier::compute_leaf(const Expr& e) {
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst: break;
    case ExprKind::VarNode: return decompose(rewrite_variable(e));
    case ExprKind::Unary: {
      const Linear a = linear(get<Unary>(e).a);
      const Interval range = analysis_.bounds(a);
      if (range.lo >= 0) return a;
      if (range.hi <= 0) return scaled(a, -1);
      return linear_atom(raw::unary(get<Unary>(e).op, build(a)));
    }
    case ExprKind::Binary: return binary_leaf(e);
    case ExprKind::Select: return select_leaf(e);
    case ExprKind::Cast: return decompose(rewrite_cast(e));
    case ExprKind::Load: return decompose(rewrite_load(e));
  }
  return linear_atom(e);
}

Linear Simplifier::binary_leaf(const Expr& e) {
  const auto& b = get<Binary>(e);
  switch (b.op) {
    case BinaryOp::div: return quotient(linear(b.a), linear(b.b));
    case BinaryOp::mod: return remainder(linear(b.a), linear(b.b));
    case BinaryOp::min:
    case BinaryOp::max: return extremum(b.op, e);
    case BinaryOp::shr:
      if (auto k = const_int(b.b); k && *k >= 0 && *k <= 62) {
        return quotient(linear(b.a), linear_constant(std::int64_t{1} << *k));
      }
      break;
    case BinaryOp::bit_and:
      if (auto m = modulus_of_mask(b.b)) return remainder(linear(b.a), linear_constant(*m));
      if (auto m = modulus_of_mask(b.a)) return remainder(linear(b.b), linear_constant(*m));
      break;
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::shl:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: break;
  }
  return decompose(plain(b.op, run(b.a), run(b.b)));
}

Linear Simplifier::select_leaf(const Expr& e) {
  const auto& s = get<Select>(e);
  if (auto truth = decided(s.condition)) return linear(*truth ? s.a : s.b);
  Linear a = linear(s.a);
  Linear b = linear(s.b);
  if (equal(a, b)) return a;
  Expr condition = run(s.condition);
  if (strip_not(condition)) std::swap(a, b);
  return linear_atom(raw::select(condition, build(a), build(b)));
}

}  // namespace tilecopy::ir
