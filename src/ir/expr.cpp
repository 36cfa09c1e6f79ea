// The public expressions of tilecopy/expr.h, in terms of the IR's makers.
#include "tilecopy/expr.h"

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/print.h"
#include "ir/raw.h"

namespace tilecopy {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_unary;
using ir::UnaryOp;

namespace {

const ir::BufferNode& node_of(const Buffer& buffer) {
  if (!buffer.defined())
    raise(ErrorCode::E0411, {}, {.needed = "a buffer", .found = "an empty buffer"});
  return *buffer.node();
}

}  // namespace

// ---- Expr and Var ----

DType Expr::dtype() const {
  if (!node_)
    raise(ErrorCode::E0411, {}, {.needed = "an expression", .found = "an empty expression"});
  return node_->dtype;
}

std::string Expr::to_string() const { return ir::print(*this); }

Expr Expr::literal(std::int64_t value) { return ir::raw::int_const(value, int64, true); }
Expr Expr::literal(std::uint64_t value) {
  const auto number = static_cast<std::int64_t>(value);
  return number >= 0 ? literal(number) : ir::raw::int_const(number, uint64, false);
}
Expr Expr::literal(bool value) { return ir::make_bool(value); }
Expr Expr::literal(double value) { return ir::raw::float_const(value, float64, true); }

Var::Var(std::string name, DType dtype) : Var(ir::make_var(std::move(name), dtype)) {}

const std::string& Var::name() const {
  const auto* var = ir::as<ir::VarNode>(*this);
  if (!var) raise(ErrorCode::E0411, {}, {.needed = "a variable", .found = "an empty expression"});
  return var->name;
}

// ---- Operators ----

Expr operator+(ExprAt a, ExprAt b) { return make_binary(BinaryOp::add, a.expr, b.expr, a.at); }
Expr operator-(ExprAt a, ExprAt b) { return make_binary(BinaryOp::sub, a.expr, b.expr, a.at); }
Expr operator*(ExprAt a, ExprAt b) { return make_binary(BinaryOp::mul, a.expr, b.expr, a.at); }
Expr operator/(ExprAt a, ExprAt b) { return make_binary(BinaryOp::div, a.expr, b.expr, a.at); }
Expr operator%(ExprAt a, ExprAt b) { return make_binary(BinaryOp::mod, a.expr, b.expr, a.at); }
Expr operator-(ExprAt a) { return make_unary(UnaryOp::neg, a.expr, a.at); }
Expr operator==(ExprAt a, ExprAt b) { return make_binary(BinaryOp::eq, a.expr, b.expr, a.at); }
Expr operator!=(ExprAt a, ExprAt b) { return make_binary(BinaryOp::ne, a.expr, b.expr, a.at); }
Expr operator<(ExprAt a, ExprAt b) { return make_binary(BinaryOp::lt, a.expr, b.expr, a.at); }
Expr operator<=(ExprAt a, ExprAt b) { return make_binary(BinaryOp::le, a.expr, b.expr, a.at); }
Expr operator>(ExprAt a, ExprAt b) { return make_binary(BinaryOp::gt, a.expr, b.expr, a.at); }
Expr operator>=(ExprAt a, ExprAt b) { return make_binary(BinaryOp::ge, a.expr, b.expr, a.at); }
Expr operator&&(ExprAt a, ExprAt b) {
  return make_binary(BinaryOp::logical_and, a.expr, b.expr, a.at);
}
Expr operator||(ExprAt a, ExprAt b) {
  return make_binary(BinaryOp::logical_or, a.expr, b.expr, a.at);
}
Expr operator!(ExprAt a) { return make_unary(UnaryOp::logical_not, a.expr, a.at); }
Expr operator&(ExprAt a, ExprAt b) { return make_binary(BinaryOp::bit_and, a.expr, b.expr, a.at); }
Expr operator|(ExprAt a, ExprAt b) { return make_binary(BinaryOp::bit_or, a.expr, b.expr, a.at); }
Expr operator^(ExprAt a, ExprAt b) { return make_binary(BinaryOp::bit_xor, a.expr, b.expr, a.at); }
Expr operator<<(ExprAt a, ExprAt b) { return make_binary(BinaryOp::shl, a.expr, b.expr, a.at); }
Expr operator>>(ExprAt a, ExprAt b) { return make_binary(BinaryOp::shr, a.expr, b.expr, a.at); }

// ---- Functions ----

Expr min(ExprAt a, ExprAt b) { return make_binary(BinaryOp::min, a.expr, b.expr, a.at); }
Expr max(ExprAt a, ExprAt b) { return make_binary(BinaryOp::max, a.expr, b.expr, a.at); }

Expr ceildiv(ExprAt a, ExprAt b) {
  const Expr one_less = make_binary(BinaryOp::sub, b.expr, 1, a.at);
  const Expr sum = make_binary(BinaryOp::add, a.expr, one_less, a.at);
  return make_binary(BinaryOp::div, sum, b.expr, a.at);
}

Expr select(ExprAt condition, ExprAt a, ExprAt b) {
  return ir::make_select(condition.expr, a.expr, b.expr, condition.at);
}

Expr cast(ExprAt a, DType dtype) { return ir::make_cast(a.expr, dtype, a.at); }

Expr abs(ExprAt a) { return make_unary(UnaryOp::abs, a.expr, a.at); }
Expr sqrt(ExprAt a) { return make_unary(UnaryOp::sqrt, a.expr, a.at); }
Expr exp(ExprAt a) { return make_unary(UnaryOp::exp, a.expr, a.at); }
Expr exp2(ExprAt a) { return make_unary(UnaryOp::exp2, a.expr, a.at); }
Expr log(ExprAt a) { return make_unary(UnaryOp::log, a.expr, a.at); }
Expr log2(ExprAt a) { return make_unary(UnaryOp::log2, a.expr, a.at); }
Expr sin(ExprAt a) { return make_unary(UnaryOp::sin, a.expr, a.at); }
Expr cos(ExprAt a) { return make_unary(UnaryOp::cos, a.expr, a.at); }
Expr tanh(ExprAt a) { return make_unary(UnaryOp::tanh, a.expr, a.at); }
Expr floor(ExprAt a) { return make_unary(UnaryOp::floor, a.expr, a.at); }
Expr ceil(ExprAt a) { return make_unary(UnaryOp::ceil, a.expr, a.at); }

Range range(ExprAt begin, ExprAt end) { return {begin.expr, end.expr, {}}; }
Range range(ExprAt begin, ExprAt end, ExprAt step) { return {begin.expr, end.expr, step.expr}; }

// ---- Buffers ----

const std::string& Buffer::name() const { return node_of(*this).name; }
DType Buffer::dtype() const { return node_of(*this).dtype; }
Scope Buffer::scope() const { return node_of(*this).scope; }
const std::vector<Expr>& Buffer::shape() const { return node_of(*this).shape; }

}  // namespace tilecopy
