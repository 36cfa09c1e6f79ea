// base/numeric.h against a reference that shares no arithmetic with it: every number is a long
// double, which holds all of ours exactly, and rounding is a search among the values of the result.
#include "base/numeric.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/numeric_value.h"

namespace tilecopy::numeric {
namespace {

static_assert(LDBL_MANT_DIG >= 64, "the reference needs all 64 bits of an int64");

constexpr std::array<const char*, dtype_count> short_names = {"b8",   "i8",  "i16",  "i32", "i64",
                                                              "u8",   "u16", "u32",  "u64", "e4m3",
                                                              "e5m2", "f16", "bf16", "f32", "f64"};

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < dtype_count; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

std::uint64_t low_mask(int count) { return count == 64 ? ~0ull : (1ull << count) - 1; }

// ---- the reference

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool saturates;  // at `largest`, instead of overflowing to infinity
  std::uint64_t largest;
  std::uint64_t first_nan;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t sign() const { return 1ull << (exponent_bits + mantissa_bits); }
  std::uint64_t nan() const { return sign() - 1; }
  std::uint64_t infinity() const { return largest + 1; }
  bool has_infinity() const { return first_nan == largest + 2; }

  // Of a code without its sign. One past the largest finite code gives the number that would come
  // next, were there no infinity.
  long double value(std::uint64_t code) const {
    const auto exponent = static_cast<int>(code >> mantissa_bits);
    const std::uint64_t fraction = code & low_mask(mantissa_bits);
    const std::uint64_t one = exponent == 0 ? 0 : 1ull << mantissa_bits;
    return std::ldexp(static_cast<long double>(fraction + one),
                      std::max(exponent, 1) - bias() - mantissa_bits);
  }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case float8_e4m3fn: return {4, 3, true, 0x7e, 0x7f};
    case float8_e5m2: return {5, 2, true, 0x7b, 0x7d};
    case float16: return {5, 10, false, 0x7bff, 0x7c01};
    case bfloat16: return {8, 7, false, 0x7f7f, 0x7f81};
    case float32: return {8, 23, false, 0x7f7fffff, 0x7f800001};
    default: return {11, 52, false, 0x7fefffffffffffff, 0x7ff0000000000001};
  }
}

struct Number {
  enum Kind { finite, infinite, nan } kind = finite;
  bool negative = false;
  long double size = 0;

  long double value() const { return negative ? -size : size; }
};

Number decode(DType dtype, std::uint64_t bits) {
  if (is_float(dtype)) {
    const Format format = format_of(dtype);
    const std::uint64_t code = bits & format.nan();
    const bool negative = (bits & format.sign()) != 0;
    if (code >= format.first_nan) return {Number::nan, negative, 0};
    if (format.has_infinity() && code == format.infinity()) return {Number::infinite, negative, 0};
    return {Number::finite, negative, format.value(code)};
  }
  const int width = tilecopy::bits(dtype);
  if (is_signed_int(dtype) && (bits >> (width - 1)) != 0) {
    const long double wrapped = std::ldexp(1.0L, width) - static_cast<long double>(bits);
    return {Number::finite, true, wrapped};
  }
  return {Number::finite, false, static_cast<long double>(bits)};
}

// Of the 8- and 16-bit formats, by code; the last entry is one past the largest finite value.
const std::vector<long double>& values_of(DType dtype) {
  static std::array<std::vector<long double>, dtype_count> tables;
  auto& table = tables[static_cast<std::size_t>(dtype)];
  if (table.empty() && tilecopy::bits(dtype) <= 16) {
    const Format format = format_of(dtype);
    for (std::uint64_t code = 0; code <= format.largest + 1; ++code) {
      table.push_back(format.value(code));
    }
  }
  return table;
}

