#include "base/numeric_value.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "base/numeric.h"

namespace tilecopy::numeric {
namespace {

// A function of base/numeric.h, on bits.
using Cast = std::uint64_t (*)(std::uint64_t);

template <typename To, typename From, To (*function)(From)>
std::uint64_t on_bits(std::uint64_t bits) {
  static_assert(std::endian::native == std::endian::little, "the low bytes come first");
  From from;
  std::memcpy(&from, &bits, sizeof from);
  const To to = function(from);
  std::uint64_t result = 0;
  std::memcpy(&result, &to, sizeof to);
  return result;
}

#define CAST(to, from) on_bits<tc_##to, tc_##from, tc_##to##_from_##from>
#define CASTS_FROM(from)                                                                      \
  {                                                                                           \
    CAST(b8, from), CAST(i8, from), CAST(i16, from), CAST(i32, from), CAST(i64, from),        \
        CAST(u8, from), CAST(u16, from), CAST(u32, from), CAST(u64, from), CAST(e4m3, from),  \
        CAST(e5m2, from), CAST(f16, from), CAST(bf16, from), CAST(f32, from), CAST(f64, from) \
  }

// Rows are sources and columns destinations, both in the order of DType.
constexpr Cast casts[dtype_count][dtype_count] = {
    CASTS_FROM(b8),   CASTS_FROM(i8),  CASTS_FROM(i16),  CASTS_FROM(i32), CASTS_FROM(i64),
    CASTS_FROM(u8),   CASTS_FROM(u16), CASTS_FROM(u32),  CASTS_FROM(u64), CASTS_FROM(e4m3),
    CASTS_FROM(e5m2), CASTS_FROM(f16), CASTS_FROM(bf16), CASTS_FROM(f32), CASTS_FROM(f64),
};

#undef CAST
#undef CASTS_FROM

}  // namespace

Value cast(Value value, DType to) {
  // A move keeps every bit; a float passed by value need not keep a signalling NaN's.
  if (value.dtype == to) return value;
  const auto from_row = static_cast<std::size_t>(value.dtype);
  return {to, casts[from_row][static_cast<std::size_t>(to)](value.bits)};
}

Value from_int(std::int64_t number, DType dtype) {
  return cast({int64, std::bit_cast<std::uint64_t>(number)}, dtype);
}

Value from_double(double number, DType dtype) {
  return cast({float64, std::bit_cast<std::uint64_t>(number)}, dtype);
}

double to_double(Value value) { return std::bit_cast<double>(cast(value, float64).bits); }

std::int64_t to_int(Value value) { return std::bit_cast<std::int64_t>(cast(value, int64).bits); }

}  // namespace tilecopy::numeric
