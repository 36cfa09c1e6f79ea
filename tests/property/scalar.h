// One element of any dtype in exact arithmetic: the tests' own statement of what a conversion and
// an operation mean. Must not use the compiler's: a shared mistake would pass unseen.
#pragma once

#include <cstdint>
#include <string>

#include "tilecopy/types.h"

namespace tilecopy::property {

/// The bits of an element, in the low bits of `bits`; those above are zero.
struct Scalar {
  DType dtype = int64;
  std::uint64_t bits = 0;

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

enum class Op : std::uint8_t {
  neg,
  abs,
  sqrt,
  floor,
  logical_not,
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  shl,
  shr,
  bit_and,
  bit_or,
  bit_xor,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
};

int width_of(DType dtype);  ///< in bytes
bool is_real(DType dtype);
bool is_signed(DType dtype);

Scalar from_int64(std::int64_t value, DType dtype);
Scalar from_double(double value, DType dtype);
Scalar convert(Scalar value, DType to);
std::int64_t to_int64(Scalar value);
bool is_nan(Scalar value);

Scalar apply(Op op, Scalar a);
/// The operands have one dtype; comparisons give a bool.
Scalar apply(Op op, Scalar a, Scalar b);

/// The bits and the number, for messages.
std::string to_string(Scalar value);

}  // namespace tilecopy::property