// The code of the largest value that is not above `size`. Among the values of the wide formats it
// counts the steps from zero: the same number in each binade but the first, which has two.
std::uint64_t code_below(DType dtype, const Format& format, long double size) {
  const auto& table = values_of(dtype);
  if (!table.empty()) {
    return static_cast<std::uint64_t>(std::upper_bound(table.begin(), table.end(), size) -
                                      table.begin() - 1);
  }
  if (size == 0) return 0;
  const int binade = std::max(std::ilogb(size) + format.bias(), 1) - 1;
  const long double steps = std::ldexp(size, format.bias() + format.mantissa_bits - 1 - binade);
  return (static_cast<std::uint64_t>(binade) << format.mantissa_bits) +
         static_cast<std::uint64_t>(std::floor(steps));
}

std::uint64_t encode_float(DType dtype, const Number& number) {
  const Format format = format_of(dtype);
  if (number.kind == Number::nan) return format.nan();
  const std::uint64_t sign = number.negative ? format.sign() : 0;
  const std::uint64_t overflow = format.saturates ? format.largest : format.infinity();
  if (number.kind == Number::infinite) return sign | overflow;
  if (number.size >= format.value(format.largest + 1)) return sign | overflow;
  const std::uint64_t low = code_below(dtype, format, number.size);
  const long double below = number.size - format.value(low);
  const long double above = format.value(low + 1) - number.size;
  const bool up = below > above || (below == above && low % 2 == 1);
  const std::uint64_t nearest = low + up;
  return sign | (nearest > format.largest ? overflow : nearest);
}

std::uint64_t encode_int(DType dtype, const Number& number, bool wraps) {
  const int width = tilecopy::bits(dtype);
  if (number.kind == Number::nan) return 0;
  const long double low = is_signed_int(dtype) ? -std::ldexp(1.0L, width - 1) : 0;
  const long double high = std::ldexp(1.0L, is_signed_int(dtype) ? width - 1 : width) - 1;
  long double value = std::trunc(number.value());
  if (number.kind == Number::infinite) value = number.negative ? low : high;
  if (!wraps) value = std::clamp(value, low, high);
  return static_cast<std::uint64_t>(static_cast<__int128>(value)) & low_mask(width);
}

std::uint64_t reference_cast(DType from, std::uint64_t bits, DType to) {
  if (from == to) return bits;
  const Number number = decode(from, bits);
  if (to == bool_) return number.kind != Number::finite || number.size != 0;
  if (is_float(to)) return encode_float(to, number);
  return encode_int(to, number, !is_float(from));
}

// ---- inputs

using Inputs = std::vector<std::uint64_t>;

Inputs every_value(DType dtype) {
  Inputs inputs;
  const std::uint64_t count = dtype == bool_ ? 2 : 1ull << tilecopy::bits(dtype);
  for (std::uint64_t bits = 0; bits < count; ++bits) inputs.push_back(bits);
  return inputs;
}

// The bits of `value`, which must be one of the format's, and of its neighbours, with both signs.
void add_around(Inputs& inputs, DType dtype, long double value) {
  const std::uint64_t code = encode_float(dtype, {Number::finite, false, value});
  const std::uint64_t sign = format_of(dtype).sign();
  for (const std::uint64_t near : {code - 1, code, code + 1}) {
    if (code == 0 && near == code - 1) continue;
    inputs.push_back(near);
    inputs.push_back(near | sign);
  }
}

// Zero, the ends of the subnormal, normal and finite ranges, infinity, and NaNs of many payloads.
void add_specials(Inputs& inputs, DType dtype) {
  const Format format = format_of(dtype);
  const std::uint64_t step = 1ull << format.mantissa_bits;
  Inputs codes = {0, 1, 2, 3, step - 1, step, step + 1, format.largest - 1, format.largest};
  for (std::uint64_t code = format.infinity(); code < format.infinity() + 5; ++code) {
    codes.push_back(code);
  }
  for (int bit = 0; bit < format.mantissa_bits; ++bit) {
    codes.push_back(format.infinity() | 1ull << bit);
  }
  codes.push_back(format.nan());
  for (const std::uint64_t code : codes) {
    inputs.push_back(code);
    inputs.push_back(code | format.sign());
  }
}

