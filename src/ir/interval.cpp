#include "ir/interval.h"

#include <algorithm>
#include <bit>

namespace tilecopy::ir {
namespace {

int bit_width(Wide x) {
  const auto size = static_cast<unsigned __int128>(x < 0 ? -x : x);
  const auto high = static_cast<std::uint64_t>(size >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
}

Wide saturate(Wide x) { return std::clamp(x, -WideInterval::unbounded, WideInterval::unbounded); }

Wide product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (bit_width(a) + bit_width(b) <= 120) return saturate(a * b);
  return (a < 0) == (b < 0) ? WideInterval::unbounded : -WideInterval::unbounded;
}

// The interval when it fits the dtype; otherwise the operation may wrap to anything.
Interval unless_wrapped(const WideInterval& a, DType dtype) {
  const Interval range = range_of(dtype);
  // For uint64 the upper end is no limit, so that nothing is known to fit.
  if (dtype == uint64 || a.lo < range.lo || a.hi > range.hi) return range;
  return {static_cast<std::int64_t>(a.lo), static_cast<std::int64_t>(a.hi)};
}

WideInterval negated(const WideInterval& a) { return {-a.hi, -a.lo}; }

WideInterval hull_of(std::initializer_list<Wide> ends) { return {std::min(ends), std::max(ends)}; }

// Quotients by divisors of one sign are monotonic in each operand, so the corners hold the limits.
WideInterval quotients(const WideInterval& a, const WideInterval& b) {
  return hull_of(
      {floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo), floor_div(a.hi, b.hi)});
}

WideInterval divide(const WideInterval& a, const WideInterval& b) {
  WideInterval result = {0, 0};
  bool some = b.lo <= 0 && b.hi >= 0;  // x / 0 is 0
  auto include = [&](const WideInterval& part) {
    result = some ? WideInterval{std::min(result.lo, part.lo), std::max(result.hi, part.hi)} : part;
    some = true;
  };
  if (b.hi > 0) include(quotients(a, {std::max(b.lo, Wide{1}), b.hi}));
  if (b.lo < 0) include(quotients(a, {b.lo, std::min(b.hi, Wide{-1})}));
  return result;
}

Interval remainder(const Interval& a, const Interval& b) {
  if (b.is_point() && b.lo > 0) {
    const Wide first = floor_div(a.lo, b.lo);
    if (first == floor_div(a.hi, b.lo)) {
      const Wide base = first * b.lo;
      return {static_cast<std::int64_t>(a.lo - base), static_cast<std::int64_t>(a.hi - base)};
    }
  }
  Interval result = {0, 0};
  if (b.hi > 0) result.hi = a.lo >= 0 && b.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1;
  if (b.lo < 0) result.lo = b.lo + 1;
  return result;
}

Interval and_bits(const Interval& a, const Interval& b, DType dtype) {
  if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
  if (a.lo >= 0) return {0, a.hi};
  if (b.lo >= 0) return {0, b.hi};
  return range_of(dtype);
}

Interval or_bits(const Interval& a, const Interval& b, DType dtype) {
  if (a.lo < 0 || b.lo < 0) return range_of(dtype);
  const auto all = static_cast<std::uint64_t>(a.hi | b.hi);
  const int width = static_cast<int>(std::bit_width(all));
  return {0, width >= 63 ? Interval::max : (std::int64_t{1} << width) - 1};
}

Interval shift_right(const Interval& a, const Interval& b) {
  const Interval toward_zero = {std::min(a.lo, std::int64_t{0}), std::max(a.hi, std::int64_t{0})};
  if (b.lo < 0 || b.hi > 63) return toward_zero;
  return {std::min(a.lo >> b.lo, a.lo >> b.hi), std::max(a.hi >> b.lo, a.hi >> b.hi)};
}

Interval shift_left(const Interval& a, const Interval& b, DType dtype) {
  if (b.lo < 0 || b.hi >= bits(dtype) || b.hi > 62) return range_of(dtype);
  const WideInterval factors = {Wide{1} << b.lo, Wide{1} << b.hi};
  return unless_wrapped(widen(a) * factors, dtype);
}

// 1 when `yes` always holds, 0 when `no` always holds.
Interval truth(bool yes, bool no) { return {yes ? 1 : 0, no ? 0 : 1}; }

}  // namespace

