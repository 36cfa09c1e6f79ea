// Comparisons, minima and maxima, and logic.
//
// A comparison of int64 sums that cannot leave int64 becomes `n <= 0` for one sum n. If no bound of
// n decides it, it is written down again as
//
//   terms with positive coefficients  <  the others, negated, and the constant
//
// divided by what the coefficients have in common, so that equal conditions look alike.
#include <algorithm>
#include <numeric>

#include "ir/identities.h"
#include "ir/make.h"
#include "ir/order.h"
#include "ir/raw.h"
#include "ir/simplify.h"

namespace tilecopy::ir {
namespace {

Expr truth(bool value) { return raw::int_const(value ? 1 : 0, bool_); }

std::int64_t common_coefficient(const Linear& a) {
  std::int64_t g = 0;
  for (const Term& t : a.terms) g = std::gcd(g, t.coefficient);
  return g;
}

// a = plus - minus + constant, all coefficients divided by g.
struct Sides {
  Linear plus, minus;

  Sides(const Linear& a, std::int64_t g) {
    for (const Term& t : a.terms) {
      Linear& side = t.coefficient > 0 ? plus : minus;
      side.terms.push_back({t.atom, (t.coefficient > 0 ? t.coefficient : -t.coefficient) / g});
    }
  }
};

// Whether negating a number of the sum, or adding one to it, would leave int64.
bool has_extreme_number(const Linear& a) {
  constexpr Interval safe = {Interval::min + 2, Interval::max - 2};
  return !safe.contains(a.constant) ||
         std::any_of(a.terms.begin(), a.terms.end(),
                     [&](const Term& t) { return !safe.contains(t.coefficient); });
}

// n <= 0, for n = plus - minus + c.
struct OrderForm {
  BinaryOp op;
  Linear left, right;
};

OrderForm order_form(const Linear& n) {
  const std::int64_t g = common_coefficient(n);
  Sides sides(n, g);
  const Wide c = -floor_div(-Wide{n.constant}, g);
  OrderForm form = {c == 0 ? BinaryOp::le : BinaryOp::lt, sides.plus, sides.minus};
  if (c == 0 || c == 1) return form;
  const bool to_left = sides.plus.is_constant() || (c > 1 && !sides.minus.is_constant());
  const Wide constant = to_left ? c - 1 : 1 - c;
  (to_left ? form.left : form.right).constant = static_cast<std::int64_t>(constant);
  return form;
}

void flatten(BinaryOp op, const Expr& e, std::vector<Expr>& out) {
  const auto* b = as<Binary>(e);
  if (!b || b->op != op) {
    out.push_back(e);
    return;
  }
  flatten(op, b->a, out);
  flatten(op, b->b, out);
}

Expr chain(BinaryOp op, const std::vector<Linear>& operands) {
  std::vector<Expr> list;
  for (const Linear& operand : operands) list.push_back(build(operand));
  std::sort(list.begin(), list.end(), [](const Expr& a, const Expr& b) {
    const bool a_constant = as<IntConst>(a) != nullptr;
    const bool b_constant = as<IntConst>(b) != nullptr;
    return a_constant != b_constant ? b_constant : order(a, b) < 0;
  });
  Expr result = list[0];
  for (std::size_t i = 1; i < list.size(); ++i) result = raw::binary(op, result, list[i]);
  return result;
}

}  // namespace

// ---- Minima and maxima ----

Linear Simplifier::extremum(BinaryOp op, const Expr& e) {
  std::vector<Expr> operands;
  flatten(op, e, operands);
  std::vector<Linear> kept;
  for (const Expr& operand : operands) {
    // An operand may turn out to be a minimum itself; its own operands join in.
    std::vector<Expr> parts;
    flatten(op, build(linear(operand)), parts);
    for (const Expr& part : parts) keep_extreme(op, decompose(part), kept);
  }
  return kept.size() == 1 ? kept[0] : linear_atom(chain(op, kept));
}

void Simplifier::keep_extreme(BinaryOp op, const Linear& candidate, std::vector<Linear>& kept) {
  const bool least = op == BinaryOp::min;
  for (const Linear& x : kept) {
    if (never_above(least ? x : candidate, least ? candidate : x)) return;
  }
  std::erase_if(kept, [&](const Linear& x) {
    return never_above(least ? candidate : x, least ? x : candidate);
  });
  kept.push_back(candidate);
}

Linear Simplifier::absorbed(const Linear& a) {
  if (a.terms.size() < 2) return a;
  for (const Term& t : a.terms) {
    const auto* b = as<Binary>(t.atom);
    if (!b || (b->op != BinaryOp::min && b->op != BinaryOp::max)) continue;
    if (auto result = absorbed_by(a, t)) return *result;
  }
  return a;
}

std::optional<Linear> Simplifier::absorbed_by(const Linear& a, const Term& extremum) {
  if (extremum.coefficient != 1 && extremum.coefficient != -1) return std::nullopt;
  const auto& b = get<Binary>(extremum.atom);
  const bool negated = extremum.coefficient < 0;
  const bool least = (b.op == BinaryOp::min) != negated;
  const Linear rest = sum(a, 1, linear_atom(extremum.atom), -Wide{extremum.coefficient});
  const Linear x = decompose(b.a);
  const Linear y = decompose(b.b);
  bool fits = analysis_.exact(x) && analysis_.exact(y) && analysis_.exact(rest);
  const Linear x_in = sum(x, extremum.coefficient, rest, 1, &fits);
  const Linear y_in = sum(y, extremum.coefficient, rest, 1, &fits);
  if (!fits || !analysis_.exact(x_in) || !analysis_.exact(y_in)) return std::nullopt;
  std::vector<Linear> kept;
  for (const Linear& operand : {x_in, y_in}) {
    keep_extreme(least ? BinaryOp::min : BinaryOp::max, operand, kept);
  }
  const BinaryOp op = least ? BinaryOp::min : BinaryOp::max;
  const Linear result = kept.size() == 1 ? kept[0] : linear_atom(chain(op, kept));
  return size_of(build(result)) < size_of(build(a)) ? std::optional(result) : std::nullopt;
}

bool Simplifier::never_above(const Linear& a, const Linear& b) {
  if (equal(a, b)) return true;
  bool fits = analysis_.exact(a) && analysis_.exact(b);
  const Linear difference = sum(a, 1, b, -1, &fits);
  return fits && analysis_.at_most(analysis_.expanded_exactly(difference), 0);
}

// ---- Comparisons ----

Expr Simplifier::compare(const Expr& e) {
  const auto& b = get<Binary>(e);
  if (b.a.node()->dtype != int64) return compare_narrow(e);
  const bool swap = b.op == BinaryOp::gt || b.op == BinaryOp::ge;
  const BinaryOp op = b.op == BinaryOp::gt   ? BinaryOp::lt
                      : b.op == BinaryOp::ge ? BinaryOp::le
                                             : b.op;
  const Linear x = linear(swap ? b.b : b.a);
  const Linear y = linear(swap ? b.a : b.b);
  const bool equality = op == BinaryOp::eq || op == BinaryOp::ne;
  const Expr result = equality ? compare_equality(op, x, y) : compare_order(op, x, y);
  if (result.defined() && size_of(result) <= size_of(e)) return result;
  const Expr same = plain(op, build(x), build(y));
  return size_of(same) <= size_of(e) ? same : plain(b.op, run(b.a), run(b.b));
}

Expr Simplifier::compare_order(BinaryOp op, const Linear& x, const Linear& y) {
  if (equal(x, y)) return truth(op == BinaryOp::le);
  bool fits = analysis_.exact(x) && analysis_.exact(y);
  const Linear difference = joined(sum(x, 1, y, -1, &fits), true);
  const Linear n = sum(difference, 1, linear_constant(op == BinaryOp::lt ? 1 : 0), 1, &fits);
  const Linear not_n = sum(linear_constant(1), 1, n, -1, &fits);
  if (!fits) return {};
  if (analysis_.at_most(analysis_.expanded_exactly(n), 0)) return truth(true);
  if (analysis_.at_most(analysis_.expanded_exactly(not_n), 0)) return truth(false);
  if (n.is_constant() || has_extreme_number(n)) return {};
  const OrderForm form = order_form(n);
  if (!analysis_.exact(form.left) || !analysis_.exact(form.right)) return {};
  return plain(form.op, build(form.left), build(form.right));
}

Expr Simplifier::compare_equality(BinaryOp op, const Linear& x, const Linear& y) {
  const bool if_equal = op == BinaryOp::eq;
  bool fits = analysis_.exact(x) && analysis_.exact(y);
  Linear n = joined(sum(x, 1, y, -1, &fits), true);
  const Linear all = analysis_.expanded(n);
  if (all.is_constant()) return truth((all.constant == 0) == if_equal);
  if (fits) {
    if (auto zero = is_zero(n)) return truth(*zero == if_equal);
  }
  if (has_extreme_number(n)) return {};
  if (n.terms[0].coefficient < 0) n = scaled(n, -1);
  // The terms may be moved about modulo 2^64; dividing them needs exact sides.
  const std::int64_t g = std::gcd(common_coefficient(n), n.constant);
  for (const std::int64_t divisor : {fits ? g : std::int64_t{1}, std::int64_t{1}}) {
    Sides sides(n, divisor);
    const bool to_left = n.constant > 0 && !sides.minus.is_constant();
    (to_left ? sides.plus : sides.minus).constant = (to_left ? n.constant : -n.constant) / divisor;
    if (divisor > 1 && !(analysis_.exact(sides.plus) && analysis_.exact(sides.minus))) continue;
    return plain(op, build(sides.plus), build(sides.minus));
  }
  return {};
}

// Whether a sum is zero, in exact arithmetic.
std::optional<bool> Simplifier::is_zero(const Linear& a) {
  const Linear n = analysis_.expanded_exactly(a);
  const std::int64_t step = analysis_.step(n);
  if (step > 1 && n.constant % step != 0) return false;
  bool fits = true;
  const Linear negated = scaled(n, -1, &fits);
  if (!fits) return std::nullopt;
  const Wide hi = analysis_.upper(n, -1);
  if (hi < 0) return false;
  const Wide lo = -analysis_.upper(negated, -1);
  if (lo > 0) return false;
  return hi == 0 && lo == 0 ? std::optional(true) : std::nullopt;
}

// Operands of other dtypes: decided by their bounds alone.
Expr Simplifier::compare_narrow(const Expr& e) {
  const auto& b = get<Binary>(e);
  const Expr result = plain(b.op, run(b.a), run(b.b));
  if (!as<Binary>(result) || is_float(b.a.node()->dtype)) return result;
  const Interval range = analysis_.bounds(result);
  return range.is_point() ? truth(range.lo != 0) : result;
}

Expr Simplifier::logic(const Expr& e) {
  const auto& b = get<Binary>(e);
  const Expr x = run(b.a);
  const Expr y = run(b.b);
  return equal(x, y) ? x : plain(b.op, x, y);
}

}  // namespace tilecopy::ir