// Around every value of every narrow format and every midpoint between two.
Inputs narrow_boundaries(DType dtype) {
  Inputs inputs;
  add_specials(inputs, dtype);
  for (const DType narrow : {float8_e4m3fn, float8_e5m2, float16, bfloat16}) {
    const auto& values = values_of(narrow);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      add_around(inputs, dtype, values[i]);
      add_around(inputs, dtype, (values[i] + values[i + 1]) / 2);
    }
    if (std::isfinite(static_cast<float>(values.back()))) add_around(inputs, dtype, values.back());
  }
  return inputs;
}

// Around the ends of every integer type.
void add_integer_ends(Inputs& inputs, DType dtype) {
  for (int power = 0; power <= 64; ++power) {
    for (const long double offset : {-1.0L, -0.5L, 0.0L, 0.5L, 1.0L}) {
      add_around(inputs, dtype, std::ldexp(1.0L, power) + offset);
    }
  }
}

__int128 to_int128(long double value) { return static_cast<__int128>(value); }

// Powers of two, and the values and midpoints of the float formats that fall among the integers.
std::vector<__int128> integer_boundaries(std::mt19937_64& random) {
  std::vector<__int128> numbers;
  const auto add = [&](__int128 number) {
    for (int offset = -2; offset <= 2; ++offset) {
      numbers.push_back(number + offset);
      numbers.push_back(-(number + offset));
    }
  };
  for (int power = 0; power <= 64; ++power) add(static_cast<__int128>(1) << power);
  for (const DType narrow : {float8_e4m3fn, float8_e5m2, float16, bfloat16}) {
    const auto& values = values_of(narrow);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      if (values[i] < 1 || values[i + 1] > 0x1p64L) continue;
      add(to_int128(values[i]));
      add(to_int128((values[i] + values[i + 1]) / 2));
    }
  }
  for (int i = 0; i < 8'000; ++i) {
    for (const DType wide : {float32, float64}) {
      const Format format = format_of(wide);
      const std::uint64_t exponent = static_cast<std::uint64_t>(format.bias()) + 20 + random() % 44;
      const std::uint64_t code =
          exponent << format.mantissa_bits | (random() & low_mask(format.mantissa_bits));
      add(to_int128(format.value(code)));
      add(to_int128((format.value(code) + format.value(code + 1)) / 2));
    }
  }
  return numbers;
}

void expect_casts(DType from, const Inputs& inputs) {
  for (const DType to : all_dtypes()) {
    for (const std::uint64_t bits : inputs) {
      const Value got = cast({from, bits}, to);
      const Value wanted{to, reference_cast(from, bits, to)};
      ASSERT_EQ(got, wanted) << fmt::format("{} {:#x} -> {}: {:#x}, not {:#x}", to_string(from),
                                            bits, to_string(to), got.bits, wanted.bits);
    }
  }
}

// ---- casts

TEST(NumericCasts, Examples) {
  struct Row {
    DType from;
    std::uint64_t bits;
    DType to;
    std::uint64_t wanted;
  };
  const Row rows[] = {
      {float32, 0x3f800000, float16, 0x3c00},  // 1
      {float32, 0x477fe000, float16, 0x7bff},  // 65504
      {float32, 0x477fefff, float16, 0x7bff},  // just under 65520
      {float32, 0x477ff000, float16, 0x7c00},  // 65520 overflows
      {float32, 0xffc12345, float16, 0x7fff},  // a NaN
      {float32, 0xffc12345, float64, 0x7fffffffffffffff},
      {float32, 0xffc12345, float32, 0xffc12345},  // a move
      {float16, 0xfe01, bfloat16, 0x7fff},
      {float16, 0x0001, float32, 0x33800000},      // 2^-24
      {float32, 0x43e80000, float8_e4m3fn, 0x7e},  // 464 saturates
      {float32, 0xff800000, float8_e4m3fn, 0xfe},  // -infinity too
      {float32, 0x7f800000, float8_e5m2, 0x7b},
      {float8_e5m2, 0x7c, float16, 0x7c00},  // a stored infinity is one
      {float8_e5m2, 0xfc, float8_e4m3fn, 0xfe},
      {float64, 0x3ff0020000000001, float16, 0x3c01},  // through float it would be the tie, 1
      {int64, 0x0100000100000001, float32, 0x5b800001},
      {int32, 0x00010100, bfloat16, 0x4780},  // 65792 is a tie
      {int32, 0x00010101, bfloat16, 0x4781},
      {int32, 65520, float16, 0x7c00},
      {int64, ~0ull, float8_e4m3fn, 0xb8},       // -1
      {float32, 0xc3000000, int8, 0x80},         // -128
      {float32, 0x4f000000, int32, 0x7fffffff},  // 2^31
      {float32, 0xbf7fffff, uint8, 0},           // -0.99
      {float64, 0x7ff8000000000000, int64, 0},
      {float64, 0x7ff8000000000000, bool_, 1},
      {float32, 0x80000000, bool_, 0},  // -0
      {int32, 0x00000100, bool_, 1},
      {int32, 0xfffffeff, int8, 0xff},
      {int8, 0x80, uint64, 0xffffffffffffff80},
      {bool_, 1, float8_e5m2, 0x3c},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(cast({row.from, row.bits}, row.to).bits, row.wanted)
        << to_string(row.from) << " " << fmt::format("{:#x}", row.bits) << " -> "
        << to_string(row.to);
    EXPECT_EQ(reference_cast(row.from, row.bits, row.to), row.wanted) << "the reference is wrong";
  }
}

