// Arithmetic on intervals: every result holds all values that operands in their intervals can give.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/node.h"

namespace tilecopy::ir {

/// All values from lo to hi; the int64 limits stand for "unbounded". Empty when lo > hi.
struct Interval {
  static constexpr std::int64_t min = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t lo = min;
  std::int64_t hi = max;

  bool is_point() const { return lo == hi; }
  bool contains(std::int64_t x) const { return lo <= x && x <= hi; }
  bool within(const Interval& other) const { return other.lo <= lo && hi <= other.hi; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The values of a dtype; unbounded above for uint64, and everything for floats.
Interval range_of(DType dtype);
/// The common part, or `a` when there is none: what follows from a contradiction does not matter,
/// but an empty interval would trip the arithmetic.
Interval intersection(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);

/// The results of an integer or bool operation whose values have this dtype.
Interval apply(UnaryOp op, const Interval& a, DType dtype);
Interval apply(BinaryOp op, const Interval& a, const Interval& b, DType dtype);

/// The values of an integer or bool cast to an integer dtype.
Interval cast_interval(const Interval& a, DType dtype);

// ---- Exact sums, which may leave int64 ----

__extension__ using Wide = __int128;

/// Saturating at plus and minus `unbounded`, which then means "no limit".
struct WideInterval {
  static constexpr Wide unbounded = Wide{1} << 100;
  Wide lo = -unbounded;
  Wide hi = unbounded;

  bool fits_int64() const { return lo >= Interval::min && hi <= Interval::max; }
};

WideInterval widen(const Interval& a);
WideInterval operator+(const WideInterval& a, const WideInterval& b);
WideInterval operator*(const WideInterval& a, const WideInterval& b);

Wide floor_div(Wide a, Wide b);

}  // namespace tilecopy::ir
