// Bounds, divisors and limits of normal forms under given facts. It reads expressions as they stand
// and rewrites nothing: operands of atoms are in normal form already.
#pragma once

#include <unordered_map>

#include "ir/facts.h"
#include "ir/linear.h"

namespace tilecopy::ir {

class Analysis {
 public:
  explicit Analysis(const Facts& facts) : facts_(facts) {}

  const Facts& facts() const { return facts_; }

  /// Says what the question is about, and so which limits of variables may be used.
  ///
  /// NOTE: a limit of a loop's variable says as well that the loop runs at all (0 <= i < n gives
  /// n > 0), which holds inside of the loop only. A question may be asked outside, so such a limit
  /// counts only if the question names the variable, or one whose own limits speak of it.
  void enter(const Expr& question);
  const std::vector<const Linear*>& limits() const { return limits_; }

  Interval bounds(const Expr& e);
  /// Refined by the limits of variables; the range of int64 when the sum may leave it.
  Interval bounds(const Linear& a);
  std::int64_t divisor(const Expr& e);
  std::int64_t divisor(const Linear& a);

  /// From the bounds of the atoms alone.
  WideInterval exact_bounds(const Linear& a);
  /// Whether the exact value is the expression's value.
  bool exact(const Linear& a) { return exact_bounds(a).fits_int64(); }
  /// An upper bound of the exact value, no better than `enough` if that is reached sooner.
  Wide upper(const Linear& a, Wide enough);
  bool at_most(const Linear& a, Wide limit) { return upper(a, limit) <= limit; }

  /// With sums inside products multiplied out and named values put in: equal modulo 2^64.
  Linear expanded(const Linear& a);
  /// The same, where the exact value stays what it is.
  Linear expanded_exactly(const Linear& a);

  /// The divisor of the exact value of everything but the constant.
  std::int64_t step(const Linear& a);
  /// Sums, at most 0 in exact arithmetic, that tie an atom to its operands.
  const std::vector<Linear>& limits_of(const Expr& atom);

 private:
  struct Entry {
    Expr e;  // kept, so that no other expression comes to live at its address
    Interval interval;
    std::int64_t divisor = 1;
    bool has_divisor = false;
    std::optional<std::vector<Linear>> limits;
  };

  void enter_variable(const Expr& var);
  Interval compute_bounds(const Expr& e);
  Interval variable_bounds(const Expr& var);
  Interval binary_bounds(const Expr& e);
  std::int64_t compute_divisor(const Expr& e);
  std::int64_t binary_divisor(const Binary& b);
  std::vector<Linear> compute_limits(const Expr& atom);
  bool is_compound(const Expr& factor) const;
  Linear expand_factor(const Expr& factor, bool keep_exact, bool* fits);
  Linear expand(const Linear& a, bool keep_exact);

  const Facts& facts_;
  std::vector<const ExprNode*> scope_;
  std::vector<const Linear*> limits_;
  std::unordered_map<const ExprNode*, Entry> entries_;
};

}  // namespace tilecopy::ir