TEST(NumericCasts, EveryValueOfEveryNarrowType) {
  for (const DType from : all_dtypes()) {
    if (tilecopy::bits(from) <= 16) expect_casts(from, every_value(from));
  }
}

TEST(NumericCasts, Float32Boundaries) {
  Inputs inputs = narrow_boundaries(float32);
  add_integer_ends(inputs, float32);
  expect_casts(float32, inputs);
}

TEST(NumericCasts, Float32Random) {
  std::mt19937_64 random(1);
  Inputs inputs(2'000'000);
  for (auto& bits : inputs) bits = random() & low_mask(32);
  expect_casts(float32, inputs);
}

TEST(NumericCasts, Float64Boundaries) {
  Inputs inputs = narrow_boundaries(float64);
  add_integer_ends(inputs, float64);
  expect_casts(float64, inputs);
}

// Near float's values and midpoints, and off a narrow format's midpoint by less than float sees.
TEST(NumericCasts, Float64DoubleRoundingTraps) {
  std::mt19937_64 random(2);
  Inputs inputs;
  const Format single = format_of(float32);
  for (int i = 0; i < 25'000; ++i) {
    const std::uint64_t code = random() % (single.largest + 1);
    add_around(inputs, float64, single.value(code));
    add_around(inputs, float64, (single.value(code) + single.value(code + 1)) / 2);
  }
  for (std::uint64_t code = 0; code < 100; ++code) {
    add_around(inputs, float64, single.value(code));
    add_around(inputs, float64, (single.value(code) + single.value(code + 1)) / 2);
    add_around(inputs, float64, single.value(single.largest - code));
  }
  for (const DType narrow : {float8_e4m3fn, float8_e5m2, float16, bfloat16}) {
    const auto& values = values_of(narrow);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const long double middle = (values[i] + values[i + 1]) / 2;
      for (const int power : {-26, -45}) {
        for (const long double offset : {1.0L, -1.0L}) {
          const auto off = static_cast<double>(middle + std::ldexp(offset * middle, power));
          inputs.push_back(std::bit_cast<std::uint64_t>(off));
          inputs.push_back(std::bit_cast<std::uint64_t>(-off));
        }
      }
    }
  }
  expect_casts(float64, inputs);
}

TEST(NumericCasts, Float64Random) {
  std::mt19937_64 random(3);
  Inputs inputs(500'000);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t exponent = 1023 - 160 + random() % 320;
    inputs[i] = i % 8 == 0 ? random() : (random() & ~(0x7ffull << 52)) | exponent << 52;
  }
  expect_casts(float64, inputs);
}

