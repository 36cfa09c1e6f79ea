// The text form of what statements are made of. Operands that a broken node lacks print as
// `<none>`.
#pragma once

#include <span>
#include <string>

#include "ir/names.h"
#include "ir/node.h"

namespace tilecopy::ir {

inline constexpr const char* missing = "<none>";

/// Appends expressions and operands to a text, with the names that `names` gives.
class ExprPrinter {
 public:
  ExprPrinter(std::string& out, Names& names) : out_(out), names_(names) {}

  void expr(const Expr& e) { expr(e, 0); }
  /// Separated by commas.
  void exprs(std::span<const Expr> list);
  /// An expression and its precedence: weaker operators than `floor` stand in parentheses.
  void expr(const Expr& e, int floor);
  void element(const Buffer& buffer, std::span<const Expr> indices);
  void region(const Region& region);
  void name(const Buffer& buffer);
  void name(const Var& var);

 private:
  void constant(const IntConst& c);
  void constant(const FloatConst& c);
  void unary(const Unary& u);
  void binary(const Binary& b, int floor);
  void load(const Load& l);
  void call(std::string_view function, std::initializer_list<Expr> arguments);

  std::string& out_;
  Names& names_;
};

/// Whether a safe value is what undefined ones stand for.
bool is_zero(const Expr& e);

}  // namespace tilecopy::ir
