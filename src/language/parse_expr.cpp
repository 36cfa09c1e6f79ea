#include "language/parse_expr.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ir/make.h"

namespace tilecopy::language {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::UnaryOp;

constexpr std::array unary_ops = {
#define TILECOPY_UNARY(name, text, operands) UnaryOp::name,
#include "ir/ops.def"
};

constexpr std::array binary_ops = {
#define TILECOPY_BINARY(name, text, precedence, operands, result) BinaryOp::name,
#include "ir/ops.def"
};

template <typename Ops>
auto find_op(const Ops& ops, std::string_view word) -> std::optional<typename Ops::value_type> {
  for (auto op : ops) {
    if (text(op) == word) return op;
  }
  return std::nullopt;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names = {"cast", "select", "load", "ceildiv"};
  for (UnaryOp op : unary_ops) names.push_back(text(op));
  for (BinaryOp op : binary_ops) names.push_back(text(op));
  return names;
}

double float_value(const Cursor& cursor, const Token& token) {
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
    cursor.fail("a number that float64 can hold", token);
  }
  return value;
}

bool int_fits(std::int64_t value, DType dtype) {
  if (bits(dtype) == 64) return is_signed_int(dtype) || value >= 0;
  const int value_bits = bits(dtype) - (is_signed_int(dtype) ? 1 : 0);
  const std::int64_t end = std::int64_t{1} << value_bits;
  return value < end && value >= (is_signed_int(dtype) ? -end : 0);
}

Expr int_constant(const Cursor& cursor, const Token& token, bool negative, DType dtype) {
  std::uint64_t bits_of_value = 0;
  const char* end = token.text.data() + token.text.size();
  if (dtype == uint64 && !negative &&
      std::from_chars(token.text.data(), end, bits_of_value).ec == std::errc()) {
    return ir::make_int(static_cast<std::int64_t>(bits_of_value), dtype);
  }
  const std::int64_t value = integer_value(cursor, token, negative);
  if (!int_fits(value, dtype)) {
    cursor.fail(fmt::format("an integer that {} can hold", to_string(dtype)), token);
  }
  return ir::make_int(value, dtype);
}

// Undefined when the token is no float.
Expr float_constant(const Cursor& cursor, const Token& token, bool negative, DType dtype) {
  double value = 0;
  if (token.kind == TokenKind::integer || token.kind == TokenKind::floating) {
    value = float_value(cursor, token);
  } else if (token.text == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (token.text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    return {};
  }
  const Expr result = ir::make_float(negative ? -value : value, dtype);
  if (std::isfinite(value) && !std::isfinite(ir::get<ir::FloatConst>(result).value)) {
    cursor.fail(fmt::format("a number that {} can hold", to_string(dtype)), token);
  }
  return result;
}

}  // namespace

std::vector<Expr> ExprParser::list(std::string_view close) {
  std::vector<Expr> result;
  if (cursor_.accept(close)) return result;
  do {
    result.push_back(expression());
  } while (cursor_.accept(","));
  cursor_.expect(close);
  return result;
}

DType ExprParser::dtype() {
  const Token token = cursor_.peek();
  if (token.kind == TokenKind::name) {
    if (auto known = parse_dtype(token.text)) {
      cursor_.take();
      return *known;
    }
  }
  cursor_.fail("a dtype, such as float16", token);
}

Expr ExprParser::binary(int floor) {
  const Nesting nesting(depth_, ir::max_expr_depth, cursor_);
  Expr left = unary();
  while (cursor_.peek().kind == TokenKind::symbol) {
    const auto op = find_op(binary_ops, cursor_.peek().text);
    if (!op || precedence(*op) < floor) break;
    const Location where = cursor_.take().where;
    left = make_binary(*op, left, binary(precedence(*op) + 1), where);
  }
  return left;
}

Expr ExprParser::unary() {
  std::vector<Token> prefixes;
  while (cursor_.at("-") || cursor_.at("!")) prefixes.push_back(cursor_.take());
  const TokenKind kind = cursor_.peek().kind;
  const bool is_number = kind == TokenKind::integer || kind == TokenKind::floating;
  Expr e;
  if (is_number && !prefixes.empty() && prefixes.back().text == "-") {
    prefixes.pop_back();
    e = number(cursor_.take(), true);
  } else {
    e = primary();
  }
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
    const UnaryOp op = prefix->text == "-" ? UnaryOp::neg : UnaryOp::logical_not;
    e = ir::make_unary(op, e, prefix->where);
  }
  return e;
}

Expr ExprParser::number(const Token& token, bool negative) {
  if (token.kind == TokenKind::integer) return Expr(integer_value(cursor_, token, negative));
  const double value = float_value(cursor_, token);
  return Expr(negative ? -value : value);
}