TEST(NumericCasts, Integers) {
  std::mt19937_64 random(4);
  std::vector<__int128> numbers = integer_boundaries(random);
  for (int i = 0; i < 100'000; ++i)
    numbers.push_back(static_cast<__int128>(random() >> random() % 64));
  for (const DType from : {int32, int64, uint32, uint64}) {
    Inputs inputs;
    for (const __int128 number : numbers) {
      inputs.push_back(static_cast<std::uint64_t>(number) & low_mask(tilecopy::bits(from)));
    }
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    expect_casts(from, inputs);
  }
}

TEST(NumericValue, FromAndToHostNumbers) {
  EXPECT_EQ(from_int(-1, uint16), (Value{uint16, 0xffff}));
  EXPECT_EQ(from_int(3, float16), (Value{float16, 0x4200}));
  EXPECT_EQ(from_int(7, bool_), (Value{bool_, 1}));
  EXPECT_EQ(from_double(0.1, float32), (Value{float32, 0x3dcccccd}));
  EXPECT_EQ(from_double(-1e300, float8_e4m3fn), (Value{float8_e4m3fn, 0xfe}));
  EXPECT_EQ(from_double(-1e300, int16), (Value{int16, 0x8000}));
  EXPECT_EQ(to_double({bfloat16, 0xbfc0}), -1.5);
  EXPECT_EQ(to_double({int8, 0xff}), -1);
  EXPECT_EQ(to_int({float64, 0xc004000000000000}), -2);
  EXPECT_EQ(to_int({uint64, ~0ull}), -1);
}

// ---- operations

// One type's functions.
template <typename T>
struct Operations {
  DType dtype;
  T (*floordiv)(T, T);
  T (*floormod)(T, T);
  T (*min)(T, T);
  T (*max)(T, T);
  T (*abs)(T);
  T (*shl)(T, std::int64_t);
  T (*shr)(T, std::int64_t);
};

#define OPERATIONS(type, dtype)                                                                 \
  Operations<tc_##type> {                                                                       \
    dtype, tc_floordiv_##type, tc_floormod_##type, tc_min_##type, tc_max_##type, tc_abs_##type, \
        tc_shl_##type, tc_shr_##type                                                            \
  }

template <typename T>
T wrap(__int128 number) {
  return static_cast<T>(static_cast<std::uint64_t>(number));
}

template <typename T>
void expect_division(const Operations<T>& of, T x, T y) {
  const T quotient = of.floordiv(x, y), rest = of.floormod(x, y);
  if (y == 0) {
    ASSERT_EQ(quotient, 0);
    ASSERT_EQ(rest, 0);
    return;
  }
  // The one rest in the divisor's half-open range that leaves a multiple of it.
  const __int128 wide_x = x, wide_y = y, wide_rest = rest;
  ASSERT_TRUE(wide_y > 0 ? 0 <= wide_rest && wide_rest < wide_y
                         : wide_y < wide_rest && wide_rest <= 0)
      << +x << " % " << +y << " = " << +rest;
  ASSERT_EQ((wide_x - wide_rest) % wide_y, 0) << +x << " % " << +y << " = " << +rest;
  ASSERT_EQ(quotient, wrap<T>((wide_x - wide_rest) / wide_y)) << +x << " / " << +y;
}

template <typename T>
void expect_shifts(const Operations<T>& of, T x, std::int64_t count) {
  const int width = tilecopy::bits(of.dtype);
  __int128 left = x, right = x;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, width); ++i) {
    left = wrap<T>(left * 2);
    right = (right - (right % 2 != 0 && right < 0)) / 2;
  }
  if (count < 0) left = right = 0;
  ASSERT_EQ(of.shl(x, count), wrap<T>(left)) << +x << " << " << count;
  ASSERT_EQ(of.shr(x, count), wrap<T>(right)) << +x << " >> " << count;
}

