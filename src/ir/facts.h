// What is known of integer expressions: ranges, divisibility, and proofs of comparisons; and the
// simplifier that stands on them. Sound for all int64 values: arithmetic that may overflow is
// unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/interval.h"
#include "ir/linear.h"
#include "ir/node.h"

namespace tilecopy::ir {

/// What is known of one variable.
struct Known {
  Expr var;  ///< kept, so that no other variable comes to live at its address
  Interval interval;
  std::int64_t divisor = 1;
  std::optional<Linear> value;  ///< of an int64 variable
  Expr other_value;             ///< of any other
};

/// A sum that is at most 0 in exact arithmetic.
struct Limit {
  const ExprNode* owner;  ///< the variable that it was bound with, or null
  Linear sum;
};

class Facts {
 public:
  // Each of the next three states what a variable is from here on: what was bound to it before is
  // forgotten.

  void bind(const Var& var, Interval interval);
  /// The variable stands for a value (a Let).
  void bind_value(const Var& var, const Expr& value);
  /// The variable runs over [begin, end).
  void bind_loop(const Var& var, const Expr& begin, const Expr& end);

  // These add to what is known.

  /// The variable is a multiple of `divisor`.
  void bind_divisor(const Var& var, std::int64_t divisor);
  /// The condition holds from here on, as in the branch of an If.
  void assume(const Expr& condition);

  Interval bounds(const Expr& e) const;
  /// The largest known d >= 0 that divides every value of e (0 when e is always 0).
  std::int64_t divisor(const Expr& e) const;

  /// True when `condition` holds for all values of its variables that satisfy the facts.
  bool proves(const Expr& condition) const;
  bool proves_equal(const Expr& a, const Expr& b) const;

  /// An expression of equal value for all values that satisfy the facts, at most as large.
  Expr simplify(const Expr& e) const;

  // For the reasoning in ir/analysis.h.

  const Known* known(const ExprNode* var) const;
  const std::vector<Limit>& limits() const { return limits_; }

 private:
  Known& at(const Expr& var);
  void add_limit(const ExprNode* owner, const Linear& sum);
  void assume_comparison(const Binary& b);

  std::map<const ExprNode*, Known> known_;
  std::vector<Limit> limits_;
};

/// Facts of a kernel's parameters: a symbol that is alone as a dimension of a tensor lies in
/// [0, 2^47], any other symbol (a stride) in [-2^47, 2^47], and block indices lie in the grid. A
/// launch checks the symbols; 2^47 bytes is what an address space holds. Nothing is known of
/// scalars but their dtype.
Facts kernel_facts(const Kernel& kernel);

}  // namespace tilecopy::ir
