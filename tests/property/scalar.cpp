#include "property/scalar.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace tilecopy::property {
namespace {

using Wide = unsigned __int128;

// ---- Exact numbers ----

/// A finite number is mantissa * 2^exponent.
struct Exact {
  enum Kind { finite, infinite, nan } kind = finite;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

/// A binary format: sign, `exponent_bits`, `mantissa_bits`.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  std::uint64_t largest;  ///< the magnitude bits of the largest finite number
  bool saturates;         ///< what is too large becomes the largest number, else infinity
  bool infinity = true;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t magnitude_mask() const {
    return (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
  }
  std::uint64_t infinity_bits() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case float8_e4m3fn: return {4, 3, 0x7e, true, false};
    case float8_e5m2: return {5, 2, 0x7b, true};
    case float16: return {5, 10, 0x7bff, false};
    case bfloat16: return {8, 7, 0x7f7f, false};
    case float32: return {8, 23, 0x7f7fffff, false};
    default: return {11, 52, 0x7fefffffffffffff, false};
  }
}

Exact decode_real(std::uint64_t bits, const Format& format) {
  const std::uint64_t magnitude = bits & format.magnitude_mask();
  Exact result;
  result.negative = magnitude != bits;
  if (magnitude > format.largest) {
    const bool infinite = format.infinity && magnitude == format.infinity_bits();
    result.kind = infinite ? Exact::infinite : Exact::nan;
    return result;
  }
  const int field = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const std::uint64_t hidden = field == 0 ? 0 : std::uint64_t{1} << format.mantissa_bits;
  result.mantissa = fraction | hidden;
  result.exponent = (field == 0 ? 1 : field) - format.bias() - format.mantissa_bits;
  return result;
}

int length(std::uint64_t bits) { return static_cast<int>(std::bit_width(bits)); }

// mantissa / 2^shift, rounded to nearest even.
std::uint64_t round_shift(std::uint64_t mantissa, int shift) {
  if (shift <= 0) return mantissa << -shift;
  if (shift > 65) return 0;
  const Wide value = mantissa;
  const Wide unit = Wide{1} << shift;
  const Wide rest = value % unit;
  const Wide half = unit / 2;
  Wide whole = value / unit;
  if (rest > half || (rest == half && whole % 2 == 1)) ++whole;
  return static_cast<std::uint64_t>(whole);
}

std::uint64_t encode_real(const Exact& number, const Format& format) {
  const std::uint64_t sign =
      number.negative ? std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const std::uint64_t too_large = format.saturates ? format.largest : format.infinity_bits();
  if (number.kind == Exact::nan) return format.magnitude_mask();
  if (number.kind == Exact::infinite) return sign | too_large;
  if (number.mantissa == 0) return sign;
  const int leading = number.exponent + length(number.mantissa) - 1;
  const int least = 1 - format.bias();
  // The exponent of the last bit that the format keeps of this number.
  int last = std::max(leading, least) - format.mantissa_bits;
  std::uint64_t kept = round_shift(number.mantissa, last - number.exponent);
  if (length(kept) > format.mantissa_bits + 1) {
    kept /= 2;
    ++last;
  }
  const std::uint64_t hidden = std::uint64_t{1} << format.mantissa_bits;
  if (kept < hidden) return sign | kept;
  const int field = last + format.mantissa_bits + format.bias();
  if (field >= 1 << format.exponent_bits) return sign | too_large;
  const std::uint64_t magnitude =
      (static_cast<std::uint64_t>(field) << format.mantissa_bits) | (kept - hidden);
  return sign | (magnitude > format.largest ? too_large : magnitude);
}

// ---- Integers ----

std::uint64_t low_bits(std::uint64_t bits, DType dtype) {
  const int width = 8 * width_of(dtype);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

// Sign- or zero-extended.
std::uint64_t extended(Scalar value) {
  const int spare = 64 - 8 * width_of(value.dtype);
  if (!is_signed(value.dtype)) return value.bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value.bits << spare) >> spare);
}

Scalar wrapped(std::uint64_t bits, DType dtype) { return {dtype, low_bits(bits, dtype)}; }
Scalar truth(bool value) { return {bool_, value ? 1u : 0u}; }

Exact exact(Scalar value) {
  if (is_real(value.dtype)) return decode_real(value.bits, format_of(value.dtype));
  const std::uint64_t bits = extended(value);
  const bool negative = is_signed(value.dtype) && static_cast<std::int64_t>(bits) < 0;
  return {Exact::finite, negative, negative ? 0 - bits : bits, 0};
}