template <typename T>
void expect_operations(const Operations<T>& of) {
  std::mt19937_64 random(5);
  std::vector<T> numbers;
  if constexpr (sizeof(T) == 1) {
    for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<T>(i));
  } else {
    using Limits = std::numeric_limits<T>;
    for (const std::uint64_t end : {std::uint64_t{0}, static_cast<std::uint64_t>(Limits::min()),
                                    static_cast<std::uint64_t>(Limits::max())}) {
      for (std::uint64_t i = 0; i < 7; ++i) numbers.push_back(static_cast<T>(end + i - 3));
    }
    for (int i = 0; i < 400; ++i) numbers.push_back(static_cast<T>(random() >> random() % 64));
    for (int i = 0; i < 100; ++i)
      numbers.push_back(static_cast<T>(0 - (random() >> random() % 64)));
  }
  for (const T x : numbers) {
    ASSERT_EQ(of.abs(x), wrap<T>(x < 0 ? -static_cast<__int128>(x) : static_cast<__int128>(x)));
    for (const T y : numbers) {
      ASSERT_NO_FATAL_FAILURE(expect_division(of, x, y));
      ASSERT_EQ(of.min(x, y), std::min(x, y));
      ASSERT_EQ(of.max(x, y), std::max(x, y));
    }
    for (std::int64_t count = -70; count <= 130; ++count) {
      ASSERT_NO_FATAL_FAILURE(expect_shifts(of, x, count));
    }
    for (const std::int64_t count : {INT64_MIN, INT64_MIN + 1, INT64_C(1) << 32, INT64_MAX}) {
      ASSERT_NO_FATAL_FAILURE(expect_shifts(of, x, count));
    }
  }
}

TEST(NumericOperations, SignedIntegers) {
  expect_operations(OPERATIONS(i8, int8));
  expect_operations(OPERATIONS(i16, int16));
  expect_operations(OPERATIONS(i32, int32));
  expect_operations(OPERATIONS(i64, int64));
}

TEST(NumericOperations, UnsignedIntegers) {
  expect_operations(OPERATIONS(u8, uint8));
  expect_operations(OPERATIONS(u16, uint16));
  expect_operations(OPERATIONS(u32, uint32));
  expect_operations(OPERATIONS(u64, uint64));
}