Interval range_of(DType dtype) {
  if (dtype == bool_) return {0, 1};
  if (dtype == uint64) return {0, Interval::max};
  if (is_float(dtype) || dtype == int64) return {};
  const int width = bits(dtype);
  if (is_unsigned_int(dtype)) return {0, (std::int64_t{1} << width) - 1};
  const std::int64_t half = std::int64_t{1} << (width - 1);
  return {-half, half - 1};
}

Interval intersection(const Interval& a, const Interval& b) {
  const Interval both = {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.lo <= both.hi ? both : a;
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval apply(UnaryOp op, const Interval& a, DType dtype) {
  switch (op) {
    case UnaryOp::neg: return unless_wrapped(negated(widen(a)), dtype);
    case UnaryOp::logical_not: return {1 - a.hi, 1 - a.lo};
    case UnaryOp::abs: {
      const WideInterval x = widen(a);
      const Wide smallest = x.lo > 0 ? x.lo : x.hi < 0 ? -x.hi : Wide{0};
      return unless_wrapped({smallest, std::max(-x.lo, x.hi)}, dtype);
    }
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
  return range_of(dtype);
}

Interval apply(BinaryOp op, const Interval& a, const Interval& b, DType dtype) {
  const WideInterval x = widen(a);
  const WideInterval y = widen(b);
  switch (op) {
    case BinaryOp::add: return unless_wrapped(x + y, dtype);
    case BinaryOp::sub: return unless_wrapped(x + negated(y), dtype);
    case BinaryOp::mul: return unless_wrapped(x * y, dtype);
    case BinaryOp::div: return unless_wrapped(divide(x, y), dtype);
    case BinaryOp::mod: return remainder(a, b);
    case BinaryOp::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::shl: return shift_left(a, b, dtype);
    case BinaryOp::shr: return shift_right(a, b);
    case BinaryOp::bit_and: return and_bits(a, b, dtype);
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or: return or_bits(a, b, dtype);
    case BinaryOp::lt: return truth(a.hi < b.lo, a.lo >= b.hi);
    case BinaryOp::le: return truth(a.hi <= b.lo, a.lo > b.hi);
    case BinaryOp::gt: return truth(a.lo > b.hi, a.hi <= b.lo);
    case BinaryOp::ge: return truth(a.lo >= b.hi, a.hi < b.lo);
    case BinaryOp::eq: return truth(a == b && a.is_point(), a.hi < b.lo || b.hi < a.lo);
    case BinaryOp::ne: return truth(a.hi < b.lo || b.hi < a.lo, a == b && a.is_point());
    case BinaryOp::logical_and: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::logical_or: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  return range_of(dtype);
}

Interval cast_interval(const Interval& a, DType dtype) {
  const Interval range = range_of(dtype);
  return a.within(range) ? a : range;
}

WideInterval widen(const Interval& a) { return {a.lo, a.hi}; }

WideInterval operator+(const WideInterval& a, const WideInterval& b) {
  // An end at the limit stays there: what lies beyond it cannot be known to come back.
  WideInterval sum = {saturate(a.lo + b.lo), saturate(a.hi + b.hi)};
  if (a.lo <= -WideInterval::unbounded || b.lo <= -WideInterval::unbounded) {
    sum.lo = -WideInterval::unbounded;
  }
  if (a.hi >= WideInterval::unbounded || b.hi >= WideInterval::unbounded) {
    sum.hi = WideInterval::unbounded;
  }
  return sum;
}

WideInterval operator*(const WideInterval& a, const WideInterval& b) {
  return hull_of(
      {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)});
}

Wide floor_div(Wide a, Wide b) {
  // Almost every pair fits the machine's own division, which is several times as fast.
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  if (x == a && y == b && y != -1) return x / y - (x % y != 0 && (x < 0) != (y < 0));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

}  // namespace tilecopy::ir