Scalar truncated(const Exact& number, DType to) {
  if (number.kind == Exact::nan) return {to, 0};
  const int width = 8 * width_of(to);
  const Wide ceiling = Wide{1} << (is_signed(to) ? width - 1 : width);
  // The largest magnitude on this side of zero.
  const Wide limit = number.negative ? (is_signed(to) ? ceiling : 0) : ceiling - 1;
  Wide magnitude = number.mantissa;
  if (number.kind == Exact::infinite) {
    magnitude = limit;
  } else if (number.exponent > 0) {
    magnitude = number.exponent > 64 && number.mantissa != 0
                    ? limit
                    : magnitude << std::min(number.exponent, 64);
  } else {
    magnitude = number.exponent < -64 ? 0 : magnitude >> -number.exponent;
  }
  const auto bits = static_cast<std::uint64_t>(std::min(magnitude, limit));
  return wrapped(number.negative ? 0 - bits : bits, to);
}

// ---- Arithmetic on floats ----

double as_double(Scalar value) {
  const Scalar wide = convert(value, float64);
  return std::bit_cast<double>(wide.bits);
}

// float64 has more than twice the precision of the narrow floats, so that rounding its result again
// gives the correctly rounded one.
Scalar rounded(double value, DType dtype) {
  return convert({float64, std::bit_cast<std::uint64_t>(value)}, dtype);
}

Scalar rounded(float value, DType dtype) {
  return convert({float32, std::bit_cast<std::uint32_t>(value)}, dtype);
}

template <typename T>
T arithmetic(Op op, T a, T b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    default: return a / b;
  }
}

Scalar canonical_nan(DType dtype) { return {dtype, format_of(dtype).magnitude_mask()}; }

bool real_less(Scalar a, Scalar b) { return as_double(a) < as_double(b); }

// -0 is less than +0 here.
Scalar real_extreme(Op op, Scalar a, Scalar b) {
  if (is_nan(a) || is_nan(b)) return canonical_nan(a.dtype);
  const bool a_negative = std::signbit(as_double(a));
  const bool less = as_double(a) == as_double(b) ? a_negative : real_less(a, b);
  // As any result it is rounded, which takes the infinity from float8_e5m2.
  return rounded(as_double(less == (op == Op::min) ? a : b), a.dtype);
}

bool compare_reals(Op op, double a, double b) {
  switch (op) {
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    default: return a != b;
  }
}

Scalar apply_reals(Op op, Scalar a, Scalar b) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      if (a.dtype == float32) {
        return rounded(arithmetic(op, std::bit_cast<float>(static_cast<std::uint32_t>(a.bits)),
                                  std::bit_cast<float>(static_cast<std::uint32_t>(b.bits))),
                       float32);
      }
      return rounded(arithmetic(op, as_double(a), as_double(b)), a.dtype);
    case Op::min:
    case Op::max: return real_extreme(op, a, b);
    default: return truth(compare_reals(op, as_double(a), as_double(b)));
  }
}

// ---- Arithmetic on integers ----

std::uint64_t floor_divide(Op op, Scalar a, Scalar b) {
  using Signed = __int128;
  const bool with_sign = is_signed(a.dtype);
  const Signed x = with_sign ? Signed{static_cast<std::int64_t>(extended(a))} : Signed{extended(a)};
  const Signed y = with_sign ? Signed{static_cast<std::int64_t>(extended(b))} : Signed{extended(b)};
  if (y == 0) return 0;
  Signed quotient = x / y;
  if (quotient * y != x && (x < 0) != (y < 0)) --quotient;
  return static_cast<std::uint64_t>(op == Op::div ? quotient : x - quotient * y);
}

std::uint64_t shifted(Op op, Scalar a, Scalar b) {
  const std::uint64_t value = extended(a);
  const auto signed_value = static_cast<std::int64_t>(value);
  const auto count = static_cast<std::int64_t>(extended(b));
  const bool unsigned_count = !is_signed(b.dtype);
  if (count < 0 && !unsigned_count) return 0;
  const bool out = count < 0 || count >= 8 * width_of(a.dtype);
  if (op == Op::shl) return out ? 0 : value << count;
  if (!is_signed(a.dtype)) return out ? 0 : value >> count;
  return static_cast<std::uint64_t>(signed_value >> (out ? 63 : count));
}