Expr ExprParser::primary() {
  const Token token = cursor_.peek();
  switch (token.kind) {
    case TokenKind::integer:
    case TokenKind::floating: return number(cursor_.take(), false);
    case TokenKind::name:
      cursor_.take();
      if (token.text == "true" || token.text == "false") return Expr(token.text == "true");
      return cursor_.at("(") ? call(token) : named(token);
    case TokenKind::symbol: {
      if (!cursor_.accept("(")) break;
      Expr e = expression();
      cursor_.expect(")");
      return e;
    }
    case TokenKind::end: break;
  }
  cursor_.fail("an expression", token);
}

Expr ExprParser::named(const Token& name) {
  const Named* meaning = names_.find(name.text);
  if (!meaning) {
    if (context_.undeclared && !cursor_.at("[")) return context_.undeclared(name);
    names_.raise_unknown(name.text, name.where);
  }
  const auto* tile = std::get_if<Buffer>(meaning);
  if (tile && !cursor_.at("[")) {
    cursor_.fail(fmt::format("an element, as in {}[i], or a variable", name.text), name);
  }
  if (tile) return context_.load(*tile, indices(), {}, name.where);
  return std::get<Var>(*meaning);
}

Expr ExprParser::load_call(Location where) {
  const Buffer from = buffer();
  std::vector<Index> at = indices();
  Expr safe;
  if (cursor_.accept(",")) {
    cursor_.expect_word("safe");
    cursor_.expect("=");
    safe = expression();
  }
  cursor_.expect(")");
  return context_.load(from, at, safe, where);
}

Expr ExprParser::cast_call(Location where) {
  const Expr value = expression();
  cursor_.expect(",");
  const DType type = dtype();
  cursor_.expect(")");
  return ir::make_cast(value, type, where);
}

Expr ExprParser::call(const Token& name) {
  const std::string_view function = name.text;
  const Location where = name.where;
  cursor_.expect("(");
  if (auto type = parse_dtype(function)) return typed_constant(*type, name);
  if (function == "load") return load_call(where);
  if (function == "cast") return cast_call(where);
  const auto unary_op = find_op(unary_ops, function);
  const auto binary_op = find_op(binary_ops, function);
  const std::size_t arity = unary_op                             ? 1
                            : binary_op || function == "ceildiv" ? 2
                            : function == "select"               ? 3
                                                                 : 0;
  if (arity == 0) names_.raise_unknown(function, where, function_names());
  const std::vector<Expr> args = list(")");
  if (args.size() != arity) cursor_.fail(fmt::format("{} arguments", arity), name);
  if (unary_op) return ir::make_unary(*unary_op, args[0], where);
  if (binary_op) return make_binary(*binary_op, args[0], args[1], where);
  if (function == "select") return ir::make_select(args[0], args[1], args[2], where);
  const Expr one_less = make_binary(BinaryOp::sub, args[1], 1, where);
  return make_binary(BinaryOp::div, make_binary(BinaryOp::add, args[0], one_less, where), args[1],
                     where);
}

Expr ExprParser::typed_constant(DType dtype, const Token& name) {
  const bool negative = cursor_.accept("-");
  const Token token = cursor_.take();
  Expr result;
  if (is_int(dtype) && token.kind == TokenKind::integer) {
    result = int_constant(cursor_, token, negative, dtype);
  } else if (is_float(dtype)) {
    result = float_constant(cursor_, token, negative, dtype);
  }
  if (!result.defined()) {
    cursor_.fail(dtype == bool_ ? "true or false"
                                : fmt::format("a constant; cast(x, {}) converts", name.text),
                 token);
  }
  cursor_.expect(")");
  return result;
}

Buffer ExprParser::buffer() {
  const Token name = cursor_.name("a tensor or tile");
  const Named* meaning = names_.find(name.text);
  if (!meaning) names_.raise_unknown(name.text, name.where);
  if (const auto* found = std::get_if<Buffer>(meaning)) return *found;
  cursor_.fail("a tensor or tile", name);
}

Operand ExprParser::operand() {
  Buffer whole = buffer();
  if (!cursor_.at("[")) return whole;
  return Access(whole, indices());
}

std::vector<Index> ExprParser::indices() {
  cursor_.expect("[");
  std::vector<Index> result;
  if (cursor_.accept("]")) return result;
  do {
    result.push_back(index());
  } while (cursor_.accept(","));
  cursor_.expect("]");
  return result;
}

Index ExprParser::index() {
  const Expr begin = expression();
  if (!cursor_.at(":")) return Index(begin);
  const Location where = cursor_.take().where;
  Range range{begin, {}, {}};
  if (cursor_.accept("+")) {
    range.end = make_binary(BinaryOp::add, begin, expression(), where);
  } else {
    range.end = expression();
  }
  if (cursor_.accept(":")) range.step = expression();
  return Index(range);
}

}  // namespace tilecopy::language
