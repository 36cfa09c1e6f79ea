// 64-bit arithmetic that raises E0410 where it would overflow.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/diagnostic.h"

namespace tilecopy::layout {

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, Location where) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    raise(ErrorCode::E0410, where,
          {.needed = "sizes and offsets below 2^63",
           .found = fmt::format("{} + {} in a layout", a, b)});
  }
  return sum;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, Location where) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    raise(ErrorCode::E0410, where,
          {.needed = "sizes and offsets below 2^63",
           .found = fmt::format("{} * {} in a layout", a, b)});
  }
  return product;
}

/// For positive a and b.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a - 1) / b + 1; }

}  // namespace tilecopy::layout
