// What every scalar conversion and integer operation of tilecopy means, bit for bit. Constant
// folding calls these functions, the CPU target's C source contains this text, and CUDA C++ those
// functions that it uses (codegen/expand_macros.h): so it stays within what C99 and C++20 share,
// includes nothing but <stdint.h> and <string.h>, and must not hold anything that depends on the
// compiler's own state.
//
//   conversion       rule
//   float -> float   rounds once, to nearest even. A NaN becomes the one positive NaN with every
//                    mantissa bit set (0x7fffffff, 0x7fff, 0x7f ...), also when widening.
//     f16 bf16 f32     overflow to infinity; e5m2 holds an infinity, but none is made by rounding:
//     e4m3 e5m2        everything past the largest finite value, infinity too, becomes that value
//                      (448, 57344) with its sign.
//   int -> float     rounds once, to nearest even; overflow as above
//   float -> int     truncates toward zero, saturates at the range of the result; NaN is 0
//   int -> int       modulo 2^bits
//   any -> bool      x != 0; NaN is true, -0 is false. A stored bool is 0 or 1, nothing else.
//   bool -> any      0 or 1
//   same type        the bits, untouched
//
//   operation        rule
//   floordiv         rounds down; x / 0 = 0; the minimum / -1 wraps to itself
//   floormod         has the divisor's sign; x % 0 = 0
//   min max (float)  NaN, the one above, if either is; -0 < +0
//   abs              of the integer minimum is itself; of a float clears the sign; NaN as above
//   shl shr          a negative count gives 0; one of the width or more gives 0, or copies of the
//                    sign for the right shift of a signed number
//
// A float type narrower than float is held as its bits. Nothing here reads or sets the rounding
// mode: the default one is assumed, without flushing of subnormal numbers.
#ifndef TILECOPY_BASE_NUMERIC_H
#define TILECOPY_BASE_NUMERIC_H

#include <stdint.h>
#include <string.h>

typedef uint8_t tc_b8;
typedef int8_t tc_i8;
typedef int16_t tc_i16;
typedef int32_t tc_i32;
typedef int64_t tc_i64;
typedef uint8_t tc_u8;
typedef uint16_t tc_u16;
typedef uint32_t tc_u32;
typedef uint64_t tc_u64;
typedef uint8_t tc_e4m3;
typedef uint8_t tc_e5m2;
typedef uint16_t tc_f16;
typedef uint16_t tc_bf16;
typedef float tc_f32;
typedef double tc_f64;

static inline uint32_t tc_bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float tc_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint64_t tc_bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double tc_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// NOTE: conditions become masks throughout. The compiler moves floating-point work that only one
// arm of a ?: needs into that arm, and then the loop around it no longer vectorises.
static inline uint32_t tc_mask32(int condition) { return 0 - (uint32_t)condition; }
static inline uint64_t tc_mask64(int condition) { return 0 - (uint64_t)condition; }

// x, or the one NaN. Arithmetic's NaNs differ by machine; this makes their bits agree.
static inline float tc_canonical_f32(float x) {
  const uint32_t not_nan = tc_mask32(x == x);
  return tc_f32_of_bits((tc_bits_of_f32(x) & not_nan) | (0x7fffffffu & ~not_nan));
}

static inline double tc_canonical_f64(double x) {
  const uint64_t not_nan = tc_mask64(x == x);
  return tc_f64_of_bits((tc_bits_of_f64(x) & not_nan) | (0x7fffffffffffffffu & ~not_nan));
}

// ---- between float and the narrower floats
//
//   float    s eeeeeeee mmmmmmm...m     `drop` low mantissa bits go away or come back,
//   narrow   s    eeeee mmmm            and the exponent bias differs by `rebias`.

