#include "ir/analysis.h"

#include <algorithm>
#include <numeric>

#include "ir/make.h"
#include "ir/walk.h"

namespace tilecopy::ir {
namespace {

std::int64_t magnitude(std::int64_t x) {
  // 2^63 does not fit, but its half divides whatever it divides.
  if (x == Interval::min) return std::int64_t{1} << 62;
  return x < 0 ? -x : x;
}

// A divisor of x * y: the product, or one of them when it is too large.
std::int64_t divisor_product(std::int64_t x, std::int64_t y) {
  std::int64_t result;
  return __builtin_mul_overflow(x, y, &result) ? x : result;
}

// A common multiple: the least, or one of them when it is too large.
std::int64_t common_multiple(std::int64_t x, std::int64_t y) {
  if (x == 0 || y == 0) return 0;
  std::int64_t result;
  return __builtin_mul_overflow(x / std::gcd(x, y), y, &result) ? x : result;
}

// The part of a divisor that survives arithmetic modulo 2^64.
std::int64_t power_of_two_part(std::int64_t d) { return d & -d; }

Interval multiples_within(const Interval& a, std::int64_t d) {
  if (d <= 1) return a;
  const Wide lo = -floor_div(-Wide{a.lo}, d) * d;
  const Wide hi = floor_div(a.hi, d) * d;
  if (lo > hi) return a;
  return {static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi)};
}

// The limits of int64 stand for no limit, and those of uint64 lie beyond.
bool unbounded_above(const Interval& a, DType dtype) {
  return dtype == uint64 && a.hi == Interval::max;
}

bool is_sum(const Expr& e) {
  if (e.node()->dtype != int64) return false;
  if (const auto* u = as<Unary>(e)) return u->op == UnaryOp::neg;
  const auto* b = as<Binary>(e);
  return b && (b->op == BinaryOp::add || b->op == BinaryOp::sub || b->op == BinaryOp::mul);
}

Interval cast_bounds(const Interval& a, DType from, DType to) {
  if (is_float(from) || is_float(to) || unbounded_above(a, from)) return range_of(to);
  if (to == bool_) return {a.contains(0) ? 0 : 1, a.is_point() && a.lo == 0 ? 0 : 1};
  return cast_interval(a, to);
}

}  // namespace

// ---- Scope ----

void Analysis::enter(const Expr& question) {
  for_each_expr(question, [&](const Expr& part) {
    if (as<VarNode>(part)) enter_variable(part);
  });
  limits_.clear();
  for (const Limit& limit : facts_.limits()) {
    const bool holds =
        !limit.owner || std::find(scope_.begin(), scope_.end(), limit.owner) != scope_.end();
    if (holds) limits_.push_back(&limit.sum);
  }
}

void Analysis::enter_variable(const Expr& var) {
  if (std::find(scope_.begin(), scope_.end(), var.node()) != scope_.end()) return;
  scope_.push_back(var.node());
  auto enter_sum = [this](const Linear& a) {
    for (const Term& t : a.terms) {
      for_each_expr(t.atom, [&](const Expr& part) {
        if (as<VarNode>(part)) enter_variable(part);
      });
    }
  };
  const Known* known = facts_.known(var.node());
  if (!known) return;
  if (known->value) enter_sum(*known->value);
  if (known->other_value.defined()) enter(known->other_value);
  for (const Limit& limit : facts_.limits()) {
    if (limit.owner == var.node()) enter_sum(limit.sum);
  }
}

// ---- Bounds ----

Interval Analysis::bounds(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) {
    return c->dtype == uint64 && c->value < 0 ? range_of(uint64) : Interval{c->value, c->value};
  }
  auto [place, fresh] = entries_.try_emplace(e.node());
  Entry& entry = place->second;
  // What asks for its own bounds while they are worked out gets those that always hold.
  if (fresh || !entry.e.defined()) {
    entry.e = e;
    entry.interval = range_of(e.node()->dtype);
    entry.interval = compute_bounds(e);
  }
  return entry.interval;
}

