// Sums of multiples of int64 expressions: the normal form that facts and the simplifier work on.
//
// A Linear equals its expression modulo 2^64. Its exact value, worked out over all integers, is the
// expression's own value whenever it lies in the range of int64; interval arithmetic on the exact
// value tells when it must.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/interval.h"
#include "ir/node.h"

namespace tilecopy::ir {

struct Term {
  Expr atom;
  std::int64_t coefficient;
};

/// constant + the sum of coefficient * atom. Atoms are in `order` and differ, coefficients are not
/// zero. An atom is a variable, a non-linear expression such as x / 64, or a product of factors in
/// the order of `product_of`; a factor may itself be a sum.
struct Linear {
  std::vector<Term> terms;
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  bool is_constant(std::int64_t value) const { return terms.empty() && constant == value; }
  /// The atom when that is all.
  bool is_atom() const { return terms.size() == 1 && constant == 0 && terms[0].coefficient == 1; }
};

Linear linear_constant(std::int64_t value);
Linear linear_atom(const Expr& atom, std::int64_t coefficient = 1);

/// ka * a + kb * b, modulo 2^64. Clears `exact` when that differs from the sum over all integers.
Linear sum(const Linear& a, Wide ka, const Linear& b, Wide kb, bool* exact = nullptr);
Linear scaled(const Linear& a, Wide k, bool* exact = nullptr);
/// Keeps the factors apart, without multiplying sums out.
Linear product(const Linear& a, const Linear& b);
/// Multiplies sums out. Clears `exact` as for `sum`, and when there are too many terms.
Linear multiplied_out(const Linear& a, const Linear& b, bool* exact);

bool equal(const Linear& a, const Linear& b);
/// 0 when absent.
std::int64_t coefficient_of(const Linear& a, const Expr& atom);

/// Factors of an atom; itself, if it is no product.
std::vector<Expr> factors_of(const Expr& atom);
/// The same, last one first.
template <typename F>
void for_each_factor(const Expr& atom, const F& visit) {
  const Expr* rest = &atom;
  for (const auto* b = as<Binary>(*rest); b && b->op == BinaryOp::mul; b = as<Binary>(*rest)) {
    visit(b->b);
    rest = &b->a;
  }
  visit(*rest);
}
/// The product in normal form.
Expr product_of(std::vector<Expr> factors);

/// Takes sums, differences, products and left shifts apart; what else there is becomes a Linear by
/// `leaf`.
Linear decompose(const Expr& e, const std::function<Linear(const Expr&)>& leaf);
/// With all leaves as atoms.
Linear decompose(const Expr& e);

/// The normal form as an expression; equal Linears give equal expressions.
Expr build(const Linear& a);

}  // namespace tilecopy::ir
