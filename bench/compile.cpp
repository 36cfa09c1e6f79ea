// What compiling costs: the compiler's own stages, a cold compile, and a hit in the cache.
#include <benchmark/benchmark.h>

#include "kernels.h"

namespace tc = tilecopy;

namespace bench {
namespace {

// Milliseconds of all stages but the build.
double own_stages(const tc::CompiledKernel& kernel) {
  double sum = 0;
  for (const tc::StageTime& time : kernel.times()) {
    if (time.stage != "build") sum += time.milliseconds;
  }
  return sum;
}

void compile_stages(benchmark::State& state, const tc::Function& function) {
  double sum = 0;
  for (auto _ : state) sum += own_stages(tc::compile(function, "cpu"));
  state.counters["own ms"] = sum / static_cast<double>(state.iterations());
}

void cold(benchmark::State& state, const tc::Function& function) {
  for (auto _ : state) tc::compile(function, "cpu", {.use_cache = false});
}

void cache_hit(benchmark::State& state, const tc::Function& function) {
  tc::compile(function, "cpu");
  for (auto _ : state) {
    if (!tc::compile(function, "cpu").from_cache()) state.SkipWithError("not in the cache");
  }
}

const tc::Function copy_kernel = tile_copy(1000, 1001, 0, 64, 48);
const tc::Function im2col_kernel = im2col(2, 28, 28, 3, 64, 32);
const tc::Function transpose_kernel = transpose(1000, 1001, 64);

BENCHMARK_CAPTURE(compile_stages, copy, copy_kernel)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_stages, im2col, im2col_kernel)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_stages, transpose, transpose_kernel)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cold, copy, copy_kernel)->Unit(benchmark::kMillisecond)->Iterations(10);
BENCHMARK_CAPTURE(cold, im2col, im2col_kernel)->Unit(benchmark::kMillisecond)->Iterations(10);
BENCHMARK_CAPTURE(cache_hit, copy, copy_kernel)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cache_hit, im2col, im2col_kernel)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bench
