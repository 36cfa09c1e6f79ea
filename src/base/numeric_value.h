// A scalar of any element type, converted exactly as generated code converts it: the values that
// constant folding works on. Must not define a rule of its own; the rules are base/numeric.h's.
#pragma once

#include <cstdint>

#include "tilecopy/types.h"

namespace tilecopy::numeric {

/// The bits of one element, in the low bits(dtype) of `bits`; those above are zero.
struct Value {
  DType dtype = int64;
  std::uint64_t bits = 0;

  /// Same type and same bits: a NaN equals itself, and -0 differs from 0.
  friend bool operator==(const Value&, const Value&) = default;
};

Value cast(Value value, DType to);

/// As a cast from int64 and from float64 does.
Value from_int(std::int64_t number, DType dtype);
Value from_double(double number, DType dtype);

/// As a cast to float64 and to int64 does: a large int64 rounds, a float is truncated and
/// saturates, a uint64 past the largest int64 wraps.
double to_double(Value value);
std::int64_t to_int(Value value);

}  // namespace tilecopy::numeric
