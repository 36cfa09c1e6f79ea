// Device-level expressions as C.
#pragma once

#include <string>

#include "ir/facts.h"
#include "ir/names.h"
#include "ir/node.h"

namespace tilecopy::codegen {

/// The C type that holds an element; narrow floats are held as their bits.
std::string_view c_type(DType dtype);

class CExprWriter {
 public:
  CExprWriter(ir::Names& names, const ir::Facts& facts) : names_(names), facts_(facts) {}

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
  };
  Written write(const Expr& e);
  Written write_int(const ir::IntConst& c);
  Written write_float(const ir::FloatConst& c);
  Written write_unary(const ir::Unary& u);
  Written write_binary(const ir::Binary& b);
  Written write_arithmetic(const ir::Binary& b);
  Written write_cast(const Expr& a, DType to);
  /// A call of a function of base/numeric.h.
  Written numeric_call(std::string text);
  /// The value as float for the narrow floats, else as it is.
  std::string widened(const Expr& e, int floor);

  ir::Names& names_;
  const ir::Facts& facts_;
  bool uses_numeric_ = false;
};

}  // namespace tilecopy::codegen
