// Copies of every size near the ones where vectors, cache lines and pages begin and end, at every
// offset from their alignment. Few kernels, with symbolic sizes, launched many times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "property/check.h"
#include "property/random_source.h"

namespace tilecopy::property {
namespace {

std::vector<std::int64_t> sizes_1d() {
  std::vector<std::int64_t> sizes(41);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (std::int64_t n : {63, 64, 65, 255, 256, 257, 4095, 4096, 4097}) sizes.push_back(n);
  return sizes;
}

/// Runs a kernel on (src, dst) and on the model, and compares.
void check_pair(const CompiledKernel& kernel, Array src, Array dst,
                const std::function<void(Array& src, Array& dst)>& model, const std::string& what) {
  Array want_src = src;
  Array want_dst = dst;
  model(want_src, want_dst);
  std::vector<Array> arrays = {std::move(src), std::move(dst)};
  kernel.run(arguments_for(arrays, {false, true}), {.threads = 1});
  ASSERT_EQ(difference(arrays[0], want_src), "") << what;
  ASSERT_EQ(difference(arrays[1], want_dst), "") << what;
}

Array random_array(DType dtype, const Indices& shape, const Indices& strides, std::int64_t shift,
                   std::uint64_t seed) {
  Array array(dtype, shape, strides, shift);
  array.fill_random(seed);
  return array;
}

Region whole(Array& array) { return {&array, Indices(array.shape().size()), array.shape()}; }

class EdgeSizes : public testing::TestWithParam<DType> {};

// A whole copy, and one tile by tile through shared memory.
TEST_P(EdgeSizes, OneDimension) {
  const DType dtype = GetParam();
  const std::vector<Function> functions = {
      function("whole",
               [&] {
                 const Var n = symbol("n");
                 Buffer a = tensor("A", {n}, dtype), b = tensor("B", {n}, dtype);
                 kernel({1});
                 copy(a, b);
               }),
      function("tiled", [&] {
        const Var n = symbol("n");
        Buffer a = tensor("A", {n}, dtype), b = tensor("B", {n}, dtype);
        auto [bx] = kernel({ceildiv(n, 48)});
        Buffer tile = alloc_shared({48}, dtype);
        copy(a(bx * 48), tile);
        copy(tile, b(bx * 48));
      })};
  const std::vector<CompiledKernel> kernels = compile_batch(functions, 3);
  const std::int64_t shifts = 16 / width_of(dtype);
  for (std::int64_t n : sizes_1d()) {
    for (std::int64_t shift = 0; shift <= shifts; ++shift) {
      const Array src = random_array(dtype, {n}, {1}, shift, 11);
      // The destination moves against the source, so that all pairs of offsets come up.
      const Array dst = random_array(dtype, {n}, {1}, (shift * 3 + n) % (shifts + 1), 12);
      for (const CompiledKernel& k : kernels) {
        check_pair(
            k, src, dst,
            [&](Array& a, Array& b) {
              property::copy(whole(a), whole(b), {dtype, 0});
            },
            fmt::format("{} {} n={} shift={}", k.name(), to_string(dtype), n, shift));
        if (HasFatalFailure()) return;
      }
    }
  }
}

struct Box {
  std::int64_t rows, columns, pitch, shift, row_origin, column_origin;
};

// A box of the source, partly outside of it, to a pitched destination; with a safe value.
Function box_kernel(DType dtype, const Node& safe, const char* name) {
  return function(name, [&] {
    const Var h = symbol("h"), w = symbol("w"), m = symbol("m"), n = symbol("n");
    Buffer a = tensor("A", {h, w}, dtype, {symbol("pitch"), 1});
    Buffer b = tensor("B", {m, n}, dtype, {symbol("pitch_b"), 1});
    const Var row = scalar("row", int64), column = scalar("column", int64);
    auto [bx, by] = kernel({ceildiv(n, 40), ceildiv(m, 24)});
    annotate_safe_value(a, cast(Expr(safe.number), dtype));
    Buffer tile = alloc_shared({24, 40}, dtype);
    copy(a(row + by * 24, column + bx * 40), tile);
    copy(tile, b(by * 24, bx * 40));
  });
}

void check_box(const CompiledKernel& kernel, DType dtype, double safe, const Box& box) {
  const std::string what =
      fmt::format("{} {}x{} pitch {} shift {} at ({}, {})", to_string(dtype), box.rows, box.columns,
                  box.pitch, box.shift, box.row_origin, box.column_origin);
  const Array a =
      random_array(dtype, {box.rows + 2, box.columns + 1}, {box.pitch + 1, 1}, box.shift, 21);
  const Array b = random_array(dtype, {box.rows, box.columns}, {box.pitch, 1}, 1, 22);
  Array want = b;
  Array from = a;
  property::copy({&from, {box.row_origin, box.column_origin}, {box.rows, box.columns}}, whole(want),
                 from_double(safe, dtype));
  std::vector<Array> arrays = {a, b};
  std::vector<Argument> arguments = arguments_for(arrays, {false, true});
  arguments.emplace_back(box.row_origin);
  arguments.emplace_back(box.column_origin);
  kernel.run(arguments, {.threads = 1});
  ASSERT_EQ(difference(arrays[0], a), "") << what;
  ASSERT_EQ(difference(arrays[1], want), "") << what;
}

TEST_P(EdgeSizes, TwoDimensions) {
  const DType dtype = GetParam();
  const double safe = is_signed(dtype) || is_real(dtype) ? -99 : 1;
  Node node;
  node.number = safe;
  const Function functions[] = {box_kernel(dtype, node, "box")};
  const CompiledKernel kernel = compile_batch(functions, 3).front();
  RandomSource random(3);
  std::vector<std::int64_t> columns(20);
  std::iota(columns.begin(), columns.end(), 1);
  for (std::int64_t n : {47, 48, 49, 63, 64, 65, 80, 96, 100, 127, 128, 129, 255, 256, 257, 512}) {
    columns.push_back(n);
  }
  const std::int64_t sixteen_bytes = 16 / width_of(dtype);
  for (std::int64_t width : columns) {
    for (std::int64_t rows : {1, 3, 4, 7, 8, 64, 256, 257}) {
      if (rows * width > 9000 && random.chance(70)) continue;
      for (std::int64_t more : {std::int64_t{0}, std::int64_t{1}, sixteen_bytes}) {
        Box box{rows, width, width + more, random.between(0, sixteen_bytes), 0, 0};
        if (random.chance(60)) box.row_origin = random.between(-3, 3);
        if (random.chance(60)) box.column_origin = random.between(-5, 5);
        if (random.chance(3)) box.column_origin = random.pick({-1000, 1000});
        check_box(kernel, dtype, safe, box);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EdgeSizes,
                         testing::Values(bool_, int8, int16, int32, int64, uint8, uint16, uint32,
                                         uint64, float8_e4m3fn, float8_e5m2, float16, bfloat16,
                                         float32, float64),
                         [](const testing::TestParamInfo<DType>& dtype) {
                           return std::string(to_string(dtype.param));
                         });

}  // namespace
}  // namespace tilecopy::property
