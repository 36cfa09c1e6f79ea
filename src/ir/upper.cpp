// The search for an upper bound of a sum.
//
// The bounds of the atoms give a first answer. A limit, a sum F that is at most 0, improves it: for
// a term k*x of P and a term f*x of F with k and f of one sign,
//
//   s * P  <=  s * P - t * F     with s, t > 0 such that x drops out
//
// so an upper bound of the right side bounds P as well. Limits come from loops (i < n), from
// conditions, and from the atoms themselves (64 * (n / 64) <= n, min(a, b) <= a). Only limits that
// do not make the sum longer are tried, to a small depth and within a budget.
#include <algorithm>
#include <numeric>

#include "ir/analysis.h"
#include "ir/make.h"

namespace tilecopy::ir {
namespace {

constexpr int max_depth = 4;
constexpr int max_steps = 40;
// Indices are products of an index and a size or two; the search grows fast with more.
constexpr std::size_t max_factors = 3;
constexpr Wide unbounded = WideInterval::unbounded;
// Keeps the scaled goal within 128 bits.
constexpr std::int64_t max_scale = std::int64_t{1} << 24;

std::int64_t magnitude(std::int64_t k) { return k < 0 ? -k : k; }

class Search {
 public:
  explicit Search(Analysis& analysis) : analysis_(analysis) {}

  Wide run(const Linear& p, int depth, Wide enough) {
    Wide best = from_atoms(p);
    if (depth == 0) return best;
    for (const Term& t : p.terms) {
      if (best <= enough || steps_ <= 0) break;
      best = std::min(best, by_term(p, t, depth, enough));
    }
    return best;
  }

 private:
  // Everything but the constant moves in steps.
  Wide from_atoms(const Linear& p) {
    const Wide hi = analysis_.exact_bounds(p).hi;
    if (hi >= unbounded || p.is_constant()) return hi;
    const std::int64_t step = analysis_.step(p);
    return step > 1 ? floor_div(hi - p.constant, step) * step + p.constant : hi;
  }

  Wide by_term(const Linear& p, const Term& t, int depth, Wide enough) {
    Wide best = by_cases(p, t, depth, enough);
    auto attempt = [&](const Linear& limit, std::int64_t f) {
      if (best > enough && f != 0 && (f < 0) == (t.coefficient < 0)) {
        best = std::min(best, by_limit(p, t.coefficient, tightened(limit), f, depth, enough));
      }
    };
    for (const Linear* limit : analysis_.limits()) {
      attempt(*limit, coefficient_of(*limit, t.atom));
    }
    const auto* b = as<Binary>(t.atom);
    if (!b || b->op != BinaryOp::mul) {
      for (const Linear& limit : analysis_.limits_of(t.atom)) {
        attempt(limit, coefficient_of(limit, t.atom));
      }
      return best;
    }
    const std::vector<Expr> factors = factors_of(t.atom);
    if (factors.size() > max_factors) return best;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for_each_multiple(
          factors, i, [&](const Linear& limit) { attempt(limit, coefficient_of(limit, t.atom)); });
    }
    return best;
  }

  // Limits of one factor, times the other factors when those are not negative.
  template <typename F>
  void for_each_multiple(const std::vector<Expr>& factors, std::size_t i, const F& use) {
    std::vector<Expr> others = factors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Linear rest = linear_atom(product_of(others));
    if (analysis_.exact_bounds(rest).lo < 0) return;
    auto multiply = [&](const Linear& limit) {
      bool fits = true;
      const Linear multiple = multiplied_out(limit, rest, &fits);
      if (fits) use(multiple);
    };
    for (const Linear* limit : analysis_.limits()) {
      if (coefficient_of(*limit, factors[i]) != 0) multiply(*limit);
    }
    for (const Linear& limit : analysis_.limits_of(factors[i])) multiply(limit);
  }

  Wide by_limit(const Linear& p, std::int64_t k, const Linear& limit, std::int64_t f, int depth,
                Wide enough) {
    if (k == Interval::min || f == Interval::min) return unbounded;
    const std::int64_t g = std::gcd(k, f);
    const std::int64_t s = magnitude(f) / g;
    bool fits = s <= max_scale;
    const Linear next = sum(p, s, limit, -Wide{magnitude(k) / g}, &fits);
    if (!fits || next.terms.size() > p.terms.size()) return unbounded;
    --steps_;
    const Wide scaled_enough = std::clamp(enough * s + (s - 1), -unbounded, unbounded);
    const Wide hi = run(next, depth - 1, scaled_enough);
    return hi >= unbounded ? unbounded : floor_div(hi, s);
  }

  // Where an atom is one of two values and no limit bounds it from the side in question.
  Wide by_cases(const Linear& p, const Term& t, int depth, Wide enough) {
    const auto* b = as<Binary>(t.atom);
    if (b && b->dtype == int64 && (b->op == (t.coefficient < 0 ? BinaryOp::min : BinaryOp::max))) {
      return either(p, t, b->a, b->b, depth, enough);
    }
    const auto* s = as<Select>(t.atom);
    return s && s->dtype == int64 ? either(p, t, s->a, s->b, depth, enough) : unbounded;
  }

  Wide either(const Linear& p, const Term& t, const Expr& a, const Expr& b, int depth,
              Wide enough) {
    const Wide first = with_value(p, t, a, depth, enough);
    if (first > enough && first >= from_atoms(p)) return unbounded;
    return std::max(first, with_value(p, t, b, depth, enough));
  }

  Wide with_value(const Linear& p, const Term& t, const Expr& value, int depth, Wide enough) {
    const Linear x = analysis_.expanded_exactly(decompose(value));
    if (!analysis_.exact(x)) return unbounded;
    bool fits = true;
    const Linear change = sum(x, t.coefficient, linear_atom(t.atom, t.coefficient), -1, &fits);
    const Linear next = sum(p, 1, change, 1, &fits);
    --steps_;
    return fits ? run(next, depth - 1, enough) : unbounded;
  }

  // S + c <= 0 with S in steps of g says that S + c' <= 0 for c' = c rounded up to a multiple of g.
  Linear tightened(Linear limit) {
    const std::int64_t g = analysis_.step(limit);
    const Wide c = g > 1 ? -floor_div(-Wide{limit.constant}, g) * g : Wide{limit.constant};
    if (c <= Interval::max) limit.constant = static_cast<std::int64_t>(c);
    return limit;
  }

  Analysis& analysis_;
  int steps_ = max_steps;
};

}  // namespace

Wide Analysis::upper(const Linear& a, Wide enough) {
  return Search(*this).run(a, max_depth, std::max(enough, -unbounded));
}

}  // namespace tilecopy::ir
