// Device-level expressions as C.
#pragma once

#include <set>
#include <string>

#include "ir/facts.h"
#include "ir/names.h"
#include "ir/node.h"

namespace tilecopy::codegen {

/// The C type that holds an element; narrow floats are held as their bits.
std::string_view c_type(DType dtype);

/// How indices are computed: in 64 bits, or (CUDA C++) in 32 bits wherever that is proved to do.
enum class IndexWidth : std::uint8_t { wide, proved };

class CExprWriter {
 public:
  CExprWriter(ir::Names& names, const ir::Facts& facts, IndexWidth width)
      : names_(names), facts_(facts), width_(width) {}

  /// The C type for an int64 variable from here on, by what the facts say of it.
  std::string_view declare_int(const Var& var);

  /// The expression, in parentheses when it binds more loosely than `floor` (0: never).
  std::string expr(const Expr& e, int floor = 0);
  std::string name(const Buffer& buffer);
  std::string name(const Var& var);
  /// Whether anything written so far calls a function of base/numeric.h.
  bool uses_numeric() const { return uses_numeric_; }

 private:
  struct Written {
    std::string text;
    int precedence;
    bool is_int = false;  ///< an int64 expression that C computes as int
  };
  Written write(const Expr& e);
  Written write_int(const ir::IntConst& c);
  Written write_float(const ir::FloatConst& c);
  Written write_unary(const ir::Unary& u);
  Written write_binary(const ir::Binary& b);
  Written write_arithmetic(const ir::Binary& b);
  Written write_cast(const Expr& a, DType to);
  /// int64 arithmetic: in int if the operands are and the result is proved to fit.
  Written write_index(const ir::Binary& b);
  Written write_index_min_max(const ir::Binary& b);
  bool fits_int(const Expr& e) const;
  std::string parenthesised(Written written, int floor) const;
  /// A call of a function of base/numeric.h.
  Written numeric_call(std::string text);
  /// The value as float for the narrow floats, else as it is.
  std::string widened(const Expr& e, int floor);

  ir::Names& names_;
  const ir::Facts& facts_;
  IndexWidth width_;
  std::set<const ir::ExprNode*> int_vars_;  ///< declared as int
  bool uses_numeric_ = false;
};

}  // namespace tilecopy::codegen
