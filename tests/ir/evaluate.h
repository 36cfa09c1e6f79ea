// The value of an integer or bool expression under an assignment, worked out in 128 bits: a second
// opinion, so it shares nothing with the folding and the facts that it judges.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>

#include "ir/node.h"

namespace tilecopy::ir::test {

using Assignment = std::map<const ExprNode*, std::int64_t>;
__extension__ using Wide128 = __int128;

/// As the dtype stores it: sign- or zero-extended, uint64 by its bits.
inline std::int64_t stored(Wide128 value, DType dtype) {
  if (dtype == bool_) return value != 0;
  const int shift = 64 - bits(dtype);
  const auto low = static_cast<std::uint64_t>(value) << shift;
  if (is_unsigned_int(dtype)) return static_cast<std::int64_t>(low >> shift);
  return static_cast<std::int64_t>(low) >> shift;
}

/// The number that is stored.
inline Wide128 number(std::int64_t value, DType dtype) {
  return dtype == uint64 ? Wide128{static_cast<std::uint64_t>(value)} : Wide128{value};
}

inline Wide128 floor_quotient(Wide128 a, Wide128 b) {
  if (b == 0) return 0;
  Wide128 q = a / b;
  while (q * b > a && b > 0) --q;
  while (q * b < a && b < 0) --q;
  return q;
}

inline Wide128 shifted(Wide128 a, Wide128 count, DType dtype, bool left) {
  if (count < 0) return 0;
  if (count >= bits(dtype)) return left || a >= 0 ? 0 : -1;
  for (Wide128 i = 0; i < count; ++i)
    a = left ? Wide128{stored(a * 2, dtype)} : floor_quotient(a, 2);
  return a;
}

inline Wide128 binary_value(BinaryOp op, Wide128 a, Wide128 b, DType dtype) {
  switch (op) {
    case BinaryOp::add: return a + b;
    case BinaryOp::sub: return a - b;
    // Modulo 2^64 is enough, and the full product may leave 128 bits.
    case BinaryOp::mul:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) *
                                       static_cast<std::uint64_t>(b));
    case BinaryOp::div: return floor_quotient(a, b);
    case BinaryOp::mod: return b == 0 ? 0 : a - b * floor_quotient(a, b);
    case BinaryOp::min: return a < b ? a : b;
    case BinaryOp::max: return a < b ? b : a;
    case BinaryOp::shl: return shifted(a, b, dtype, true);
    case BinaryOp::shr: return shifted(a, b, dtype, false);
    case BinaryOp::lt: return a < b;
    case BinaryOp::le: return a <= b;
    case BinaryOp::gt: return a > b;
    case BinaryOp::ge: return a >= b;
    case BinaryOp::eq: return a == b;
    case BinaryOp::ne: return a != b;
    case BinaryOp::bit_and: return a & b;
    case BinaryOp::bit_xor: return a ^ b;
    case BinaryOp::bit_or: return a | b;
    case BinaryOp::logical_and: return a != 0 && b != 0;
    case BinaryOp::logical_or: return a != 0 || b != 0;
  }
  throw std::logic_error("unknown operation");
}

inline std::int64_t evaluate(const Expr& e, const Assignment& values);

inline std::int64_t evaluate_unary(const Unary& u, const Assignment& values) {
  const Wide128 a = number(evaluate(u.a, values), u.a.dtype());
  if (u.op == UnaryOp::neg) return stored(-a, u.dtype);
  if (u.op == UnaryOp::abs) return stored(a < 0 ? -a : a, u.dtype);
  if (u.op == UnaryOp::logical_not) return a == 0;
  throw std::logic_error("an operation on floats");
}

/// Loads give numbers that depend on the buffer's name and the indices alone.
inline std::int64_t evaluate_load(const Load& l, const Assignment& values) {
  std::uint64_t hash = std::hash<std::string>()(l.buffer.name());
  for (const Expr& index : l.indices) {
    hash = (hash ^ static_cast<std::uint64_t>(evaluate(index, values))) * 0x9e3779b97f4a7c15u;
  }
  return stored(static_cast<std::int64_t>(hash >> 32), l.dtype);
}

inline std::int64_t evaluate(const Expr& e, const Assignment& values) {
  switch (e.node()->kind) {
    case ExprKind::IntConst: return get<IntConst>(e).value;
    case ExprKind::VarNode: return values.at(e.node());
    case ExprKind::Unary: return evaluate_unary(get<Unary>(e), values);
    case ExprKind::Binary: {
      const auto& b = get<Binary>(e);
      const DType operands = b.a.dtype();
      const Wide128 x = number(evaluate(b.a, values), operands);
      const Wide128 y = number(evaluate(b.b, values), operands);
      return stored(binary_value(b.op, x, y, operands), b.dtype);
    }
    case ExprKind::Select: {
      const auto& s = get<Select>(e);
      return evaluate(evaluate(s.condition, values) != 0 ? s.a : s.b, values);
    }
    case ExprKind::Cast: {
      const Expr& a = get<Cast>(e).a;
      return stored(number(evaluate(a, values), a.dtype()), e.dtype());
    }
    case ExprKind::Load: return evaluate_load(get<Load>(e), values);
    case ExprKind::FloatConst: break;
  }
  throw std::logic_error("a float");
}

}  // namespace tilecopy::ir::test
