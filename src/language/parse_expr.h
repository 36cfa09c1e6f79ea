// Reads the expressions and operands of kernel text.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/node.h"
#include "language/cursor.h"
#include "language/text_names.h"
#include "tilecopy/language.h"

namespace tilecopy::language {

/// What an expression needs of the kernel around it.
struct ExprContext {
  /// A read of an element; `safe` is undefined unless the text gives one.
  std::function<Expr(const Buffer&, const std::vector<Index>&, const Expr& safe, Location)> load;
  /// The meaning of a name that nothing declares; null to raise E0502.
  std::function<Expr(const Token&)> undeclared;
};

class ExprParser {
 public:
  ExprParser(Cursor& cursor, const TextNames& names, ExprContext context)
      : cursor_(cursor), names_(names), context_(std::move(context)) {}

  Expr expression() { return binary(1); }
  /// Expressions separated by commas, up to and with `close`.
  std::vector<Expr> list(std::string_view close);

  DType dtype();
  Buffer buffer();
  /// A buffer, an element or a region.
  Operand operand();
  /// `[` indices and ranges `]`.
  std::vector<Index> indices();

 private:
  Expr binary(int floor);
  Expr unary();
  Expr primary();
  Expr number(const Token& token, bool negative);
  Expr named(const Token& name);
  Expr call(const Token& name);
  Expr load_call(Location where);
  Expr cast_call(Location where);
  Expr typed_constant(DType dtype, const Token& name);
  Index index();

  Cursor& cursor_;
  const TextNames& names_;
  ExprContext context_;
  int depth_ = 0;
};

}  // namespace tilecopy::language