bool integer_less(Scalar a, Scalar b) {
  if (!is_signed(a.dtype)) return a.bits < b.bits;
  return static_cast<std::int64_t>(extended(a)) < static_cast<std::int64_t>(extended(b));
}

Scalar apply_integers(Op op, Scalar a, Scalar b) {
  const std::uint64_t x = extended(a);
  const std::uint64_t y = extended(b);
  switch (op) {
    case Op::add: return wrapped(x + y, a.dtype);
    case Op::sub: return wrapped(x - y, a.dtype);
    case Op::mul: return wrapped(x * y, a.dtype);
    case Op::div:
    case Op::mod: return wrapped(floor_divide(op, a, b), a.dtype);
    case Op::min: return integer_less(a, b) ? a : b;
    case Op::max: return integer_less(a, b) ? b : a;
    case Op::shl:
    case Op::shr: return wrapped(shifted(op, a, b), a.dtype);
    case Op::bit_and: return {a.dtype, a.bits & b.bits};
    case Op::bit_or: return {a.dtype, a.bits | b.bits};
    case Op::bit_xor: return {a.dtype, a.bits ^ b.bits};
    case Op::lt: return truth(integer_less(a, b));
    case Op::le: return truth(!integer_less(b, a));
    case Op::gt: return truth(integer_less(b, a));
    case Op::ge: return truth(!integer_less(a, b));
    case Op::eq: return truth(a.bits == b.bits);
    case Op::ne: return truth(a.bits != b.bits);
    case Op::logical_and: return truth(a.bits != 0 && b.bits != 0);
    default: return truth(a.bits != 0 || b.bits != 0);
  }
}

}  // namespace

int width_of(DType dtype) {
  constexpr std::array widths = {1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 2, 2, 4, 8};
  return widths[static_cast<std::size_t>(dtype)];
}

bool is_real(DType dtype) { return dtype >= float8_e4m3fn; }
bool is_signed(DType dtype) { return dtype >= int8 && dtype <= int64; }

bool is_nan(Scalar value) { return is_real(value.dtype) && exact(value).kind == Exact::nan; }

Scalar from_int64(std::int64_t value, DType dtype) {
  return convert({int64, static_cast<std::uint64_t>(value)}, dtype);
}

Scalar from_double(double value, DType dtype) {
  return convert({float64, std::bit_cast<std::uint64_t>(value)}, dtype);
}

Scalar convert(Scalar value, DType to) {
  if (value.dtype == to) return value;
  const Exact number = exact(value);
  if (to == bool_) return truth(number.kind != Exact::finite || number.mantissa != 0);
  if (is_real(to)) return {to, encode_real(number, format_of(to))};
  if (is_real(value.dtype)) return truncated(number, to);
  return wrapped(extended(value), to);
}

std::int64_t to_int64(Scalar value) {
  return static_cast<std::int64_t>(convert(value, int64).bits);
}

Scalar apply(Op op, Scalar a) {
  if (op == Op::logical_not) return truth(a.bits == 0);
  if (!is_real(a.dtype)) {
    const std::uint64_t x = extended(a);
    const bool negative = is_signed(a.dtype) && static_cast<std::int64_t>(x) < 0;
    return wrapped(op == Op::neg || negative ? 0 - x : x, a.dtype);
  }
  if (is_nan(a)) return canonical_nan(a.dtype);
  const double x = as_double(a);
  switch (op) {
    case Op::neg: return rounded(-x, a.dtype);
    case Op::abs: return rounded(std::fabs(x), a.dtype);
    case Op::floor: return rounded(std::floor(x), a.dtype);
    default: return rounded(std::sqrt(x), a.dtype);
  }
}

Scalar apply(Op op, Scalar a, Scalar b) {
  return is_real(a.dtype) ? apply_reals(op, a, b) : apply_integers(op, a, b);
}

std::string to_string(Scalar value) {
  const int digits = 2 * width_of(value.dtype);
  if (is_real(value.dtype)) {
    return fmt::format("0x{:0{}x} ({})", value.bits, digits, as_double(value));
  }
  if (is_signed(value.dtype)) {
    return fmt::format("0x{:0{}x} ({})", value.bits, digits, to_int64(value));
  }
  return fmt::format("0x{:0{}x} ({})", value.bits, digits, value.bits);
}

}  // namespace tilecopy::property
