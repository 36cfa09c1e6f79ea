#include "ir/fold.h"

#include <bit>
#include <cmath>

#include "base/numeric.h"
#include "base/numeric_value.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

using numeric::Value;

std::uint64_t as_unsigned(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::int64_t as_signed(std::uint64_t x) { return static_cast<std::int64_t>(x); }

Expr from_value(Value value) {
  if (!is_float(value.dtype)) return raw::int_const(numeric::to_int(value), value.dtype);
  return raw::float_const(numeric::to_double(value), value.dtype);
}

Value to_value(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) return numeric::from_int(c->value, c->dtype);
  return numeric::from_double(get<FloatConst>(e).value, e.node()->dtype);
}

Expr wrapped(std::int64_t value, DType dtype) {
  return from_value(numeric::from_int(value, dtype));
}

Expr rounded(double value, DType dtype) {
  return from_value(numeric::from_double(tc_canonical_f64(value), dtype));
}

Expr truth(bool value) { return raw::int_const(value ? 1 : 0, bool_); }

// ---- Integers ----
//
// Narrow ones are sign- or zero-extended to 64 bits, worked on there, and wrapped.

std::int64_t binary_u64(BinaryOp op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case BinaryOp::add: return as_signed(a + b);
    case BinaryOp::sub: return as_signed(a - b);
    case BinaryOp::mul: return as_signed(a * b);
    case BinaryOp::div: return as_signed(tc_floordiv_u64(a, b));
    case BinaryOp::mod: return as_signed(tc_floormod_u64(a, b));
    case BinaryOp::min: return as_signed(tc_min_u64(a, b));
    case BinaryOp::max: return as_signed(tc_max_u64(a, b));
    case BinaryOp::shl: return as_signed(tc_shl_u64(a, as_signed(b)));
    case BinaryOp::shr: return as_signed(as_signed(b) < 0 ? 0 : tc_shr_u64(a, as_signed(b)));
    case BinaryOp::bit_and: return as_signed(a & b);
    case BinaryOp::bit_xor: return as_signed(a ^ b);
    case BinaryOp::bit_or: return as_signed(a | b);
    case BinaryOp::lt: return a < b;
    case BinaryOp::le: return a <= b;
    case BinaryOp::gt: return a > b;
    case BinaryOp::ge: return a >= b;
    case BinaryOp::eq: return a == b;
    case BinaryOp::ne: return a != b;
    case BinaryOp::logical_and: return a != 0 && b != 0;
    case BinaryOp::logical_or: return a != 0 || b != 0;
  }
  return 0;
}

// The operations whose answer depends on the sign.
std::int64_t binary_i64(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case BinaryOp::div: return tc_floordiv_i64(a, b);
    case BinaryOp::mod: return tc_floormod_i64(a, b);
    case BinaryOp::min: return tc_min_i64(a, b);
    case BinaryOp::max: return tc_max_i64(a, b);
    case BinaryOp::shr: return tc_shr_i64(a, b);
    case BinaryOp::lt: return a < b;
    case BinaryOp::le: return a <= b;
    case BinaryOp::gt: return a > b;
    case BinaryOp::ge: return a >= b;
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::shl:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return binary_u64(op, as_unsigned(a), as_unsigned(b));
  }
  return 0;
}

Expr fold_ints(BinaryOp op, const IntConst& a, const IntConst& b) {
  const std::int64_t value = a.dtype == uint64
                                 ? binary_u64(op, as_unsigned(a.value), as_unsigned(b.value))
                                 : binary_i64(op, a.value, b.value);
  return gives_bool(op) ? truth(value != 0) : wrapped(value, a.dtype);
}

// ---- Floats ----
//
// float64 holds more than twice the bits of each narrower type, so rounding its result once more
// gives the correctly rounded one.

Expr fold_floats(BinaryOp op, const FloatConst& x, const FloatConst& y) {
  const double a = x.value;
  const double b = y.value;
  switch (op) {
    case BinaryOp::add: return rounded(a + b, x.dtype);
    case BinaryOp::sub: return rounded(a - b, x.dtype);
    case BinaryOp::mul: return rounded(a * b, x.dtype);
    case BinaryOp::div: return rounded(a / b, x.dtype);
    case BinaryOp::min: return rounded(tc_min_f64(a, b), x.dtype);
    case BinaryOp::max: return rounded(tc_max_f64(a, b), x.dtype);
    case BinaryOp::lt: return truth(a < b);
    case BinaryOp::le: return truth(a <= b);
    case BinaryOp::gt: return truth(a > b);
    case BinaryOp::ge: return truth(a >= b);
    case BinaryOp::eq: return truth(a == b);
    case BinaryOp::ne: return truth(a != b);
    case BinaryOp::mod:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: break;
  }
  return {};
}

Expr fold_float(UnaryOp op, const FloatConst& x) {
  // The sign that a negated NaN gets is the machine's.
  if (op == UnaryOp::neg && std::isnan(x.value)) return {};
  switch (op) {
    case UnaryOp::neg: return rounded(-x.value, x.dtype);
    case UnaryOp::abs: return rounded(tc_abs_f64(x.value), x.dtype);
    case UnaryOp::sqrt: return rounded(std::sqrt(x.value), x.dtype);
    case UnaryOp::floor: return rounded(std::floor(x.value), x.dtype);
    case UnaryOp::ceil: return rounded(std::ceil(x.value), x.dtype);
    case UnaryOp::logical_not:
    case UnaryOp::exp:
    case UnaryOp::exp2:
    case UnaryOp::log:
    case UnaryOp::log2:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh: break;
  }
  return {};
}

}  // namespace

Expr fold(UnaryOp op, const Expr& a) {
  if (const auto* x = as<FloatConst>(a)) return fold_float(op, *x);
  const auto* x = as<IntConst>(a);
  if (!x) return {};
  switch (op) {
    case UnaryOp::neg: return wrapped(as_signed(0 - as_unsigned(x->value)), x->dtype);
    case UnaryOp::logical_not: return truth(x->value == 0);
    case UnaryOp::abs:
      return is_unsigned_int(x->dtype) ? a : wrapped(tc_abs_i64(x->value), x->dtype);
    case UnaryOp::sqrt:
    case UnaryOp::exp:
    case UnaryOp::exp2:
    case UnaryOp::log:
    case UnaryOp::log2:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh:
    case UnaryOp::floor:
    case UnaryOp::ceil: break;
  }
  return {};
}

Expr fold(BinaryOp op, const Expr& a, const Expr& b) {
  const auto* x = as<IntConst>(a);
  const auto* y = as<IntConst>(b);
  if (x && y) return fold_ints(op, *x, *y);
  const auto* p = as<FloatConst>(a);
  const auto* q = as<FloatConst>(b);
  if (p && q) return fold_floats(op, *p, *q);
  return {};
}

Expr fold_cast(const Expr& a, DType dtype) {
  if (!as<IntConst>(a) && !as<FloatConst>(a)) return {};
  return from_value(numeric::cast(to_value(a), dtype));
}

bool overflows(UnaryOp op, std::int64_t a) {
  return (op == UnaryOp::neg || op == UnaryOp::abs) && a == INT64_MIN;
}

bool overflows(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (op == BinaryOp::add) return __builtin_add_overflow(a, b, &result);
  if (op == BinaryOp::sub) return __builtin_sub_overflow(a, b, &result);
  if (op == BinaryOp::mul) return __builtin_mul_overflow(a, b, &result);
  return op == BinaryOp::div && a == INT64_MIN && b == -1;
}

}  // namespace tilecopy::ir
