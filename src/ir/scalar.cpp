#include "ir/scalar.h"

#include <cmath>

#include "base/numeric.h"
#include "ir/raw.h"

namespace tilecopy::ir {
namespace {

using numeric::Value;

std::uint64_t as_unsigned(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::int64_t as_signed(std::uint64_t x) { return static_cast<std::int64_t>(x); }

Value truth(bool value) { return {bool_, value ? std::uint64_t{1} : 0}; }

// float64 holds more than twice the bits of each narrower type, so rounding its result once more
// gives the correctly rounded one.
Value rounded(double value, DType dtype) {
  return numeric::from_double(tc_canonical_f64(value), dtype);
}

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

Value apply_ints(BinaryOp op, Value a, Value b) {
  const std::int64_t value = a.dtype == uint64
                                 ? binary_u64(op, a.bits, b.bits)
                                 : binary_i64(op, numeric::to_int(a), numeric::to_int(b));
  return gives_bool(op) ? truth(value != 0) : numeric::from_int(value, a.dtype);
}

Value apply_int(UnaryOp op, Value a) {
  const std::int64_t value = numeric::to_int(a);
  switch (op) {
    case UnaryOp::neg: return numeric::from_int(as_signed(0 - as_unsigned(value)), a.dtype);
    case UnaryOp::logical_not: return truth(value == 0);
    case UnaryOp::abs:
      return is_unsigned_int(a.dtype) ? a : numeric::from_int(tc_abs_i64(value), a.dtype);
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
  return a;
}

// ---- Floats ----

Value apply_floats(BinaryOp op, DType dtype, double a, double b) {
  switch (op) {
    case BinaryOp::add: return rounded(a + b, dtype);
    case BinaryOp::sub: return rounded(a - b, dtype);
    case BinaryOp::mul: return rounded(a * b, dtype);
    case BinaryOp::div: return rounded(a / b, dtype);
    case BinaryOp::min: return rounded(tc_min_f64(a, b), dtype);
    case BinaryOp::max: return rounded(tc_max_f64(a, b), dtype);
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
  return rounded(0, dtype);
}

template <typename Float>
Float library(UnaryOp op, Float x) {
  switch (op) {
    case UnaryOp::exp: return std::exp(x);
    case UnaryOp::exp2: return std::exp2(x);
    case UnaryOp::log: return std::log(x);
    case UnaryOp::log2: return std::log2(x);
    case UnaryOp::sin: return std::sin(x);
    case UnaryOp::cos: return std::cos(x);
    case UnaryOp::tanh: return std::tanh(x);
    case UnaryOp::neg:
    case UnaryOp::logical_not:
    case UnaryOp::abs:
    case UnaryOp::sqrt:
    case UnaryOp::floor:
    case UnaryOp::ceil: break;
  }
  return x;
}

Value apply_float(UnaryOp op, Value a) {
  const double x = numeric::to_double(a);
  switch (op) {
    case UnaryOp::neg: return rounded(-x, a.dtype);
    case UnaryOp::abs: return rounded(tc_abs_f64(x), a.dtype);
    case UnaryOp::sqrt: return rounded(std::sqrt(x), a.dtype);
    case UnaryOp::floor: return rounded(std::floor(x), a.dtype);
    case UnaryOp::ceil: return rounded(std::ceil(x), a.dtype);
    case UnaryOp::exp:
    case UnaryOp::exp2:
    case UnaryOp::log:
    case UnaryOp::log2:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh: break;
    case UnaryOp::logical_not: return truth(x == 0);
  }
  // As generated code has it: narrower floats in float32.
  if (a.dtype == float64) return rounded(library(op, x), float64);
  return rounded(library(op, static_cast<float>(x)), a.dtype);
}

}  // namespace

Value apply(UnaryOp op, Value a) {
  return is_float(a.dtype) ? apply_float(op, a) : apply_int(op, a);
}

Value apply(BinaryOp op, Value a, Value b) {
  if (!is_float(a.dtype)) return apply_ints(op, a, b);
  return apply_floats(op, a.dtype, numeric::to_double(a), numeric::to_double(b));
}

}  // namespace tilecopy::ir
