// Expressions, buffers and accesses: the values that a kernel's author computes with.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy {

namespace ir {
struct ExprNode;
struct BufferNode;
}  // namespace ir

/// An immutable scalar expression. C++ integers and floating-point numbers convert to literals,
/// which take the dtype of what they are combined with (int64 or float64 on their own).
/// Integer / and % round towards minus infinity, and give 0 for a divisor of 0. Other integer
/// arithmetic wraps. Each float operation is rounded once to its dtype; a NaN that float32 or float64
/// arithmetic makes has the bits of the machine, until a cast makes it the canonical NaN.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ir::ExprNode> node) : node_(std::move(node)) {}
  template <std::signed_integral T>
  Expr(T value) : Expr(literal(static_cast<std::int64_t>(value))) {}  // NOLINT: literals convert
  /// A number past the largest int64 is a uint64, not a literal.
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Expr(T value)
      : Expr(literal(static_cast<std::uint64_t>(value))) {}  // NOLINT
  template <std::same_as<bool> T>          // only a bool: pointers convert to bool, too
  Expr(T value) : Expr(literal(value)) {}  // NOLINT
  template <std::floating_point T>
  Expr(T value) : Expr(literal(static_cast<double>(value))) {}  // NOLINT

  DType dtype() const;
  bool defined() const { return node_ != nullptr; }
  const ir::ExprNode* node() const { return node_.get(); }
  const std::shared_ptr<const ir::ExprNode>& shared() const { return node_; }
  /// The text form.
  std::string to_string() const;

 private:
  static Expr literal(std::int64_t value);
  static Expr literal(std::uint64_t value);
  static Expr literal(bool value);
  static Expr literal(double value);

  std::shared_ptr<const ir::ExprNode> node_;
};

/// A named value: a loop or block index, a symbol bound at launch, or a scalar parameter.
class Var : public Expr {
 public:
  Var() = default;
  Var(std::string name, DType dtype);
  explicit Var(Expr var) : Expr(std::move(var)) {}

  const std::string& name() const;
};

/// An expression and the user's line that combined it, so that operators can report errors there.
struct ExprAt {
  template <typename T>
  requires std::convertible_to<T, Expr> ExprAt(
      T&& value, std::source_location where = std::source_location::current())  // NOLINT
      : expr(std::forward<T>(value)), at(where) {}

  Expr expr;
  std::source_location at;
};

Expr operator+(ExprAt a, ExprAt b);
Expr operator-(ExprAt a, ExprAt b);
Expr operator*(ExprAt a, ExprAt b);
Expr operator/(ExprAt a, ExprAt b);
Expr operator%(ExprAt a, ExprAt b);
Expr operator-(ExprAt a);
Expr operator==(ExprAt a, ExprAt b);
Expr operator!=(ExprAt a, ExprAt b);
Expr operator<(ExprAt a, ExprAt b);
Expr operator<=(ExprAt a, ExprAt b);
Expr operator>(ExprAt a, ExprAt b);
Expr operator>=(ExprAt a, ExprAt b);
Expr operator&&(ExprAt a, ExprAt b);
Expr operator||(ExprAt a, ExprAt b);
Expr operator!(ExprAt a);
Expr operator&(ExprAt a, ExprAt b);
Expr operator|(ExprAt a, ExprAt b);
Expr operator^(ExprAt a, ExprAt b);
/// Shift counts below 0 or of the width and above give 0, or the sign for a signed right shift.
Expr operator<<(ExprAt a, ExprAt b);
Expr operator>>(ExprAt a, ExprAt b);

/// If either operand is NaN the result is NaN.
Expr min(ExprAt a, ExprAt b);
Expr max(ExprAt a, ExprAt b);
/// (a + b - 1) / b, for b > 0.
Expr ceildiv(ExprAt a, ExprAt b);
/// `a` where `condition` holds, else `b`; only the chosen one is evaluated.
Expr select(ExprAt condition, ExprAt a, ExprAt b);
/// Floats round to nearest even, 8-bit floats saturate; floats to integers truncate and saturate,
/// NaN gives 0; integers wrap; anything to bool tests for non-zero. NaN becomes the canonical NaN.
Expr cast(ExprAt a, DType dtype);

