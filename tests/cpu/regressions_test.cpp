// Faults that random kernels once found on the cpu target, as small as they became.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

CompiledKernel compile_quickly(const Function& function) {
  return compile(function, "cpu", {.opt_level = 1, .use_cache = false});
}

// A row whose destination lies beyond the tensor ends before it begins: a run of negative length.
TEST(Regressions, RunClippedAwayMovesNothing) {
  const Function f = function("clipped_run", [&] {
    Buffer b = tensor("B", {65, 5}, uint8);
    auto [bx] = kernel({7});
    Buffer tile = alloc_shared({8, 65}, uint8);
    fill(tile, 7);
    copy(tile, b(range(0, 8), range(bx * 2, bx * 2 + 65)));
  });
  const CompiledKernel kernel = compile_quickly(f);
  std::vector<std::uint8_t> memory(65 * 5 + 512, 1);
  kernel(TensorView(memory.data() + 256, uint8, {65, 5}));
  const auto sevens = std::count(memory.begin(), memory.end(), 7);
  EXPECT_EQ(sevens, 8 * 5);
  EXPECT_EQ(std::count(memory.begin() + 256, memory.begin() + 256 + 8 * 5, 7), 8 * 5);
}

// That a loop over [0, n) runs says that n is not 0, but only inside of the loop.
TEST(Regressions, EmptyLoopSaysNothingOutside) {
  const Function f = function("empty_loop", [&] {
    const Var n = symbol("n");
    Buffer a = tensor("A", {4, 2}, int32);
    Buffer b = tensor("B", {7, n, 9}, int32);
    kernel({1});
    parallel({7, n, 9}, [&](Var i, Var j, Var k) { b(i, j, k) = b(i, j, k) + 1; });
    copy(a(0, range(0, 2)), b(0, 0, range(0, 2)));
  });
  const CompiledKernel kernel = compile_quickly(f);
  std::vector<std::int32_t> a(8, 3), memory(64, 5);
  kernel(TensorView(a, {4, 2}), TensorView(memory.data() + 32, int32, {7, 0, 9}));
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 5), 64);
}

// Both loops were called k, so that k + k_1 had no order of its own.
TEST(Regressions, LoopsInsideEachOtherPrintAlikeWhenReadBack) {
  const Function f = function("nested_names", [&] {
    Buffer b = tensor("B", {4, 4, 16}, int32);
    kernel({1});
    serial(3, [&](Var outer) {
      parallel({4, 4, 8}, [&](Var i, Var j, Var inner) {
        b(i, j, outer + inner) = inner - outer;
        b(i, j, inner + outer) = outer - inner;
      });
    });
  });
  EXPECT_EQ(parse(f.text()).text(), f.text());
  EXPECT_NE(f.text().find("k_1"), std::string::npos);
}

// The cast folds to the NaN of all conversions, which the text could not tell from another.
TEST(Regressions, NanConstantReadsBackWithItsBits) {
  const Function f = function("nan_bits", [&] {
    Buffer b = tensor("B", {1}, float64);
    kernel({1});
    fill(b, cast(cast(Expr(std::nan("")), float16), float64));
  });
  for (const Function& g : {f, parse(f.text())}) {
    std::vector<double> b(1);
    compile_quickly(g)(TensorView(b, {1}));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(b[0]), 0x7fffffffffffffffu);
  }
}

// A load that is always out of bounds is its safe value, and what is computed with it a constant:
// no reason to refuse what wraps when it runs.
TEST(Regressions, ConstantsThatLoweringFindsWrap) {
  const Function f = function("wraps", [&] {
    Buffer a = tensor("A", {4}, int64), b = tensor("B", {1}, int64);
    kernel({1});
    annotate_safe_value(a, Expr(std::int64_t{INT64_MAX}));
    b(0) = a(9) * -99;
  });
  std::vector<std::int64_t> a(4), b(1);
  compile_quickly(f)(TensorView(a, {4}), TensorView(b, {1}));
  EXPECT_EQ(b[0], INT64_MIN + 99);  // -99 * (2^63 - 1) modulo 2^64
}

}  // namespace
}  // namespace tilecopy
