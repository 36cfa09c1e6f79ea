#include "ir/fold.h"

#include <cmath>

#include "ir/raw.h"
#include "ir/scalar.h"

namespace tilecopy::ir {
namespace {

using numeric::Value;

Expr from_value(Value value) {
  if (!is_float(value.dtype)) return raw::int_const(numeric::to_int(value), value.dtype);
  return raw::float_const(numeric::to_double(value), value.dtype);
}

bool is_constant(const Expr& e) { return as<IntConst>(e) || as<FloatConst>(e); }

Value to_value(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) return numeric::from_int(c->value, c->dtype);
  return numeric::from_double(get<FloatConst>(e).value, e.node()->dtype);
}

// Whether all targets give the same bits.
bool folds(UnaryOp op, const Expr& a) {
  switch (op) {
    case UnaryOp::neg: {
      // The sign that a negated NaN gets is the machine's.
      const auto* x = as<FloatConst>(a);
      return !x || !std::isnan(x->value);
    }
    case UnaryOp::abs:
    case UnaryOp::logical_not:
    case UnaryOp::sqrt:
    case UnaryOp::floor:
    case UnaryOp::ceil: return true;
    case UnaryOp::exp:
    case UnaryOp::exp2:
    case UnaryOp::log:
    case UnaryOp::log2:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh: break;
  }
  return false;
}

}  // namespace

Expr fold(UnaryOp op, const Expr& a) {
  if (!is_constant(a) || !folds(op, a)) return {};
  return from_value(apply(op, to_value(a)));
}

Expr fold(BinaryOp op, const Expr& a, const Expr& b) {
  if (!is_constant(a) || !is_constant(b)) return {};
  return from_value(apply(op, to_value(a), to_value(b)));
}

Expr fold_cast(const Expr& a, DType dtype) {
  if (!is_constant(a)) return {};
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
