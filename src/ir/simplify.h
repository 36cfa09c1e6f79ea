// Rewrites expressions to smaller ones of equal value. Nothing here raises: arithmetic on constants
// wraps as it does at run time.
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/analysis.h"
#include "ir/facts.h"
#include "ir/linear.h"

namespace tilecopy::ir {

class Simplifier {
 public:
  /// Of the expressions that a question is about.
  Simplifier(const Facts& facts, const Expr& e, const Expr& other = {}) : analysis_(facts) {
    if (facts.limits().empty()) return;
    analysis_.enter(e);
    if (other.defined()) analysis_.enter(other);
  }

  Analysis& analysis() { return analysis_; }

  /// At most as large as `e`.
  Expr run(const Expr& e);
  /// The normal form of an int64 expression.
  Linear linear(const Expr& e);
  /// Whether a condition always holds (true), never does (false), or neither is known.
  std::optional<bool> decided(const Expr& condition);

 private:
  struct Entry {
    Expr e;  // kept, so that no other expression comes to live at its address
    Expr result;
    std::optional<Linear> leaf;
  };

  // Expressions of any dtype (simplify.cpp).
  Expr rewrite(const Expr& e);
  Expr rewrite_int64(const Expr& e);
  Expr rewrite_operands(const Expr& e);
  Expr rewrite_variable(const Expr& e);
  Expr rewrite_unary(const Expr& e);
  Expr rewrite_select(const Expr& e);
  Expr rewrite_cast(const Expr& e);
  Expr rewrite_load(const Expr& e);

  // Int64 expressions that are no sums (simplify.cpp).
  Linear leaf(const Expr& e);
  Linear compute_leaf(const Expr& e);
  Linear binary_leaf(const Expr& e);
  Linear select_leaf(const Expr& e);
  Linear constant_if_known(const Linear& a);

  // Quotients and remainders (simplify_div.cpp).
  Linear quotient(const Linear& a, const Linear& b);
  Linear remainder(const Linear& a, const Linear& b);
  Linear divide(const Linear& a, std::int64_t c);
  Linear divide_fraction(const Linear& a, std::int64_t c);
  Linear divide_atom(const Linear& a, std::int64_t c);
  Linear modulo(const Linear& a, std::int64_t c);
  Linear without_multiples(const Linear& a, std::int64_t c);
  Linear without_inner_modulo(const Linear& a, std::int64_t c);
  struct Split;
  std::optional<Split> split_by(const Linear& a, std::int64_t g);
  std::optional<Split> common_part(const Linear& a, std::int64_t c);
  std::optional<Split> multiples_and_rest(const Linear& a, std::int64_t c);
  std::optional<std::int64_t> constant_quotient(const Linear& a, std::int64_t c);
  bool split_symbolic(const Linear& a, const Linear& b, Linear& whole, Linear& rest);
  // x / c * c + x % c is x, and the like: equal modulo 2^64, or in exact arithmetic as well.
  Linear joined(Linear a, bool keep_exact = false);
  bool join_one(Linear& a, const Term& remainder, bool keep_exact);

  // Comparisons, minima and maxima, logic (simplify_compare.cpp).
  Linear extremum(BinaryOp op, const Expr& e);
  // min(a, b) + c is min(a + c, b + c): written as the smaller of the two.
  Linear absorbed(const Linear& a);
  std::optional<Linear> absorbed_by(const Linear& a, const Term& extremum);
  void keep_extreme(BinaryOp op, const Linear& candidate, std::vector<Linear>& kept);
  bool never_above(const Linear& a, const Linear& b);
  Expr compare(const Expr& e);
  // Undefined when there is no better form.
  Expr compare_order(BinaryOp op, const Linear& x, const Linear& y);
  Expr compare_equality(BinaryOp op, const Linear& x, const Linear& y);
  std::optional<bool> is_zero(const Linear& a);
  Expr compare_narrow(const Expr& e);
  Expr logic(const Expr& e);

  Analysis analysis_;
  std::unordered_map<const ExprNode*, Entry> entries_;
};

}  // namespace tilecopy::ir