Interval Analysis::compute_bounds(const Expr& e) {
  const DType dtype = e.node()->dtype;
  if (is_sum(e)) return bounds(decompose(e));
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::Load: return range_of(dtype);
    case ExprKind::VarNode: return variable_bounds(e);
    case ExprKind::Unary: return apply(get<Unary>(e).op, bounds(get<Unary>(e).a), dtype);
    case ExprKind::Binary: return binary_bounds(e);
    case ExprKind::Select: {
      const auto& s = get<Select>(e);
      const Interval condition = bounds(s.condition);
      if (condition.is_point()) return bounds(condition.lo != 0 ? s.a : s.b);
      return hull(bounds(s.a), bounds(s.b));
    }
    case ExprKind::Cast: {
      const Expr& a = get<Cast>(e).a;
      return cast_bounds(bounds(a), a.node()->dtype, dtype);
    }
  }
  return range_of(dtype);
}

Interval Analysis::variable_bounds(const Expr& var) {
  const Interval range = range_of(var.node()->dtype);
  const Known* known = facts_.known(var.node());
  if (!known) return range;
  Interval result = intersection(range, known->interval);
  if (known->value) result = intersection(result, bounds(*known->value));
  if (known->other_value.defined()) result = intersection(result, bounds(known->other_value));
  return multiples_within(result, known->divisor);
}

Interval Analysis::binary_bounds(const Expr& e) {
  const auto& b = get<Binary>(e);
  const DType operands = b.a.node()->dtype;
  if (is_float(operands)) return range_of(e.node()->dtype);
  const Interval x = bounds(b.a);
  const Interval y = bounds(b.b);
  if (unbounded_above(x, operands) || unbounded_above(y, operands)) {
    return range_of(e.node()->dtype);
  }
  const Interval result = apply(b.op, x, y, e.node()->dtype);
  return b.op == BinaryOp::mod ? multiples_within(result, divisor(e)) : result;
}

WideInterval Analysis::exact_bounds(const Linear& a) {
  WideInterval result = {a.constant, a.constant};
  for (const Term& t : a.terms) {
    WideInterval term = {t.coefficient, t.coefficient};
    for_each_factor(t.atom, [&](const Expr& factor) { term = term * widen(bounds(factor)); });
    result = result + term;
  }
  return result;
}

Interval Analysis::bounds(const Linear& a) {
  const WideInterval quick = exact_bounds(a);
  if (!quick.fits_int64()) return {};
  if (a.is_constant()) return {a.constant, a.constant};
  bool fits = true;
  const Linear negated = scaled(a, -1, &fits);
  const Wide hi = upper(a, quick.lo);
  const Wide lo = fits ? -upper(negated, -quick.hi) : quick.lo;
  if (lo > hi) return {static_cast<std::int64_t>(quick.lo), static_cast<std::int64_t>(quick.hi)};
  return {static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi)};
}

// ---- Divisors ----

std::int64_t Analysis::step(const Linear& a) {
  std::int64_t result = 0;
  for (const Term& t : a.terms) {
    std::int64_t d = magnitude(t.coefficient);
    for_each_factor(t.atom, [&](const Expr& factor) { d = divisor_product(d, divisor(factor)); });
    result = std::gcd(result, d);
    if (result == 1) break;
  }
  return result;
}

std::int64_t Analysis::divisor(const Linear& a) {
  const std::int64_t d = std::gcd(step(a), magnitude(a.constant));
  return d <= 1 || exact(a) ? d : power_of_two_part(d);
}

std::int64_t Analysis::divisor(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) return magnitude(c->value);
  const Interval range = bounds(e);
  Entry& entry = entries_[e.node()];
  if (!entry.has_divisor) {
    entry.has_divisor = true;
    const bool is_zero = range == Interval{0, 0};
    entry.divisor = is_zero ? 0 : compute_divisor(e);
  }
  return entry.divisor;
}

std::int64_t Analysis::compute_divisor(const Expr& e) {
  if (is_sum(e)) return divisor(decompose(e));
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::Load: return 1;
    case ExprKind::VarNode: {
      const Known* known = facts_.known(e.node());
      if (!known) return 1;
      return known->value ? common_multiple(known->divisor, divisor(*known->value))
                          : known->divisor;
    }
    case ExprKind::Unary: {
      const auto& u = get<Unary>(e);
      return u.op == UnaryOp::abs && is_int(u.dtype) ? divisor(u.a) : 1;
    }
    case ExprKind::Binary: return binary_divisor(get<Binary>(e));
    case ExprKind::Select: return std::gcd(divisor(get<Select>(e).a), divisor(get<Select>(e).b));
    case ExprKind::Cast: {
      const Expr& a = get<Cast>(e).a;
      const DType from = a.node()->dtype;
      const bool kept = is_int(from) && is_int(e.node()->dtype) &&
                        !unbounded_above(bounds(a), from) &&
                        bounds(a).within(range_of(e.node()->dtype));
      return kept ? divisor(a) : 1;
    }
  }
  return 1;
}

