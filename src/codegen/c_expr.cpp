#include "codegen/c_expr.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "base/numeric_value.h"
#include "ir/make.h"

namespace tilecopy::codegen {
namespace {

// As in ir/ops.def, whose operators bind in the order of C's.
constexpr int unary_precedence = 11;
constexpr int primary_precedence = 12;
constexpr int select_precedence = 0;

struct CType {
  std::string_view type, short_name;
};

// In the order of DType. The short names are those of base/numeric.h.
constexpr std::array<CType, dtype_count> c_types = {{
    {"uint8_t", "b8"},
    {"int8_t", "i8"},
    {"int16_t", "i16"},
    {"int32_t", "i32"},
    {"int64_t", "i64"},
    {"uint8_t", "u8"},
    {"uint16_t", "u16"},
    {"uint32_t", "u32"},
    {"uint64_t", "u64"},
    {"uint8_t", "e4m3"},
    {"uint8_t", "e5m2"},
    {"uint16_t", "f16"},
    {"uint16_t", "bf16"},
    {"float", "f32"},
    {"double", "f64"},
}};

std::string_view short_name(DType dtype) {
  return c_types[static_cast<std::size_t>(dtype)].short_name;
}

// Floats that C computes with as they are.
bool is_native_float(DType dtype) { return dtype == float32 || dtype == float64; }
bool is_narrow_float(DType dtype) { return is_float(dtype) && !is_native_float(dtype); }
// Integers that C widens to int: results are cast back.
bool is_narrow_int(DType dtype) { return is_int(dtype) && bits(dtype) < 32; }

}  // namespace

std::string_view c_type(DType dtype) { return c_types[static_cast<std::size_t>(dtype)].type; }

std::string CExprWriter::name(const Buffer& buffer) {
  return names_.of(buffer.node(), buffer.name());
}
std::string CExprWriter::name(const Var& var) { return names_.of(var.node(), var.name()); }

std::string_view CExprWriter::declare_int(const Var& var) {
  // A loop's variable goes one beyond its bounds.
  if (width_ == IndexWidth::wide || !fits_int(var) || facts_.bounds(var).hi == INT32_MAX) {
    return "int64_t";
  }
  int_vars_.insert(var.node());
  return "int";
}

bool CExprWriter::fits_int(const Expr& e) const {
  ir::Interval bounds = facts_.bounds(e);
  return bounds.lo >= INT32_MIN && bounds.hi <= INT32_MAX;
}

std::string CExprWriter::parenthesised(Written written, int floor) const {
  if (written.precedence >= floor) return std::move(written.text);
  return "(" + written.text + ")";
}

std::string CExprWriter::expr(const Expr& e, int floor) { return parenthesised(write(e), floor); }

CExprWriter::Written CExprWriter::numeric_call(std::string text) {
  uses_numeric_ = true;
  return {std::move(text), primary_precedence};
}

std::string CExprWriter::widened(const Expr& e, int floor) {
  if (!is_narrow_float(e.dtype())) return expr(e, floor);
  return expr(ir::make_cast(e, float32), floor);  // a constant folds
}

CExprWriter::Written CExprWriter::write(const Expr& e) {
  switch (e.node()->kind) {
    case ir::ExprKind::IntConst: return write_int(ir::get<ir::IntConst>(e));
    case ir::ExprKind::FloatConst: return write_float(ir::get<ir::FloatConst>(e));
    case ir::ExprKind::VarNode:
      return {name(Var(e)), primary_precedence, int_vars_.contains(e.node())};
    case ir::ExprKind::Unary: return write_unary(ir::get<ir::Unary>(e));
    case ir::ExprKind::Binary: return write_binary(ir::get<ir::Binary>(e));
    case ir::ExprKind::Select: {
      const auto& s = ir::get<ir::Select>(e);
      // The cast gives two literals the width of the dtype, which for 32-bit indices is moot.
      return {fmt::format("{} ? ({}){} : {}", expr(s.condition, 1), c_type(s.dtype),
                          expr(s.a, unary_precedence), expr(s.b, 1)),
              select_precedence};
    }
    case ir::ExprKind::Cast: return write_cast(ir::get<ir::Cast>(e).a, e.dtype());
    case ir::ExprKind::Load: {
      const auto& load = ir::get<ir::Load>(e);
      return {fmt::format("{}[{}]", name(load.buffer), expr(load.indices[0])), primary_precedence};
    }
  }
  return {};
}

CExprWriter::Written CExprWriter::write_int(const ir::IntConst& c) {
  if (c.dtype == uint64 && width_ == IndexWidth::proved) {
    return {fmt::format("0x{:x}ull", static_cast<std::uint64_t>(c.value)), primary_precedence};
  }
  if (c.dtype == uint64) {
    return {fmt::format("UINT64_C({})", static_cast<std::uint64_t>(c.value)), primary_precedence};
  }
  if (c.dtype == uint32) return {fmt::format("{}u", c.value), primary_precedence};
  if (c.value == INT64_MIN && width_ == IndexWidth::proved) {
    return {"(-9223372036854775807ll - 1)", primary_precedence};
  }
  if (c.value == INT64_MIN) return {"INT64_MIN", primary_precedence};
  bool is_int = width_ == IndexWidth::proved && c.value > INT32_MIN && c.value <= INT32_MAX;
  return {fmt::format("{}", c.value), c.value < 0 ? unary_precedence : primary_precedence, is_int};
}

CExprWriter::Written CExprWriter::write_float(const ir::FloatConst& c) {
  numeric::Value value = numeric::from_double(c.value, c.dtype);
  if (is_narrow_float(c.dtype)) {
    return {fmt::format("0x{:x} /* {} */", value.bits, c.value), primary_precedence};
  }
  if (!std::isfinite(c.value)) {
    return numeric_call(fmt::format("tc_{}_of_bits(0x{:x}u{})", short_name(c.dtype), value.bits,
                                    c.dtype == float64 ? "ll" : ""));
  }
  std::string text = c.dtype == float32 ? fmt::format("{}", static_cast<float>(c.value))
                                        : fmt::format("{}", c.value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (c.dtype == float32) text += "f";
  return {text, std::signbit(c.value) ? unary_precedence : primary_precedence};
}

CExprWriter::Written CExprWriter::write_cast(const Expr& a, DType to) {
  DType from = a.dtype();
  if (from == to) return write(a);
  bool plain = (is_int(from) || from == bool_) && is_int(to);
  if (plain) {
    return {fmt::format("({}){}", c_type(to), expr(a, unary_precedence)), unary_precedence};
  }
  return numeric_call(fmt::format("tc_{}_from_{}({})", short_name(to), short_name(from), expr(a)));
}

CExprWriter::Written CExprWriter::write_unary(const ir::Unary& u) {
  DType dtype = u.dtype;
  auto rounded = [&](std::string text) -> Written {
    if (!is_narrow_float(dtype)) return {std::move(text), unary_precedence};
    return numeric_call(fmt::format("tc_{}_from_f32({})", short_name(dtype), text));
  };
  if (u.op == ir::UnaryOp::logical_not)
    return {"!" + expr(u.a, unary_precedence), unary_precedence};
  std::string a = widened(u.a, unary_precedence);
  if (dtype == int64 && width_ == IndexWidth::proved) a = "(int64_t)" + a;
  if (u.op == ir::UnaryOp::neg) {
    // A space keeps two minus signs apart.
    std::string text = (a[0] == '-' ? "- " : "-") + a;
    if (is_narrow_int(dtype))
      return {fmt::format("({})({})", c_type(dtype), text), unary_precedence};
    return rounded(text);
  }
  if (u.op == ir::UnaryOp::abs) {
    DType wide = is_narrow_float(dtype) ? float32 : dtype;
    uses_numeric_ = true;
    return rounded(fmt::format("tc_abs_{}({})", short_name(wide), a));
  }
  std::string_view suffix = dtype == float64 ? "" : "f";
  return rounded(fmt::format("{}{}({})", ir::text(u.op), suffix, a));
}

CExprWriter::Written CExprWriter::write_arithmetic(const ir::Binary& b) {
  if (width_ == IndexWidth::proved && b.a.dtype() == int64) return write_index(b);
  int precedence = ir::precedence(b.op);
  // The right side of a left-associative operator needs parentheses at equal precedence.
  std::string text = fmt::format("{} {} {}", widened(b.a, precedence), ir::text(b.op),
                                 widened(b.b, precedence + 1));
  if (is_narrow_float(b.dtype)) {
    return numeric_call(fmt::format("tc_{}_from_f32({})", short_name(b.dtype), text));
  }
  if (is_narrow_int(b.dtype)) {
    return {fmt::format("({})({})", c_type(b.dtype), text), unary_precedence};
  }
  return {std::move(text), precedence};
}

CExprWriter::Written CExprWriter::write_index(const ir::Binary& b) {
  const auto* divisor = ir::as<ir::IntConst>(b.b);
  bool divides = b.op == ir::BinaryOp::div || b.op == ir::BinaryOp::mod;
  if (divides && divisor && !std::has_single_bit(static_cast<std::uint64_t>(divisor->value))) {
    Written dividend = write(b.a);
    bool fits = dividend.is_int && divisor->value <= INT32_MAX;
    std::string argument = dividend.is_int && !fits
                               ? "(int64_t)" + parenthesised(std::move(dividend), unary_precedence)
                               : std::move(dividend.text);
    return {fmt::format("tc_{}<{}>({})", b.op == ir::BinaryOp::div ? "div" : "mod", divisor->value,
                        argument),
            primary_precedence, fits};
  }
  int precedence = ir::precedence(b.op);
  Written left = write(b.a);
  Written right = write(b.b);
  bool both = left.is_int && right.is_int;
  bool narrow = both && (b.dtype == bool_ || fits_int(ir::make_binary(b.op, b.a, b.b)));
  std::string a = parenthesised(std::move(left), both && !narrow ? unary_precedence : precedence);
  if (both && !narrow) a = "(int64_t)" + a;
  return {
      fmt::format("{} {} {}", a, ir::text(b.op), parenthesised(std::move(right), precedence + 1)),
      precedence, narrow && b.dtype == int64};
}

CExprWriter::Written CExprWriter::write_index_min_max(const ir::Binary& b) {
  Written left = write(b.a);
  Written right = write(b.b);
  bool both = left.is_int && right.is_int;
  auto argument = [&](Written w) {
    return w.is_int && !both ? "(int64_t)" + parenthesised(std::move(w), unary_precedence)
                             : std::move(w.text);
  };
  std::string a = argument(std::move(left));
  return {fmt::format("tc_index_{}({}, {})", b.op == ir::BinaryOp::min ? "min" : "max", a,
                      argument(std::move(right))),
          primary_precedence, both};
}

CExprWriter::Written CExprWriter::write_binary(const ir::Binary& b) {
  using ir::BinaryOp;
  DType operand = b.a.dtype();
  auto call = [&](std::string_view function) {
    DType wide = is_narrow_float(operand) ? float32 : operand;
    std::string text = fmt::format("tc_{}_{}({}, {})", function, short_name(wide), widened(b.a, 0),
                                   widened(b.b, 0));
    if (is_narrow_float(operand)) {
      text = fmt::format("tc_{}_from_f32({})", short_name(operand), text);
    }
    return numeric_call(std::move(text));
  };
  switch (b.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return write_arithmetic(b);
    case BinaryOp::div:
    case BinaryOp::mod: {
      // C rounds towards zero: the same for what is not negative.
      bool plain = is_float(operand) ||
                   (facts_.bounds(b.a).lo >= 0 && facts_.bounds(b.b).lo > 0 && operand == int64);
      if (plain) return write_arithmetic(b);
      return call(b.op == BinaryOp::div ? "floordiv" : "floormod");
    }
    case BinaryOp::min:
    case BinaryOp::max: {
      bool min = b.op == BinaryOp::min;
      if (operand != int64) return call(min ? "min" : "max");
      if (width_ == IndexWidth::proved) return write_index_min_max(b);
      return {fmt::format("tc_index_{}({}, {})", min ? "min" : "max", expr(b.a), expr(b.b)),
              primary_precedence};
    }
    case BinaryOp::shl: return call("shl");
    case BinaryOp::shr: return call("shr");
  }
  return {};
}

}  // namespace tilecopy::codegen
