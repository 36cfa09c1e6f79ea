// Runs of kernels against memcpy of the bytes that they read and write once, with as many threads.
#include "kernels.h"

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace tc = tilecopy;

namespace bench {

tc::Function tile_copy(std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                       std::int64_t tile_rows, std::int64_t tile_columns) {
  return tc::function("tile_copy", [&] {
    std::vector<tc::Expr> strides;
    if (pitch > 0) strides = {pitch, 1};
    tc::Buffer a = tc::tensor("A", {rows, columns}, tc::float32, strides);
    tc::Buffer b = tc::tensor("B", {rows, columns}, tc::float32, strides);
    auto [bx, by] = tc::kernel({tc::ceildiv(columns, tile_columns), tc::ceildiv(rows, tile_rows)});
    tc::Buffer tile = tc::alloc_shared({tile_rows, tile_columns}, tc::float32, "tile");
    tc::cuda::copy(a(by * tile_rows, bx * tile_columns), tile, {.prefer_instruction = "tma"});
    tc::cuda::copy(tile, b(by * tile_rows, bx * tile_columns));
  });
}

tc::Function im2col(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                    std::int64_t block_m, std::int64_t block_k) {
  return tc::function("im2col", [&] {
    std::int64_t rows = n * h * w, columns = 9 * c;
    tc::Buffer img = tc::tensor("img", {n, h, w, c}, tc::float32);
    tc::Buffer col = tc::tensor("col", {rows, columns}, tc::float32);
    auto [bx, by] = tc::kernel({tc::ceildiv(columns, block_k), tc::ceildiv(rows, block_m)});
    tc::Buffer tile = tc::alloc_shared({block_m, block_k}, tc::float32, "tile");
    tc::cuda::im2col(img, tile, by, bx, 3, 1, 1, 1);
    tc::cuda::copy(tile, col(by * block_m, bx * block_k));
  });
}

tc::Function transpose(std::int64_t rows, std::int64_t columns, std::int64_t tile) {
  return tc::function("transpose", [&] {
    tc::Buffer a = tc::tensor("A", {rows, columns}, tc::float32);
    tc::Buffer b = tc::tensor("B", {columns, rows}, tc::float32);
    auto [bx, by] = tc::kernel({tc::ceildiv(columns, tile), tc::ceildiv(rows, tile)});
    tc::Buffer in = tc::alloc_shared({tile, tile}, tc::float32, "in");
    tc::Buffer out = tc::alloc_shared({tile, tile}, tc::float32, "out");
    tc::copy(a(by * tile, bx * tile), in);
    tc::transpose(in, out);
    tc::copy(out, b(bx * tile, by * tile));
  });
}

namespace {

// `bytes` read and as many written.
void memcpy_in_threads(char* to, const char* from, std::int64_t bytes) {
#pragma omp parallel
  {
    std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    std::int64_t begin = bytes * thread / threads, end = bytes * (thread + 1) / threads;
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  }
}

// Measures `kernel`, then memcpy of as many bytes, and reports the ratio of their rates.
void against_memcpy(benchmark::State& state, const tc::Function& function, const tc::TensorView& in,
                    const tc::TensorView& out, std::int64_t bytes_moved) {
  tc::CompiledKernel kernel = tc::compile(function, "cpu");
  tc::Tensor source({bytes_moved / 2}, tc::uint8), copy({bytes_moved / 2}, tc::uint8);
  source.fill_random(1);
  auto now = [] { return std::chrono::steady_clock::now(); };
  std::vector<double> kernel_seconds, memcpy_seconds;
  kernel(in, out);
  for (auto _ : state) {
    // Alternating, so that both see the same machine.
    auto t0 = now();
    kernel(in, out);
    auto t1 = now();
    memcpy_in_threads(static_cast<char*>(copy.data()), static_cast<const char*>(source.data()),
                      bytes_moved / 2);
    auto t2 = now();
    kernel_seconds.push_back(std::chrono::duration<double>(t1 - t0).count());
    memcpy_seconds.push_back(std::chrono::duration<double>(t2 - t1).count());
    state.SetIterationTime(kernel_seconds.back());
  }
  auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  double mine = median(kernel_seconds), theirs = median(memcpy_seconds);
  state.counters["GB/s"] = static_cast<double>(bytes_moved) / mine * 1e-9;
  state.counters["memcpy GB/s"] = static_cast<double>(bytes_moved) / theirs * 1e-9;
  state.counters["of memcpy"] = theirs / mine;
}

void copy_dense(benchmark::State& state) {
  constexpr std::int64_t side = 8192;
  tc::Tensor a({side, side}, tc::float32), b({side, side}, tc::float32);
  a.fill_random(1);
  against_memcpy(state, tile_copy(side, side, 0, state.range(0), state.range(1)), a.view(),
                 b.view(), 2 * side * side * 4);
}

void copy_ragged_strided(benchmark::State& state) {
  constexpr std::int64_t rows = 8190, columns = 8001, pitch = 8193;
  tc::Tensor a({rows * pitch}, tc::float32), b({rows * pitch}, tc::float32);
  a.fill_random(1);
  against_memcpy(state, tile_copy(rows, columns, pitch, state.range(0), state.range(1)),
                 {a.data(), tc::float32, {rows, columns}, {pitch, 1}},
                 {b.data(), tc::float32, {rows, columns}, {pitch, 1}}, 2 * rows * columns * 4);
}

void im2col_resnet(benchmark::State& state) {
  constexpr std::int64_t n = 32, h = 56, w = 56, c = 64;
  tc::Tensor img({n, h, w, c}, tc::float32), col({n * h * w, 9 * c}, tc::float32);
  img.fill_random(1);
  against_memcpy(state, im2col(n, h, w, c, state.range(0), state.range(1)), img.view(), col.view(),
                 img.bytes() + col.bytes());
}

void transpose_dense(benchmark::State& state) {
  constexpr std::int64_t side = 8192;
  tc::Tensor a({side, side}, tc::float32), b({side, side}, tc::float32);
  a.fill_random(1);
  against_memcpy(state, transpose(side, side, state.range(0)), a.view(), b.view(),
                 2 * side * side * 4);
}

BENCHMARK(copy_dense)
    ->Args({64, 128})
    ->Args({8, 512})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(copy_ragged_strided)
    ->Args({64, 128})
    ->Args({8, 512})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(im2col_resnet)
    ->Args({64, 64})
    ->Args({64, 576})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(transpose_dense)->Args({64})->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bench