Expr abs(ExprAt a);
/// Correctly rounded.
Expr sqrt(ExprAt a);
/// The functions below agree with the exact value to 4 ulp; their bits may differ between targets.
Expr exp(ExprAt a);
Expr exp2(ExprAt a);
Expr log(ExprAt a);
Expr log2(ExprAt a);
Expr sin(ExprAt a);
Expr cos(ExprAt a);
Expr tanh(ExprAt a);
Expr floor(ExprAt a);
Expr ceil(ExprAt a);

/// The half-open range [begin, end) of a dimension. A step other than 1 is an error when used.
struct Range {
  Expr begin, end, step;
};
Range range(ExprAt begin, ExprAt end);
Range range(ExprAt begin, ExprAt end, ExprAt step);

/// One position of an access: an index or a range.
struct Index {
  template <typename T>
  requires std::convertible_to<T, Expr> Index(
      T&& value, std::source_location where = std::source_location::current())  // NOLINT
      : begin(std::forward<T>(value)), at(where) {}
  Index(Range range, std::source_location where = std::source_location::current())  // NOLINT
      : begin(std::move(range.begin)),
        end(std::move(range.end)),
        step(std::move(range.step)),
        at(where) {}

  bool is_range() const { return end.defined(); }

  Expr begin;
  Expr end;   ///< undefined for a plain index
  Expr step;  ///< undefined for a plain index and for the step 1
  std::source_location at;
};

class Access;

/// A tensor in global memory or a tile in shared, fragment or local memory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::shared_ptr<const ir::BufferNode> node) : node_(std::move(node)) {}

  const std::string& name() const;
  DType dtype() const;
  Scope scope() const;
  const std::vector<Expr>& shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  bool defined() const { return node_ != nullptr; }
  const ir::BufferNode* node() const { return node_.get(); }

  /// An element A(i, j), or a region A(range(a, b), j) when any index is a range.
  Access operator()(std::source_location where = std::source_location::current()) const;
  Access operator()(Index i) const;
  Access operator()(Index i, Index j) const;
  Access operator()(Index i, Index j, Index k) const;
  Access operator()(Index i, Index j, Index k, Index l) const;
  Access operator()(Index i, Index j, Index k, Index l, Index m) const;
  Access operator()(Index i, Index j, Index k, Index l, Index m, Index n) const;
  Access operator()(Index i, Index j, Index k, Index l, Index m, Index n, Index o) const;
  Access operator()(Index i, Index j, Index k, Index l, Index m, Index n, Index o, Index p) const;

 private:
  std::shared_ptr<const ir::BufferNode> node_;
};

/// An access to a buffer: read as an expression, assigned to, or given to copy as an operand.
/// Reading out of bounds gives the buffer's safe value; writing out of bounds does nothing.
class Access {
 public:
  Access(Buffer buffer, std::vector<Index> indices, Location where = {})
      : buffer_(std::move(buffer)), indices_(std::move(indices)), where_(where) {
    if (!where_.known() && !indices_.empty()) where_ = indices_.front().at;
  }
  Access(const Access&) = default;

  operator Expr() const;  // NOLINT: an access reads as the element's value
  /// Stores `value`, cast to the buffer's dtype.
  const Access& operator=(const ExprAt& value) const;
  const Access& operator=(const Access& value);
  const Access& operator+=(const ExprAt& value) const;
  const Access& operator-=(const ExprAt& value) const;
  const Access& operator*=(const ExprAt& value) const;

  const Buffer& buffer() const { return buffer_; }
  const std::vector<Index>& indices() const { return indices_; }
  Location where() const { return where_; }

 private:
  Buffer buffer_;
  std::vector<Index> indices_;
  Location where_;
};

}  // namespace tilecopy
