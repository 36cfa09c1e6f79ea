#include "ir/print_expr.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "ir/make.h"

namespace tilecopy::ir {
namespace {

// Tighter than every binary operator.
constexpr int unary_precedence = 11;

template <typename T>
std::string digits(T value) {
  std::array<char, 40> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = digits(value);
  // Without a point or exponent it would read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_whole(const Region& region) {
  const std::vector<Expr>& shape = region.buffer.shape();
  if (region.origin.size() != shape.size() || region.extent.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_const_int(region.origin[i], 0) || !region.extent[i].defined() || !shape[i].defined() ||
        !equal(region.extent[i], shape[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_zero(const Expr& e) {
  if (!e.defined()) return true;
  if (const auto* c = as<FloatConst>(e)) return c->value == 0 && !std::signbit(c->value);
  return is_const_int(e, 0);
}

void ExprPrinter::name(const Buffer& buffer) {
  out_ += buffer.defined() ? names_.of(buffer.node(), buffer.node()->name) : missing;
}

void ExprPrinter::name(const Var& var) {
  out_ += var.defined() ? names_.of(var.node(), var.name()) : missing;
}

void ExprPrinter::exprs(std::span<const Expr> list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out_ += ", ";
    expr(list[i]);
  }
}

void ExprPrinter::call(std::string_view function, std::initializer_list<Expr> arguments) {
  out_ += function;
  out_ += '(';
  exprs(arguments);
  out_ += ')';
}

void ExprPrinter::element(const Buffer& buffer, std::span<const Expr> indices) {
  name(buffer);
  out_ += '[';
  exprs(indices);
  out_ += ']';
}

void ExprPrinter::region(const Region& region) {
  name(region.buffer);
  if (!region.buffer.defined() || is_whole(region)) return;
  // An operand without any range is a bare element, which would borrow its extents.
  const bool bare = std::all_of(region.extent.begin(), region.extent.end(),
                                [](const Expr& extent) { return is_const_int(extent, 1); });
  out_ += '[';
  const std::size_t rank = std::max(region.origin.size(), region.extent.size());
  for (std::size_t i = 0; i < rank; ++i) {
    if (i > 0) out_ += ", ";
    expr(i < region.origin.size() ? region.origin[i] : Expr());
    const Expr extent = i < region.extent.size() ? region.extent[i] : Expr();
    if (!bare && is_const_int(extent, 1)) continue;
    out_ += " : +";
    expr(extent);
  }
  out_ += ']';
}

void ExprPrinter::constant(const IntConst& c) {
  if (c.dtype == bool_) {
    out_ += c.value != 0 ? "true" : "false";
    return;
  }
  const std::string text =
      c.dtype == uint64 ? digits(static_cast<std::uint64_t>(c.value)) : digits(c.value);
  if (c.dtype == int64) {
    out_ += text;
  } else {
    out_.append(to_string(c.dtype)).append("(").append(text).append(")");
  }
}

void ExprPrinter::constant(const FloatConst& c) {
  const std::string text = float_text(c.value);
  if (c.dtype == float64 && std::isfinite(c.value)) {
    out_ += text;
  } else {
    out_.append(to_string(c.dtype)).append("(").append(text).append(")");
  }
}

void ExprPrinter::unary(const Unary& u) {
  const bool prefix = u.op == UnaryOp::neg || u.op == UnaryOp::logical_not;
  // `-5` would read back as a constant, and `-(5)` as the operation that is meant.
  const bool constant = as<IntConst>(u.a) != nullptr || as<FloatConst>(u.a) != nullptr;
  if (!prefix || constant) return call(text(u.op), {u.a});
  out_ += text(u.op);
  expr(u.a, unary_precedence);
}

void ExprPrinter::binary(const Binary& b, int floor) {
  const int own = precedence(b.op);
  if (own == 0) return call(text(b.op), {b.a, b.b});
  if (own < floor) out_ += '(';
  expr(b.a, own);
  out_.append(" ").append(text(b.op)).append(" ");
  expr(b.b, own + 1);
  if (own < floor) out_ += ')';
}

void ExprPrinter::load(const Load& l) {
  if (is_zero(l.safe)) return element(l.buffer, l.indices);
  out_ += "load(";
  element(l.buffer, l.indices);
  out_ += ", safe=";
  expr(l.safe);
  out_ += ')';
}

void ExprPrinter::expr(const Expr& e, int floor) {
  if (!e.defined()) {
    out_ += missing;
    return;
  }
  switch (e.node()->kind) {
    case ExprKind::IntConst: return constant(get<IntConst>(e));
    case ExprKind::FloatConst: return constant(get<FloatConst>(e));
    case ExprKind::VarNode: out_ += names_.of(e.node(), get<VarNode>(e).name); return;
    case ExprKind::Unary: return unary(get<Unary>(e));
    case ExprKind::Binary: return binary(get<Binary>(e), floor);
    case ExprKind::Select: {
      const auto& s = get<Select>(e);
      return call("select", {s.condition, s.a, s.b});
    }
    case ExprKind::Cast:
      out_ += "cast(";
      expr(get<Cast>(e).a);
      out_.append(", ").append(to_string(e.dtype())).append(")");
      return;
    case ExprKind::Load: return load(get<Load>(e));
  }
}

}  // namespace tilecopy::ir