// `largest` is the float at which the result saturates; `nan` has every bit but the sign.
static inline uint32_t tc_narrow_f32(float x, uint32_t drop, uint32_t rebias, uint32_t largest,
                                     uint32_t nan) {
  const uint32_t bits = tc_bits_of_f32(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t is_nan = tc_mask32(magnitude > 0x7f800000u);
  const uint32_t sign = (bits >> 31) * (nan + 1);
  const uint32_t clamped = magnitude < largest ? magnitude : largest;
  const uint32_t smallest = (rebias + 1) << 23;
  const uint32_t exponent = (clamped > smallest ? clamped : smallest) & 0x7f800000u;
  // A power of two whose last mantissa bit is worth the last bit of the result: adding it rounds.
  const uint32_t power = exponent + (drop << 23);
  const uint32_t steps = tc_bits_of_f32(tc_f32_of_bits(clamped) + tc_f32_of_bits(power)) - power;
  // The leading one in `steps`, absent from a subnormal, adds one to the exponent.
  const uint32_t finite = ((exponent - smallest) >> drop) + steps;
  return finite | (sign & ~is_nan) | (nan & is_nan);
}

// `infinite` is the first magnitude with the exponent of infinity, `last` the last that is no NaN.
static inline float tc_widen_f32(uint32_t x, uint32_t drop, uint32_t rebias, uint32_t infinite,
                                 uint32_t last, uint32_t nan) {
  const uint32_t magnitude = x & nan;
  const uint32_t is_nan = tc_mask32(magnitude > last);
  const uint32_t sign = (x & (nan + 1)) * (0x80000000u / (nan + 1));
  const uint32_t shifted = magnitude << drop;
  const uint32_t is_subnormal = tc_mask32(shifted < (1u << 23));
  const uint32_t rebiased =
      shifted + (rebias << 23) + (tc_mask32(magnitude >= infinite) & (rebias << 23));
  // A subnormal number is lent the leading one that it lacks, and gives it back: both are exact.
  const uint32_t lent = rebiased + (is_subnormal & (1u << 23));
  const uint32_t one = is_subnormal & ((rebias + 1) << 23);
  const uint32_t number = tc_bits_of_f32(tc_f32_of_bits(lent) - tc_f32_of_bits(one)) | sign;
  return tc_f32_of_bits((number & ~is_nan) | (0x7fffffffu & is_nan));
}

static inline tc_f16 tc_f16_from_f32(tc_f32 x) {
  return (tc_f16)tc_narrow_f32(x, 13, 127 - 15, 0x47800000u, 0x7fff);
}

static inline tc_e4m3 tc_e4m3_from_f32(tc_f32 x) {
  return (tc_e4m3)tc_narrow_f32(x, 20, 127 - 7, 0x43e00000u, 0x7f);
}

static inline tc_e5m2 tc_e5m2_from_f32(tc_f32 x) {
  return (tc_e5m2)tc_narrow_f32(x, 21, 127 - 15, 0x47600000u, 0x7f);
}

static inline tc_f32 tc_f32_from_f16(tc_f16 x) {
  return tc_widen_f32(x, 13, 127 - 15, 0x7c00, 0x7c00, 0x7fff);
}

static inline tc_f32 tc_f32_from_e4m3(tc_e4m3 x) {
  return tc_widen_f32(x, 20, 127 - 7, 0x80, 0x7e, 0x7f);
}

static inline tc_f32 tc_f32_from_e5m2(tc_e5m2 x) {
  return tc_widen_f32(x, 21, 127 - 15, 0x7c, 0x7c, 0x7f);
}

// The exponents agree, so a carry out of the mantissa does everything, up to infinity.
static inline tc_bf16 tc_bf16_from_f32(tc_f32 x) {
  const uint32_t bits = tc_bits_of_f32(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  const uint32_t is_nan = tc_mask32((bits & 0x7fffffffu) > 0x7f800000u);
  return (tc_bf16)((rounded & ~is_nan) | (0x7fffu & is_nan));
}

static inline tc_f32 tc_f32_from_bf16(tc_bf16 x) {
  const uint32_t bits = (uint32_t)x << 16;
  const uint32_t is_nan = tc_mask32((bits & 0x7fffffffu) > 0x7f800000u);
  return tc_f32_of_bits((bits & ~is_nan) | (0x7fffffffu & is_nan));
}

// ---- double and the 64-bit integers
//
// On the way to a type narrower than float they pass through a wider type than the result's. Were
// both steps to round to nearest, a value just off a tie could land on the tie and then go the
// wrong way. The first step rounds to odd instead: of the two neighbours of an inexact value it
// takes the one whose last bit is set, which is never a tie (two spare bits suffice).

static inline tc_f32 tc_f32_from_f64(tc_f64 x) { return tc_canonical_f32((float)x); }

static inline tc_f64 tc_f64_from_f32(tc_f32 x) { return tc_canonical_f64((double)x); }

static inline tc_f32 tc_odd_f32_from_f64(tc_f64 x) {
  const float nearest = (float)x;
  const double back = (double)nearest;
  const uint64_t size = tc_bits_of_f64(x) & 0x7fffffffffffffffu;
  const uint64_t size_back = tc_bits_of_f64(back) & 0x7fffffffffffffffu;
  // A NaN is inexact as well, and stays one.
  return tc_f32_of_bits((tc_bits_of_f32(nearest) - (uint32_t)(size_back > size)) |
                        (uint32_t)(back != x));
}

// Beyond 2^53 the low 12 bits give way to one that says whether they held anything. In two's
// complement that is rounding to odd too.
static inline uint64_t tc_odd_bits(uint64_t x) {
  return (x | ((x & 0xfffu) + 0xfffu)) & ~(uint64_t)0xfffu;
}

static inline tc_f64 tc_odd_f64_from_u64(tc_u64 x) {
  return (double)(x >> 53 == 0 ? x : tc_odd_bits(x));
}

static inline tc_f64 tc_odd_f64_from_i64(tc_i64 x) {
  const uint64_t bits = (uint64_t)x;
  const uint64_t limit = (uint64_t)1 << 53;
  return (double)(int64_t)(bits + limit <= 2 * limit ? bits : tc_odd_bits(bits));
}

// ---- the table tc_<to>_from_<from>, all pairs and the identities
//
//   from                  to narrow floats, rounding once    to all else
//   b8 i8 i16 u8 u16      by way of f32 (exact)              as C does; b8 compares with 0
//   i32 u32               by way of f64 (exact)              likewise
//   i64 u64               by way of f64, rounded to odd      likewise
//   e4m3 e5m2 f16 bf16    by way of f32 (exact)              by way of f32 (exact)
//   f32                   above                              saturating
//   f64                   by way of f32, rounded to odd      saturating

#define TC_CAST(to, from, value) \
  static inline tc_##to tc_##to##_from_##from(tc_##from x) { return value; }
#define TC_CONVERT(to, from) TC_CAST(to, from, (tc_##to)x)
#define TC_VIA(to, by, from) TC_CAST(to, from, tc_##to##_from_##by(tc_##by##_from_##from(x)))
// `call` is f32(...) or f64(...): the rest of the name and the argument of the last rounding.
// clang-format off
#define TC_NARROW_FLOATS(from, call)       \
  TC_CAST(e4m3, from, tc_e4m3_from_##call) \
  TC_CAST(e5m2, from, tc_e5m2_from_##call) \
  TC_CAST(f16, from, tc_f16_from_##call)   \
  TC_CAST(bf16, from, tc_bf16_from_##call)
#define TC_FROM_INTEGER(from)                                                            \
  TC_CONVERT(i8, from) TC_CONVERT(i16, from) TC_CONVERT(i32, from) TC_CONVERT(i64, from) \
  TC_CONVERT(u8, from) TC_CONVERT(u16, from) TC_CONVERT(u32, from) TC_CONVERT(u64, from) \
  TC_CONVERT(f32, from) TC_CONVERT(f64, from)                                            \
  TC_CAST(b8, from, (tc_b8)(x != 0))
#define TC_FROM_NARROW_FLOAT(from)                                                       \
  TC_VIA(i8, f32, from) TC_VIA(i16, f32, from) TC_VIA(i32, f32, from)                    \
  TC_VIA(i64, f32, from) TC_VIA(u8, f32, from) TC_VIA(u16, f32, from)                    \
  TC_VIA(u32, f32, from) TC_VIA(u64, f32, from)                                          \
  TC_VIA(f64, f32, from) TC_VIA(b8, f32, from)
// clang-format on

TC_FROM_INTEGER(b8)
TC_FROM_INTEGER(i8)
TC_FROM_INTEGER(i16)
TC_FROM_INTEGER(i32)
TC_FROM_INTEGER(i64)
TC_FROM_INTEGER(u8)
TC_FROM_INTEGER(u16)
TC_FROM_INTEGER(u32)
TC_FROM_INTEGER(u64)

TC_NARROW_FLOATS(b8, f32((float)x))
TC_NARROW_FLOATS(i8, f32((float)x))
TC_NARROW_FLOATS(i16, f32((float)x))
TC_NARROW_FLOATS(u8, f32((float)x))
TC_NARROW_FLOATS(u16, f32((float)x))
TC_NARROW_FLOATS(f64, f32(tc_odd_f32_from_f64(x)))
TC_NARROW_FLOATS(i32, f64((double)x))
TC_NARROW_FLOATS(u32, f64((double)x))
TC_NARROW_FLOATS(i64, f64(tc_odd_f64_from_i64(x)))
TC_NARROW_FLOATS(u64, f64(tc_odd_f64_from_u64(x)))

// `high` is the last number of the source type within the range, and `rest` what the range has
// beyond it. A NaN is clamped like a number, so that the conversion is defined, and masked away.
#define TC_SATURATE(to, from, low, high, rest)                                          \
  static inline tc_##to tc_##to##_from_##from(tc_##from x) {                            \
    const tc_##from above = x > low ? x : low;                                          \
    const tc_##from inside = above < high ? above : high;                               \
    const tc_##to beyond = (tc_##to)(x > high ? rest : 0);                              \
    return (tc_##to)((tc_##to)((tc_##to)inside + beyond) & (tc_##to)tc_mask64(x == x)); \
  }
TC_SATURATE(i8, f32, -128.0f, 127.0f, 0)
TC_SATURATE(i16, f32, -32768.0f, 32767.0f, 0)
TC_SATURATE(i32, f32, -2147483648.0f, 2147483520.0f, 127)
TC_SATURATE(i64, f32, -9223372036854775808.0f, 9223371487098961920.0f, 549755813887)
TC_SATURATE(u8, f32, 0.0f, 255.0f, 0)
TC_SATURATE(u16, f32, 0.0f, 65535.0f, 0)
TC_SATURATE(u32, f32, 0.0f, 4294967040.0f, 255)
TC_SATURATE(u64, f32, 0.0f, 18446742974197923840.0f, 1099511627775)
TC_SATURATE(i8, f64, -128.0, 127.0, 0)
TC_SATURATE(i16, f64, -32768.0, 32767.0, 0)
TC_SATURATE(i32, f64, -2147483648.0, 2147483647.0, 0)
TC_SATURATE(i64, f64, -9223372036854775808.0, 9223372036854774784.0, 1023)
TC_SATURATE(u8, f64, 0.0, 255.0, 0)
TC_SATURATE(u16, f64, 0.0, 65535.0, 0)
TC_SATURATE(u32, f64, 0.0, 4294967295.0, 0)
TC_SATURATE(u64, f64, 0.0, 18446744073709549568.0, 2047)
TC_CAST(b8, f32, (tc_b8)((tc_bits_of_f32(x) & 0x7fffffffu) != 0))
TC_CAST(b8, f64, (tc_b8)((tc_bits_of_f64(x) & 0x7fffffffffffffffu) != 0))

TC_FROM_NARROW_FLOAT(e4m3)
TC_FROM_NARROW_FLOAT(e5m2)
TC_FROM_NARROW_FLOAT(f16)
TC_FROM_NARROW_FLOAT(bf16)

TC_VIA(e5m2, f32, e4m3)
TC_VIA(f16, f32, e4m3)
TC_VIA(bf16, f32, e4m3)
TC_VIA(e4m3, f32, e5m2)
TC_VIA(f16, f32, e5m2)
TC_VIA(bf16, f32, e5m2)
TC_VIA(e4m3, f32, f16)
TC_VIA(e5m2, f32, f16)
TC_VIA(bf16, f32, f16)
TC_VIA(e4m3, f32, bf16)
TC_VIA(e5m2, f32, bf16)
TC_VIA(f16, f32, bf16)

TC_CAST(e4m3, e4m3, x)
TC_CAST(e5m2, e5m2, x)
TC_CAST(f16, f16, x)
TC_CAST(bf16, bf16, x)
TC_CAST(f32, f32, x)
TC_CAST(f64, f64, x)

// ---- operations

static inline tc_i64 tc_floordiv_i64(tc_i64 x, tc_i64 y) {
  if (y == 0) return 0;
  if (y == -1) return (int64_t)(0 - (uint64_t)x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static inline tc_i64 tc_floormod_i64(tc_i64 x, tc_i64 y) {
  if (y == 0 || y == -1) return 0;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static inline tc_u64 tc_floordiv_u64(tc_u64 x, tc_u64 y) { return y == 0 ? 0 : x / y; }

static inline tc_u64 tc_floormod_u64(tc_u64 x, tc_u64 y) { return y == 0 ? 0 : x % y; }

// Narrower division happens at 64 bits; the cast back wraps the one quotient that does not fit.
#define TC_DIVIDE(type, wide)                                            \
  static inline tc_##type tc_floordiv_##type(tc_##type x, tc_##type y) { \
    return (tc_##type)tc_floordiv_##wide(x, y);                          \
  }                                                                      \
  static inline tc_##type tc_floormod_##type(tc_##type x, tc_##type y) { \
    return (tc_##type)tc_floormod_##wide(x, y);                          \
  }
TC_DIVIDE(i8, i64)
TC_DIVIDE(i16, i64)
TC_DIVIDE(i32, i64)
TC_DIVIDE(u8, u64)
TC_DIVIDE(u16, u64)
TC_DIVIDE(u32, u64)

#define TC_INTEGER_OPERATIONS(type, bits)                                                   \
  static inline tc_##type tc_min_##type(tc_##type x, tc_##type y) { return x < y ? x : y; } \
  static inline tc_##type tc_max_##type(tc_##type x, tc_##type y) { return x > y ? x : y; } \
  static inline tc_##type tc_abs_##type(tc_##type x) {                                      \
    return (tc_##type)(x > 0 ? (uint64_t)x : 0 - (uint64_t)x);                              \
  }                                                                                         \
  static inline tc_##type tc_shl_##type(tc_##type x, int64_t count) {                       \
    return (tc_##type)(count >= 0 && count < bits ? (uint64_t)x << (count & 63) : 0);       \
  }
TC_INTEGER_OPERATIONS(i8, 8)
TC_INTEGER_OPERATIONS(i16, 16)
TC_INTEGER_OPERATIONS(i32, 32)
TC_INTEGER_OPERATIONS(i64, 64)
TC_INTEGER_OPERATIONS(u8, 8)
TC_INTEGER_OPERATIONS(u16, 16)
TC_INTEGER_OPERATIONS(u32, 32)
TC_INTEGER_OPERATIONS(u64, 64)

// NOTE: C99 leaves the right shift of a negative number to the compiler; all of ours copy its sign.
#define TC_SHIFT_RIGHT(type, if_all_shifted_out)                                       \
  static inline tc_##type tc_shr_##type(tc_##type x, int64_t count) {                  \
    const int64_t bits = 8 * (int64_t)sizeof x;                                        \
    if (count < 0) return 0;                                                           \
    return (tc_##type)(count < bits ? x >> (count & (bits - 1)) : if_all_shifted_out); \
  }
TC_SHIFT_RIGHT(i8, x >> 7)
TC_SHIFT_RIGHT(i16, x >> 15)
TC_SHIFT_RIGHT(i32, x >> 31)
TC_SHIFT_RIGHT(i64, x >> 63)
TC_SHIFT_RIGHT(u8, 0)
TC_SHIFT_RIGHT(u16, 0)
TC_SHIFT_RIGHT(u32, 0u)
TC_SHIFT_RIGHT(u64, 0u)

// Equal numbers differ in nothing but a zero's sign, which | keeps for min and & drops for max.
#define TC_FLOAT_OPERATIONS(type, word, size_mask)                                     \
  static inline tc_##type tc_min_##type(tc_##type x, tc_##type y) {                    \
    const word a = tc_bits_of_##type(x);                                               \
    const word b = tc_bits_of_##type(y);                                               \
    const word least = x == y ? a | b : x < y ? a : b;                                 \
    return tc_##type##_of_bits(((x == x) & (y == y)) ? least : size_mask);             \
  }                                                                                    \
  static inline tc_##type tc_max_##type(tc_##type x, tc_##type y) {                    \
    const word a = tc_bits_of_##type(x);                                               \
    const word b = tc_bits_of_##type(y);                                               \
    const word most = x == y ? a & b : x > y ? a : b;                                  \
    return tc_##type##_of_bits(((x == x) & (y == y)) ? most : size_mask);              \
  }                                                                                    \
  static inline tc_##type tc_abs_##type(tc_##type x) {                                 \
    return tc_canonical_##type(tc_##type##_of_bits(tc_bits_of_##type(x) & size_mask)); \
  }
TC_FLOAT_OPERATIONS(f32, uint32_t, 0x7fffffffu)
TC_FLOAT_OPERATIONS(f64, uint64_t, 0x7fffffffffffffffu)

#undef TC_CAST
#undef TC_CONVERT
#undef TC_VIA
#undef TC_NARROW_FLOATS
#undef TC_FROM_INTEGER
#undef TC_SATURATE
#undef TC_FROM_NARROW_FLOAT
#undef TC_DIVIDE
#undef TC_INTEGER_OPERATIONS
#undef TC_SHIFT_RIGHT
#undef TC_FLOAT_OPERATIONS

#endif  // TILECOPY_BASE_NUMERIC_H
