// im2col on the cpu target against the reference: every window of a sweep, over images of several
// sizes, with every tile of the matrix and some beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "property/check.h"
#include "property/random_source.h"
#include "tilecopy/cuda.h"

namespace tilecopy::property {
namespace {

constexpr int parts = 10;
constexpr int launches = 4;
constexpr std::size_t batch_size = 90;
// Tiles before the first and past the last.
constexpr std::int64_t margin = 1;
// No more tiles than these are looked at in a launch, from the first ones or up to the last.
constexpr std::int64_t most_row_tiles = 6, most_column_tiles = 7;

/// Where the tile of columns is on its way to the output.
enum class Route : std::uint8_t { shared, fragment, swizzled, nested, global, strided_image };
constexpr int routes = 6;

struct Sizes {
  std::int64_t n, h, w, c, block_m, block_k;
};

/// One kernel: a window, its tile, and how it goes.
struct Sweep {
  Window window;
  std::int64_t block_m, block_k;
  Route route;
  DType dtype;
  std::optional<Sizes> fixed;  ///< constant sizes; else symbols
  bool chosen_start = false;   ///< the first tile is an argument; else it lies `margin` before 0
};

HeightWidth pair_of(const Pair& p) { return {p.h, p.w}; }

TileLayout layout_for(const Sweep& sweep) {
  const std::int64_t m = sweep.block_m, k = sweep.block_k;
  if (sweep.route == Route::swizzled) return {row_major({m, k}), Swizzle(2, 1, 3)};
  // Columns in two halves, interleaved, and rows padded.
  const Layout columns(IntTuple{2, k / 2}, IntTuple{1, 2});
  return make_layout({Layout(m, k + 3), columns});
}

void write_kernel(const Sweep& sweep) {
  std::array<Expr, 4> sizes;
  Expr rows = symbol("rows"), columns = symbol("columns");
  if (sweep.fixed) {
    const Sizes& s = *sweep.fixed;
    sizes = {s.n, s.h, s.w, s.c};
  } else {
    sizes = {symbol("N"), symbol("H"), symbol("W"), symbol("C")};
  }
  std::vector<Expr> strides;
  if (sweep.route == Route::strided_image) {
    for (const char* name : {"sn", "sh", "sw", "sc"}) strides.push_back(symbol(name));
  }
  const std::int64_t m = sweep.block_m, k = sweep.block_k;
  Buffer img = tensor("img", {sizes[0], sizes[1], sizes[2], sizes[3]}, sweep.dtype, strides);
  Buffer out = tensor("out", {rows, columns, m, k}, sweep.dtype);
  Expr first_row = -margin, first_column = -margin;
  if (sweep.chosen_start) {
    first_row = scalar("first_row", int64);
    first_column = scalar("first_column", int64);
  }
  auto [bx, by] = kernel({columns, rows}, {.threads = 64});
  const Expr nhw_step = by + first_row;
  const Expr c_step = bx + first_column;
  const Window& w = sweep.window;
  auto unfold = [&](const Operand& col) {
    cuda::im2col(img, col, nhw_step, c_step, pair_of(w.kernel), pair_of(w.stride),
                 pair_of(w.dilation), pair_of(w.pad), {.eviction_policy = "evict_first"});
  };
  if (sweep.route == Route::global) {
    unfold(out(range(by, by + 1), bx, range(0, m), range(0, k)));
    return;
  }
  Buffer tile = sweep.route == Route::fragment ? alloc_fragment({m, k}, sweep.dtype)
                                               : alloc_shared({m, k}, sweep.dtype);
  if (sweep.route == Route::swizzled || sweep.route == Route::nested) {
    annotate_layout(tile, layout_for(sweep));
  }
  unfold(tile);
  copy(tile, out(by, bx, 0, 0));
}

// The n-th window of the sweep: kernel 1..5 x 1..5, stride, dilation 1..3, pad 0..3. The other axis
// of stride, dilation and pad differs now and then.
Window window_of(int n, RandomSource& random) {
  Window w;
  w.kernel = {1 + n % 5, 1 + n / 5 % 5};
  w.stride = {1 + n / 25 % 3, 1 + n / 25 % 3};
  w.dilation = {1 + n / 75 % 3, 1 + n / 75 % 3};
  w.pad = {n / 225 % 4, n / 225 % 4};
  if (random.chance(25)) w.stride.w = random.between(1, 3);
  if (random.chance(25)) w.dilation.w = random.between(1, 3);
  if (random.chance(25)) w.pad.w = random.between(0, 3);
  return w;
}
constexpr int windows = 25 * 3 * 3 * 4;

std::int64_t reach(std::int64_t kernel, std::int64_t dilation, std::int64_t pad) {
  return std::max<std::int64_t>(1, dilation * (kernel - 1) + 1 - 2 * pad);
}

Sizes random_sizes(const Sweep& sweep, RandomSource& random) {
  const Window& w = sweep.window;
  Sizes s{};
  s.n = random.between(1, 3);
  s.h = reach(w.kernel.h, w.dilation.h, w.pad.h) + random.between(0, 5);
  s.w = reach(w.kernel.w, w.dilation.w, w.pad.w) + random.between(0, 6);
  if (s.h == s.w) ++s.w;
  s.c = random.pick({1, 3, 4, 8, 33, 64});
  if (random.chance(3)) s.n = 0;
  if (random.chance(3)) s.c = 0;
  return s;
}

Sweep make_sweep(int n) {
  RandomSource random(static_cast<std::uint64_t>(n) + 7000);
  Sweep sweep;
  sweep.window = window_of(n, random);
  sweep.block_m = random.pick({1, 2, 5, 8, 16, 50, 64});
  sweep.block_k = 2 * random.pick({1, 2, 3, 4, 8, 9, 16, 32});
  sweep.route = static_cast<Route>(n % routes);
  sweep.dtype = random.pick({uint8, float16, float32, float64, int16, bool_, bfloat16});
  if (random.chance(20)) sweep.fixed = random_sizes(sweep, random);
  sweep.chosen_start = !sweep.fixed && random.chance(60);
  return sweep;
}

// Memory order of an image: as declared, channels first, or padded.
Indices image_strides(const Sweep& sweep, const Indices& shape, int variant) {
  if (sweep.route != Route::strided_image || variant == 0) return dense_strides(shape);
  const std::int64_t pad = variant == 1 ? 0 : 3;
  if (variant == 3) {
    const std::int64_t row = shape[2] * shape[3] + pad;
    return {shape[1] * row, row, shape[3], 1};
  }
  const std::int64_t plane = shape[1] * (shape[2] + pad);
  return {shape[3] * plane, shape[2] + pad, 1, plane};
}

/// The tiles of one axis that a launch looks at.
struct Tiles {
  std::int64_t first, count;
};

Tiles some_tiles(std::int64_t elements, std::int64_t block, std::int64_t most, bool chosen,
                 RandomSource& random) {
  const std::int64_t all = (elements + block - 1) / block + 2 * margin;
  const std::int64_t count = std::min(all, most);
  return {chosen && random.chance(60) ? all - count - margin : -margin, count};
}

std::string check_launch(const Sweep& sweep, const CompiledKernel& compiled, int launch,
                         RandomSource& random) {
  const Sizes s = sweep.fixed ? *sweep.fixed : random_sizes(sweep, random);
  const Indices shape = {s.n, s.h, s.w, s.c};
  Array img(sweep.dtype, shape, image_strides(sweep, shape, launch), launch);
  img.fill_random(random.bits());
  const Window& w = sweep.window;
  const Tiles rows = some_tiles(s.n * w.out_h(img) * w.out_w(img), sweep.block_m, most_row_tiles,
                                sweep.chosen_start, random);
  const Tiles columns = some_tiles(w.kernel.h * w.kernel.w * s.c, sweep.block_k, most_column_tiles,
                                   sweep.chosen_start, random);
  const Indices out_shape = {rows.count, columns.count, sweep.block_m, sweep.block_k};
  Array want(sweep.dtype, out_shape, dense_strides(out_shape), 1);
  std::vector<Array> arrays = {img, want};
  for_each_index({rows.count, columns.count}, [&](const Indices& at) {
    const Region col{&want, {at[0], at[1], 0, 0}, {1, 1, sweep.block_m, sweep.block_k}};
    im2col(img, col, at[0] + rows.first, at[1] + columns.first, w);
  });
  std::vector<Argument> arguments = arguments_for(arrays, {false, true});
  if (sweep.chosen_start) arguments.insert(arguments.end(), {rows.first, columns.first});
  compiled.run(arguments, {.threads = 1});
  std::string text = difference(arrays[1], want);
  if (text.empty()) text = difference(arrays[0], img);
  if (text.empty()) return text;
  return fmt::format("img ({}, {}, {}, {}) {}: {}", s.n, s.h, s.w, s.c, to_string(sweep.dtype),
                     text);
}

void check_sweep(int number, const CompiledKernel& kernel, const Function& function) {
  const Sweep sweep = make_sweep(number);
  RandomSource random(static_cast<std::uint64_t>(number));
  const int count = sweep.fixed ? 1 : launches;
  for (int launch = 0; launch < count; ++launch) {
    const std::string text = check_launch(sweep, kernel, launch, random);
    if (text.empty()) continue;
    FAIL() << "window " << number << ", launch " << launch << ", " << text << "\n"
           << function.text();
  }
}

void run_batch(const std::vector<int>& numbers) {
  std::vector<Function> functions;
  for (int n : numbers) {
    functions.push_back(function(fmt::format("w{}", n), [&] { write_kernel(make_sweep(n)); }));
  }
  const std::vector<CompiledKernel> kernels = compile_batch(functions, 1);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    check_sweep(numbers[i], kernels[i], functions[i]);
  std::cout << "kernels: " << kernels.size() << std::endl;
}

class Im2colSweep : public testing::TestWithParam<int> {};

TEST_P(Im2colSweep, AgreesWithTheReference) {
  std::vector<int> numbers;
  for (int n = GetParam(); n < windows; n += parts) {
    numbers.push_back(n);
    if (numbers.size() < batch_size) continue;
    run_batch(numbers);
    numbers.clear();
    if (HasFailure()) return;
  }
  if (!numbers.empty()) run_batch(numbers);
}

INSTANTIATE_TEST_SUITE_P(Windows, Im2colSweep, testing::Range(0, parts));

}  // namespace
}  // namespace tilecopy::property
