// The divisions of generated CUDA C++, run on the host: exact for every dividend that matters.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

std::uint32_t __umulhi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}

std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{a} * b >> 64);
}

#define __device__
#define TC_INLINE inline
#include "codegen/cuda_division.cuh"
#undef TC_INLINE
#undef __device__

// Around every multiple that can go wrong: the first ones, the last ones, and random ones.
template <typename Int>
std::vector<Int> dividends(Int n) {
  constexpr Int most = std::numeric_limits<Int>::max();
  std::vector<Int> result;
  auto around = [&](Int multiple) {
    for (Int d : {-1, 0, 1}) {
      if (d > 0 ? multiple <= most - d : multiple >= -d) result.push_back(multiple + d);
    }
  };
  for (Int k = 0; k < 100 && k <= most / n; ++k) around(k * n);
  for (Int k = 0; k < 100 && k <= most / n; ++k) around((most / n - k) * n);
  for (int power = 0; power < std::numeric_limits<Int>::digits; ++power) around(Int{1} << power);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i)
    around(std::uniform_int_distribution<Int>(0, most / n)(random) * n);
  result.push_back(most);
  return result;
}

template <std::int64_t n>
void expect_exact() {
  if constexpr (n <= INT32_MAX) {
    for (int a : dividends<int>(n)) {
      ASSERT_EQ(tc_div<n>(a), a / n) << a << " / " << n;
      ASSERT_EQ(tc_mod<n>(a), a % n) << a << " % " << n;
    }
  }
  for (std::int64_t a : dividends<std::int64_t>(n)) {
    ASSERT_EQ(tc_div<n>(a), a / n) << a << " / " << n;
    ASSERT_EQ(tc_mod<n>(a), a % n) << a << " % " << n;
  }
}

template <std::int64_t... n>
void expect_all_exact() {
  (expect_exact<n>(), ...);
}

TEST(CudaDivision, IsExact) {
  expect_all_exact<3, 5, 6, 7, 9, 10, 11, 12, 13, 31, 33, 65, 127, 129, 130, 255, 257, 641, 1000,
                   4095, 4097, 65535, 65537, 1000003, 16777217, 715827883, 1073741823, 1073741825,
                   2147483646, 2147483647>();
  expect_all_exact<2147483649, 4294967295, 4294967297, 6700417, 1000000000000, 4611686018427387905,
                   9223372036854775806, 9223372036854775807>();
}

}  // namespace
