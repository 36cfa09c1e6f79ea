// What compiling costs: the compiler's own stages, a cold compile, and a hit in the cache.
#include <benchmark/benchmark.h>

#include "kernels.h"

namespace tc = tilecopy;

namespace bench {
namespace {

// The built-in kernels of the command, at a size that tells them apart.
tc::Function copy_kernel(std::int64_t rows) { return tile_copy(rows, 1001, 0, 64, 48); }
tc::Function im2col_kernel(std::int64_t height) { return im2col(2, height, 28, 3, 64, 32); }
tc::Function transpose_kernel(std::int64_t rows) { return transpose(rows, 1001, 64); }

using Maker = tc::Function (*)(std::int64_t size);

// Milliseconds of all stages but the build.
double own_stages(const tc::CompiledKernel& kernel) {
  double sum = 0;
  for (const tc::StageTime& time : kernel.times()) {
    if (time.stage != "build") sum += time.milliseconds;
  }
  return sum;
}

void cache_hit(benchmark::State& state, Maker make) {
  const tc::Function function = make(1000);
  tc::compile(function, "cpu");
  double own = 0;
  for (auto _ : state) {
    tc::CompiledKernel kernel = tc::compile(function, "cpu");
    if (!kernel.from_cache()) state.SkipWithError("not in the cache");
    own += own_stages(kernel);
  }
  state.counters["own ms"] = own / static_cast<double>(state.iterations());
}

// Each compile is of a kernel that no cache has seen.
void cold(benchmark::State& state, Maker make) {
  static std::int64_t size = 1000;
  double own = 0;
  for (auto _ : state) {
    own += own_stages(tc::compile(make(++size), "cpu", {.use_cache = false}));
  }
  state.counters["own ms"] = own / static_cast<double>(state.iterations());
}

#define TILECOPY_COMPILE_BENCHMARK(function, ...)                                                \
  BENCHMARK_CAPTURE(function, copy, copy_kernel)->Unit(benchmark::kMillisecond) __VA_ARGS__;     \
  BENCHMARK_CAPTURE(function, im2col, im2col_kernel)->Unit(benchmark::kMillisecond) __VA_ARGS__; \
  BENCHMARK_CAPTURE(function, transpose, transpose_kernel)                                       \
      ->Unit(benchmark::kMillisecond) __VA_ARGS__

TILECOPY_COMPILE_BENCHMARK(cache_hit);
TILECOPY_COMPILE_BENCHMARK(cold, ->Iterations(10));

}  // namespace
}  // namespace bench