TEST(NumericOperations, DivisionExamples) {
  EXPECT_EQ(tc_floordiv_i64(-7, 2), -4);
  EXPECT_EQ(tc_floormod_i64(-7, 2), 1);
  EXPECT_EQ(tc_floordiv_i64(7, -2), -4);
  EXPECT_EQ(tc_floormod_i64(7, -2), -1);
  EXPECT_EQ(tc_floordiv_i64(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(tc_floormod_i64(INT64_MIN, -1), 0);
  EXPECT_EQ(tc_floordiv_i8(-128, -1), -128);
  EXPECT_EQ(tc_floordiv_u64(UINT64_MAX, 2), UINT64_MAX >> 1);
}

// Ordered by code: numbers of one sign compare as their codes do.
template <typename Float>
void expect_min_max_abs(DType dtype, Float (*min)(Float, Float), Float (*max)(Float, Float),
                        Float (*abs)(Float)) {
  const Format format = format_of(dtype);
  std::mt19937_64 random(6);
  Inputs inputs;
  add_specials(inputs, dtype);
  for (int i = 0; i < 500; ++i) inputs.push_back(random() & (format.sign() | format.nan()));
  const auto as_float = [&](std::uint64_t bits) {
    Float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  };
  const auto as_bits = [&](Float x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
  };
  const auto is_nan = [&](std::uint64_t x) { return (x & format.nan()) >= format.first_nan; };
  const auto rank = [&](std::uint64_t x) {
    const auto size = static_cast<__int128>(x & format.nan());
    return (x & format.sign()) != 0 ? -1 - size : size;
  };
  for (const std::uint64_t x : inputs) {
    ASSERT_EQ(as_bits(abs(as_float(x))), is_nan(x) ? format.nan() : x & format.nan());
    for (const std::uint64_t y : inputs) {
      const bool either_nan = is_nan(x) || is_nan(y);
      const std::uint64_t lesser = rank(x) < rank(y) ? x : y, greater = rank(x) < rank(y) ? y : x;
      ASSERT_EQ(as_bits(min(as_float(x), as_float(y))), either_nan ? format.nan() : lesser);
      ASSERT_EQ(as_bits(max(as_float(x), as_float(y))), either_nan ? format.nan() : greater);
    }
  }
}

TEST(NumericOperations, FloatMinMaxAbs) {
  expect_min_max_abs<float>(float32, tc_min_f32, tc_max_f32, tc_abs_f32);
  expect_min_max_abs<double>(float64, tc_min_f64, tc_max_f64, tc_abs_f64);
}

// ---- the same text as C

class NumericAsC : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
    std::string pattern = (std::filesystem::temp_directory_path() / "numeric_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Compiles `text` with `flags` to folder_/out.
  int compile(const std::string& text, const std::string& flags) const {
    std::ofstream(folder_ / "numeric.c") << text;
    const std::string command =
        fmt::format("cc {} -I {}/src {}/numeric.c -o {}/out", flags, TILECOPY_SOURCE_DIR,
                    folder_.string(), folder_.string());
    return std::system(command.c_str());
  }

  std::filesystem::path folder_;
};

TEST_F(NumericAsC, C99WithoutWarnings) {
  const std::string text =
      "#include \"base/numeric.h\"\n#include \"base/numeric.h\"\n"
      "int main(void) { return tc_b8_from_e4m3(0); }\n";
  for (const char* standard : {"c99", "c17"}) {
    EXPECT_EQ(compile(text, fmt::format("-std={} -pedantic -Wall -Wextra -Wconversion "
                                        "-Wsign-conversion -Wshadow -Werror",
                                        standard)),
              0);
    EXPECT_EQ(std::system((folder_ / "out").c_str()), 0);
  }
}

// Loops over the C functions, optimised as the CPU target's are, agree with folding.
TEST_F(NumericAsC, OptimisedLoopsAgreeWithFolding) {
  std::string text = "#include \"base/numeric.h\"\n";
  for (const char* to : short_names) {
    for (const char* from : short_names) {
      text += fmt::format(
          "void {0}_from_{1}(tc_{0}* restrict to, const tc_{1}* restrict from, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; ++i) to[i] = tc_{0}_from_{1}(from[i]);\n}}\n",
          to, from);
    }
  }
  ASSERT_EQ(compile(text,
                    "-std=c11 -O3 -march=native -ffp-contract=off -fno-strict-aliasing "
                    "-fwrapv -shared -fPIC"),
            0);
  void* const library = dlopen((folder_ / "out").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  std::mt19937_64 random(7);
  for (const DType from : all_dtypes()) {
    Inputs inputs;
    if (tilecopy::bits(from) <= 16) inputs = every_value(from);
    if (is_float(from) && tilecopy::bits(from) > 16) add_specials(inputs, from);
    while (inputs.size() % 64 != 0 || inputs.size() < 50'000) {
      const std::uint64_t bits = random() >> (is_float(from) ? 0 : random() % 64);
      inputs.push_back(bits & low_mask(from == bool_ ? 1 : tilecopy::bits(from)));
    }
    const auto from_bytes = static_cast<std::size_t>(bytes(from));
    std::vector<unsigned char> source(inputs.size() * from_bytes);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(&source[i * from_bytes], &inputs[i], from_bytes);
    }
    for (const DType to : all_dtypes()) {
      const std::string name = fmt::format("{}_from_{}", short_names[static_cast<std::size_t>(to)],
                                           short_names[static_cast<std::size_t>(from)]);
      using Loop = void (*)(void*, const void*, std::int64_t);
      const auto loop = reinterpret_cast<Loop>(dlsym(library, name.c_str()));
      ASSERT_NE(loop, nullptr) << name;
      const auto to_bytes = static_cast<std::size_t>(bytes(to));
      std::vector<unsigned char> result(inputs.size() * to_bytes);
      loop(result.data(), source.data(), static_cast<std::int64_t>(inputs.size()));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::uint64_t got = 0;
        std::memcpy(&got, &result[i * to_bytes], to_bytes);
        ASSERT_EQ(got, cast({from, inputs[i]}, to).bits)
            << name << fmt::format(" {:#x}", inputs[i]);
      }
    }
  }
  dlclose(library);
}

}  // namespace
}  // namespace tilecopy::numeric
