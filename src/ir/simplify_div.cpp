// Quotients and remainders of sums. Division rounds down, so for a constant c > 0 and all integers
//
//   (c*q + r) / c    =  q + r / c                 (c*q + r) % c      =  r % c
//   (g*x + y) / (g*c) = x / c                     (g*x + y) % (g*c)  =  g * (x % c) + y
//                                                      where 0 <= y < g
//   x / a / b        =  x / (a*b)                 x % (a*b) % a      =  x % a
//   x % (a*b) / a    =  x / a % b
//
// Each holds in exact arithmetic, and so for sums that cannot leave int64. Remainders by a power of
// two need no such proof.
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/numeric.h"
#include "ir/make.h"
#include "ir/raw.h"
#include "ir/simplify.h"

namespace tilecopy::ir {
namespace {

// An operation with a constant right operand.
struct ByConstant {
  Expr x;
  std::int64_t c;
};

std::optional<ByConstant> by_constant(BinaryOp op, const Expr& atom) {
  const auto* b = as<Binary>(atom);
  if (!b || b->op != op) return std::nullopt;
  const auto c = const_int(b->b);
  return c && *c > 0 ? std::optional(ByConstant{b->a, *c}) : std::nullopt;
}

std::optional<std::int64_t> product_of_ints(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

bool is_power_of_two(std::int64_t c) { return std::has_single_bit(static_cast<std::uint64_t>(c)); }

Linear atom_of(BinaryOp op, const Linear& a, const Linear& b) {
  return linear_atom(raw::binary(op, build(a), build(b)));
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t c) { return tc_floordiv_i64(a, c); }

// Removes `divisors` from `factors`; false when one is missing.
bool remove_factors(std::vector<Expr>& factors, const std::vector<Expr>& divisors) {
  for (const Expr& d : divisors) {
    auto place =
        std::find_if(factors.begin(), factors.end(), [&](const Expr& f) { return equal(f, d); });
    if (place == factors.end()) return false;
    factors.erase(place);
  }
  return true;
}

}  // namespace

// scale * whole + rest.
struct Simplifier::Split {
  std::int64_t scale;
  Linear whole, rest;
};

// ---- Entry points ----

Linear Simplifier::quotient(const Linear& a, const Linear& b) {
  if (b.is_constant()) {
    const std::int64_t c = b.constant;
    if (c == 0) return linear_constant(0);
    if (c == 1) return a;
    if (a.is_constant()) return linear_constant(tc_floordiv_i64(a.constant, c));
    return c > 0 && analysis_.exact(a) ? divide(a, c) : atom_of(BinaryOp::div, a, b);
  }
  if (a.is_constant(0)) return a;
  Linear whole, rest;
  return split_symbolic(a, b, whole, rest) ? whole : atom_of(BinaryOp::div, a, b);
}

Linear Simplifier::remainder(const Linear& a, const Linear& b) {
  if (b.is_constant()) {
    const std::int64_t c = b.constant;
    if (c == 0 || c == 1 || c == -1) return linear_constant(0);
    if (a.is_constant()) return linear_constant(tc_floormod_i64(a.constant, c));
    const bool known = c > 0 && (is_power_of_two(c) || analysis_.exact(a));
    return known ? modulo(a, c) : atom_of(BinaryOp::mod, a, b);
  }
  if (a.is_constant(0) || equal(a, b)) return linear_constant(0);
  Linear whole, rest;
  return split_symbolic(a, b, whole, rest) ? rest : atom_of(BinaryOp::mod, a, b);
}

// a = whole * b + rest with 0 <= rest < b, where b is no constant.
bool Simplifier::split_symbolic(const Linear& a, const Linear& b, Linear& whole, Linear& rest) {
  if (!analysis_.exact(a) || analysis_.bounds(b).lo < 1) return false;
  if (equal(a, b)) {
    whole = linear_constant(1);
    rest = {};
    return true;
  }
  const std::vector<Expr> divisors =
      b.is_atom() ? factors_of(b.terms[0].atom) : std::vector<Expr>{build(b)};
  rest = linear_constant(a.constant);
  whole = {};
  for (const Term& t : a.terms) {
    std::vector<Expr> factors = factors_of(t.atom);
    if (!remove_factors(factors, divisors)) {
      rest.terms.push_back(t);
      continue;
    }
    const Linear q = factors.empty() ? linear_constant(1) : decompose(product_of(factors));
    whole = sum(whole, 1, q, t.coefficient);
  }
  if (rest.is_constant(0)) return true;
  bool fits = analysis_.exact(rest);
  const Linear below = sum(sum(rest, 1, b, -1, &fits), 1, linear_constant(1), 1, &fits);
  const Linear negated = scaled(rest, -1, &fits);
  return fits && analysis_.at_most(analysis_.expanded_exactly(negated), 0) &&
         analysis_.at_most(analysis_.expanded_exactly(below), 0);
}

// ---- Division by a constant of at least 2, of sums that stay within int64 ----

Linear Simplifier::divide(const Linear& a, std::int64_t c) {
  Linear whole, fraction;
  for (const Term& t : a.terms) {
    if (t.coefficient % c == 0) {
      whole.terms.push_back({t.atom, t.coefficient / c});
    } else {
      fraction.terms.push_back(t);
    }
  }
  if (a.constant % c == 0) {
    whole.constant = a.constant / c;
  } else {
    fraction.constant = a.constant;
  }
  if (!analysis_.exact(fraction)) return divide_atom(a, c);
  return sum(whole, 1, divide_fraction(fraction, c), 1);
}

Linear Simplifier::divide_fraction(const Linear& a, std::int64_t c) {
  if (a.is_constant()) return linear_constant(floor_quotient(a.constant, c));
  if (auto q = constant_quotient(a, c)) return linear_constant(*q);
  if (auto part = common_part(a, c)) {
    const std::int64_t rest = c / part->scale;
    return rest == 1 ? part->whole : divide(part->whole, rest);
  }
  if (auto part = multiples_and_rest(a, c)) return divide_atom(part->whole, c);
  if (a.terms.size() == 1 && a.terms[0].coefficient == 1) {
    if (auto inner = by_constant(BinaryOp::div, a.terms[0].atom)) {
      const auto both = product_of_ints(inner->c, c);
      const Linear x = decompose(inner->x);
      bool fits = analysis_.exact(x);
      const Linear shifted = sum(x, 1, linear_constant(inner->c), a.constant, &fits);
      if (both && fits && analysis_.exact(shifted)) return divide(shifted, *both);
    }
    auto inner = by_constant(BinaryOp::mod, a.terms[0].atom);
    if (inner && a.constant == 0 && inner->c % c == 0) {
      return remainder(quotient(decompose(inner->x), linear_constant(c)),
                       linear_constant(inner->c / c));
    }
  }
  return divide_atom(a, c);
}

Linear Simplifier::divide_atom(const Linear& a, std::int64_t c) {
  return atom_of(BinaryOp::div, a, linear_constant(c));
}

// The quotient when the bounds leave only one.
std::optional<std::int64_t> Simplifier::constant_quotient(const Linear& a, std::int64_t c) {
  const Interval range = analysis_.bounds(a);
  const std::int64_t q = floor_quotient(range.lo, c);
  return q == floor_quotient(range.hi, c) ? std::optional(q) : std::nullopt;
}

std::optional<Simplifier::Split> Simplifier::split_by(const Linear& a, std::int64_t g) {
  Split split = {g, linear_constant(floor_quotient(a.constant, g)),
                 linear_constant(tc_floormod_i64(a.constant, g))};
  for (const Term& t : a.terms) {
    if (t.coefficient % g == 0) {
      split.whole.terms.push_back({t.atom, t.coefficient / g});
    } else {
      split.rest.terms.push_back(t);
    }
  }
  if (split.whole.terms.empty() || !analysis_.exact(split.whole)) return std::nullopt;
  if (!split.rest.is_constant() && !analysis_.bounds(split.rest).within({0, g - 1})) {
    return std::nullopt;
  }
  return split;
}

// The largest g > 1 by which divisor and numerator can be reduced.
std::optional<Simplifier::Split> Simplifier::common_part(const Linear& a, std::int64_t c) {
  std::vector<std::int64_t> candidates;
  for (const Term& t : a.terms) {
    const std::int64_t g = std::gcd(t.coefficient, c);
    if (g > 1) candidates.push_back(g);
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (std::int64_t g : candidates) {
    if (auto split = split_by(a, g)) return split;
  }
  return std::nullopt;
}

// Terms that the divisors of their atoms make multiples of c, and a rest in [0, c).
std::optional<Simplifier::Split> Simplifier::multiples_and_rest(const Linear& a, std::int64_t c) {
  Split split = {1, linear_constant(a.constant - tc_floormod_i64(a.constant, c)),
                 linear_constant(tc_floormod_i64(a.constant, c))};
  for (const Term& t : a.terms) {
    const bool multiple = analysis_.step(linear_atom(t.atom, t.coefficient)) % c == 0;
    (multiple ? split.whole : split.rest).terms.push_back(t);
  }
  if (split.whole.terms.empty() || split.rest.is_constant(0)) return std::nullopt;
  const bool fits = analysis_.exact(split.whole) && analysis_.exact(split.rest) &&
                    analysis_.bounds(split.rest).within({0, c - 1});
  return fits ? std::optional(split) : std::nullopt;
}

// ---- Remainders by a constant of at least 2 ----

Linear Simplifier::modulo(const Linear& a, std::int64_t c) {
  const bool any = is_power_of_two(c);
  Linear r = without_multiples(a, c);
  if (!any && !analysis_.exact(r)) r = a;
  if (r.is_constant()) return linear_constant(tc_floormod_i64(r.constant, c));
  const bool exact = analysis_.exact(r);
  if (exact) {
    if (auto q = constant_quotient(r, c)) return sum(r, 1, linear_constant(c), -Wide{*q});
  }
  const Linear flat = without_inner_modulo(r, c);
  if (!equal(flat, r) && (any || (exact && analysis_.exact(flat)))) return modulo(flat, c);
  if (exact) {
    auto part = common_part(r, c);
    if (part && part->scale < c) {
      return sum(modulo(part->whole, c / part->scale), part->scale, part->rest, 1);
    }
  }
  return atom_of(BinaryOp::mod, r, linear_constant(c));
}

Linear Simplifier::without_multiples(const Linear& a, std::int64_t c) {
  Linear result = linear_constant(a.constant % c == 0 ? 0 : a.constant);
  for (const Term& t : a.terms) {
    if (analysis_.step(linear_atom(t.atom, t.coefficient)) % c != 0) result.terms.push_back(t);
  }
  return result;
}

// k * (x % m) as k * x, where k * m is a multiple of c.
Linear Simplifier::without_inner_modulo(const Linear& a, std::int64_t c) {
  Linear result = a;
  for (const Term& t : a.terms) {
    auto inner = by_constant(BinaryOp::mod, t.atom);
    if (!inner || (Wide{t.coefficient} * inner->c) % c != 0) continue;
    result = sum(result, 1, linear_atom(t.atom, t.coefficient), -1);
    result = sum(result, 1, decompose(inner->x), t.coefficient);
  }
  return result;
}

// ---- Sums of a quotient and its remainder ----

Linear Simplifier::joined(Linear a, bool keep_exact) {
  for (bool again = a.terms.size() > 1; again;) {
    again = false;
    for (const Term& t : a.terms) {
      const auto* b = as<Binary>(t.atom);
      if (!b || b->op != BinaryOp::mod) continue;
      again = join_one(a, Term(t), keep_exact);
      if (again) break;
    }
  }
  return a;
}

// k * c * (x / c) + k * (x % c)            becomes  k * x
// k * c * (x / c % d) + k * (x % c)        becomes  k * (x % (c*d))
bool Simplifier::join_one(Linear& a, const Term& remainder_term, bool keep_exact) {
  const auto& b = get<Binary>(remainder_term.atom);
  const std::int64_t k = remainder_term.coefficient;
  const Linear x = decompose(b.a);
  const Linear c = decompose(b.b);
  if (analysis_.bounds(c).contains(0) || (keep_exact && !analysis_.exact(x))) return false;
  const Linear q = quotient(x, c);
  const Linear others = sum(a, 1, linear_atom(remainder_term.atom), -Wide{k});
  const Linear left = sum(others, 1, product(c, q), -Wide{k});
  if (!q.is_constant() && left.terms.size() + q.terms.size() == others.terms.size()) {
    a = sum(left, 1, x, k);
    return true;
  }
  if (!c.is_constant() || c.constant < 0) return false;
  for (const Term& t : others.terms) {
    auto digit = by_constant(BinaryOp::mod, t.atom);
    if (!digit || t.coefficient != Wide{k} * c.constant) continue;
    const auto both = product_of_ints(digit->c, c.constant);
    if (!both || !equal(decompose(digit->x), q)) continue;
    const Linear joint = remainder(x, linear_constant(*both));
    a = sum(sum(others, 1, linear_atom(t.atom), -Wide{t.coefficient}), 1, joint, k);
    return true;
  }
  return false;
}

}  // namespace tilecopy::ir