std::int64_t Analysis::binary_divisor(const Binary& b) {
  if (!is_int(b.dtype)) return 1;
  if (b.op == BinaryOp::min || b.op == BinaryOp::max || b.op == BinaryOp::mod) {
    return std::gcd(divisor(b.a), divisor(b.b));
  }
  const auto c = const_int(b.b);
  if (b.op != BinaryOp::div || !c || *c <= 0) return 1;
  const std::int64_t d = divisor(b.a);
  return d % *c == 0 ? d / *c : 1;
}

// ---- Limits and expansion ----

const std::vector<Linear>& Analysis::limits_of(const Expr& atom) {
  bounds(atom);
  Entry& entry = entries_[atom.node()];
  if (!entry.limits) {
    entry.limits.emplace();
    entry.limits = compute_limits(atom);
  }
  return *entry.limits;
}

std::vector<Linear> Analysis::compute_limits(const Expr& atom) {
  const auto* b = as<Binary>(atom);
  if (!b || b->dtype != int64) return {};
  const Linear self = linear_atom(atom);
  const Linear x = expanded_exactly(decompose(b->a));
  const Linear y = expanded_exactly(decompose(b->b));
  bool fits = exact(x) && exact(y);
  std::vector<Linear> result;
  if (fits && b->op == BinaryOp::div && y.is_constant() && y.constant > 0) {
    const std::int64_t c = y.constant;
    result = {sum(self, c, x, -1, &fits),
              sum(sum(x, 1, self, -c, &fits), 1, linear_constant(c - 1), -1, &fits)};
  } else if (fits && b->op == BinaryOp::mod && y.is_constant() && y.constant > 0) {
    if (exact_bounds(x).lo >= 0) result = {sum(self, 1, x, -1, &fits)};
  } else if (fits && b->op == BinaryOp::min) {
    result = {sum(self, 1, x, -1, &fits), sum(self, 1, y, -1, &fits)};
  } else if (fits && b->op == BinaryOp::max) {
    result = {sum(x, 1, self, -1, &fits), sum(y, 1, self, -1, &fits)};
  }
  return fits ? result : std::vector<Linear>{};
}

bool Analysis::is_compound(const Expr& factor) const {
  if (is_sum(factor)) return true;
  const Known* known = as<VarNode>(factor) ? facts_.known(factor.node()) : nullptr;
  return known && known->value;
}

Linear Analysis::expand_factor(const Expr& factor, bool keep_exact, bool* fits) {
  if (!is_compound(factor)) return linear_atom(factor);
  const Known* known = as<VarNode>(factor) ? facts_.known(factor.node()) : nullptr;
  const Linear value = known ? *known->value : decompose(factor);
  if (keep_exact && !exact(value)) return linear_atom(factor);
  const Linear result = known ? value : expand(value, keep_exact);
  if (keep_exact && !exact(result)) *fits = false;
  return result;
}

Linear Analysis::expand(const Linear& a, bool keep_exact) {
  bool some = false;
  for (const Term& t : a.terms) {
    for_each_factor(t.atom, [&](const Expr& factor) { some |= is_compound(factor); });
  }
  if (!some) return a;
  Linear result = linear_constant(a.constant);
  bool fits = true;
  for (const Term& t : a.terms) {
    Linear term = linear_constant(1);
    for (const Expr& factor : factors_of(t.atom)) {
      term = multiplied_out(term, expand_factor(factor, keep_exact, &fits), &fits);
    }
    result = sum(result, 1, term, t.coefficient, &fits);
    if (!fits) return a;
  }
  return result;
}

Linear Analysis::expanded(const Linear& a) { return expand(a, false); }
Linear Analysis::expanded_exactly(const Linear& a) { return expand(a, true); }

}  // namespace tilecopy::ir
