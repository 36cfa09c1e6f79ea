// The kinds of failure that other compilers of tile copies were reported for, with the right
// result. Runs on what TILECOPY_TEST_TARGET names; arrays have guard bytes around and between their
// rows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "property/check.h"
#include "tilecopy/error.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::peer_kinds {
namespace {

using property::compile_batch;

using Bytes = std::vector<std::uint8_t>;

// A matrix in a larger block of memory: rows `pitch` elements apart, `lead` elements before.
struct Matrix {
  std::int64_t rows, columns, pitch, lead = 16;
  DType dtype = float16;
  Bytes memory = {};

  void fill(std::uint64_t seed) {
    memory.resize(static_cast<std::size_t>((lead + rows * pitch + 64) * bytes(dtype)));
    std::mt19937_64 random(seed);
    for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(random());
    if (dtype != bool_) return;
    for (std::uint8_t& byte : memory) byte &= 1;
  }
  std::uint8_t* at(std::int64_t row, std::int64_t column) {
    return memory.data() + (lead + row * pitch + column) * bytes(dtype);
  }
  TensorView view() { return {at(0, 0), dtype, {rows, columns}, {pitch, 1}}; }
};

// How a kernel copies A to B through a tile.
struct Way {
  const char* name;
  std::int64_t rows, columns;
  std::int64_t tile_rows, tile_columns;
  DType dtype = float16;
  cuda::CopyOptions options = {};
  int threads = 128;
  std::int64_t pitch = 0;  ///< of both; as wide as the columns where 0
  std::int64_t lead = 16;  ///< elements before the first: their bytes decide the alignment
  std::int64_t shift = 0;  ///< the tiles begin so many columns further
  bool constant_pitch = true;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class Through : public testing::TestWithParam<Way> {};

TEST_P(Through, ASharedTile) {
  const Way& way = GetParam();
  const std::int64_t pitch = way.pitch ? way.pitch : way.columns;
  const Function f = function("through", [&] {
    std::vector<Expr> strides;
    if (way.constant_pitch) {
      strides = {pitch, 1};
    } else {
      strides = {symbol("pitch"), 1};
    }
    Buffer a = tensor("A", {way.rows, way.columns}, way.dtype, strides);
    Buffer b = tensor("B", {way.rows, way.columns}, way.dtype, strides);
    auto [bx, by] = kernel({ceildiv(way.columns, way.tile_columns) + (way.shift ? 1 : 0),
                            ceildiv(way.rows, way.tile_rows)},
                           {.threads = way.threads});
    Buffer tile = alloc_shared({way.tile_rows, way.tile_columns}, way.dtype);
    const Expr column = bx * way.tile_columns + way.shift;
    cuda::copy(a(by * way.tile_rows, column), tile, way.options);
    cuda::copy(tile, b(by * way.tile_rows, column), way.options);
  });
  Matrix a{way.rows, way.columns, pitch, way.lead, way.dtype};
  Matrix b = a;
  a.fill(1);
  b.fill(2);
  Bytes wanted = b.memory;
  for (std::int64_t i = 0; i < way.rows; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(way.shift, 0); j < way.columns; ++j) {
      std::memcpy(wanted.data() + (b.at(i, j) - b.memory.data()), a.at(i, j),
                  static_cast<std::size_t>(bytes(way.dtype)));
    }
  }
  const CompiledKernel kernel = compile_batch(std::span(&f, 1), 1).front();
  kernel.run({a.view(), b.view()});
  EXPECT_TRUE(b.memory == wanted) << kernel.explain();
}

const cuda::CopyOptions tma = {.prefer_instruction = "tma"};
const cuda::CopyOptions cp_async = {.prefer_instruction = "cp_async"};
const cuda::CopyOptions sync = {.prefer_instruction = "sync"};

std::vector<Way> ways() {
  return {
      // Bytes that are no multiple of 16 (BR-001, BR-021, BR-041, BR-045, BR-050).
      {"63 floats", 1, 63, 1, 63, float32, tma},
      {"one float", 1, 1, 1, 1, float32, tma},
      {"one element in a row", 64, 1, 64, 1, float16, tma},
      {"three bytes in a row", 32, 3, 8, 3, uint8, tma},
      {"a last tile of one element", 4, 65, 4, 64, float16, cp_async},
      {"a last tile that is partial", 1, 1000, 1, 256, float16, tma},
      // Inner extents and pitches (BR-012, BR-013, BR-014, BR-015, BR-091, BR-093, BR-101).
      {"48 columns", 64, 96, 32, 48, float16, tma},
      {"80 columns", 64, 160, 32, 80, float16, tma},
      {"13 columns of 32", 40, 13, 8, 13, float16, tma, 128, 32},
      {"a pitch of 1001", 33, 1000, 16, 64, float16, tma, 128, 1001},
      {"a pitch of 1001 that only a launch knows", 33, 1000, 16, 64, float16, tma, 128, 1001, 16, 0,
       false},
      {"a pitch of 1008 that only a launch knows", 33, 1000, 16, 64, float16, tma, 128, 1008, 16, 0,
       false},
      {"whole rows of a padded tensor", 32, 1024, 4, 1024, float16, tma, 128, 1032},
      {"768 columns in tiles of 96", 64, 768, 32, 96, float16, tma},
      // Stores that must spare their neighbours (BR-016).
      {"a column slice", 64, 20, 16, 32, float16, tma, 128, 64},
      {"a column slice of bytes", 64, 17, 16, 64, uint8, tma, 128, 64},
      // Starts inside 16 bytes, and below 0 (BR-010, BR-044, BR-146).
      {"tiles that begin at column 3", 32, 128, 16, 32, float16, tma, 128, 0, 16, 3},
      {"tiles that begin at column -5", 32, 128, 16, 32, float16, tma, 128, 0, 16, -5},
      {"tiles that begin at column -16", 32, 128, 16, 32, float16, tma, 128, 0, 16, -16},
      // Boxes above 256, and below 8 rows (BR-017, BR-040).
      {"512 columns", 4, 1024, 1, 512, float16, tma},
      {"300 rows", 600, 16, 300, 16, float16, tma},
      {"257 rows", 514, 8, 257, 8, float32, tma},
      {"4 rows", 16, 128, 4, 64, float16, tma},
      // Element types (BR-046).
      {"bools", 64, 128, 32, 64, bool_, tma},
      {"8-bit floats", 64, 128, 32, 64, float8_e4m3fn, tma},
      {"doubles", 64, 64, 32, 32, float64, tma},
      // Numbers of threads (BR-058, BR-083).
      {"2 threads", 32, 128, 16, 64, float16, tma, 2},
      {"31 threads", 32, 128, 16, 64, float16, tma, 31},
      {"48 threads", 32, 128, 16, 64, float16, sync, 48},
      {"more threads than elements", 16, 16, 4, 8, float32, sync, 512},
      // A base inside 16 bytes, where the fast variant must not run (BR-097, BR-134).
      {"a base 2 bytes further", 32, 128, 16, 64, float16, tma, 128, 0, 17},
      {"a base 4 bytes further", 32, 128, 16, 64, float32, cp_async, 128, 0, 17},
      {"a base 8 bytes further", 32, 128, 16, 64, float64, sync, 128, 0, 17},
      // Widths that cannot be honoured (BR-062).
      {"coalesced_width of 16 in 3 columns", 32, 9, 8, 3, float32, {.coalesced_width = 16}},
      {"disable_tma", 64, 128, 32, 64, float16, {.disable_tma = true}},
  };
}

INSTANTIATE_TEST_SUITE_P(PeerKinds, Through, testing::ValuesIn(ways()));

CompiledKernel built(const Function& f) { return compile_batch(std::span(&f, 1), 1).front(); }

std::vector<float> numbers(std::size_t count, float first = 1) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = first + static_cast<float>(i % 1021);
  return result;
}

// A tile with wider rows than the copy fills (BR-005).
TEST(PeerKinds, TheLeftColumnsOfAPaddedTile) {
  const Function f = function("left", [] {
    Buffer a = tensor("A", {16, 32}, float32), b = tensor("B", {16, 32}, float32);
    kernel({1}, {.threads = 128});
    Buffer tile = alloc_shared({16, 40}, float32);
    cuda::copy(a, tile(range(0, 16), range(4, 36)), tma);
    cuda::copy(tile(range(0, 16), range(4, 36)), b, tma);
  });
  std::vector<float> a = numbers(512), b(512);
  built(f)(TensorView(a, {16, 32}), TensorView(b, {16, 32}));
  EXPECT_EQ(a, b);
}

// A row that a table picks (BR-007).
TEST(PeerKinds, RowsThatATablePicks) {
  const Function f = function("rows", [] {
    Buffer a = tensor("A", {8, 1024}, float32), rows = tensor("rows", {6}, int32);
    Buffer b = tensor("B", {6, 1024}, float32);
    auto [bx] = kernel({6}, {.threads = 128});
    Buffer tile = alloc_shared({1, 1024}, float32);
    cuda::copy(a(cast(rows(bx), int64), 0), tile, tma);
    cuda::copy(tile, b(bx, 0), tma);
  });
  std::vector<float> a = numbers(8192), b(6144);
  std::vector<std::int32_t> rows = {7, 0, 3, 3, 8, -1};
  built(f)(TensorView(a, {8, 1024}), TensorView(rows, {6}), TensorView(b, {6, 1024}));
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 1024; ++j) {
      const bool inside = rows[i] >= 0 && rows[i] < 8;
      const float want = inside ? a[static_cast<std::size_t>(rows[i]) * 1024 + j] : 0;
      ASSERT_EQ(b[i * 1024 + j], want) << i << ", " << j;
    }
  }
}

// Tiles of four dimensions and a vector side by side; unit dimensions (BR-022, BR-024, BR-043).
TEST(PeerKinds, TilesOfFourDimensionsBesideAVector) {
  const Function f = function("four", [] {
    Buffer a = tensor("A", {2, 1, 16, 64}, float16), v = tensor("V", {16}, float16);
    Buffer b = tensor("B", {2, 1, 16, 64}, float16);
    auto [bx] = kernel({2}, {.threads = 64});
    Buffer small = alloc_shared({16}, float16);
    Buffer tile = alloc_shared({1, 1, 16, 64}, float16);
    cuda::copy(v, small, tma);
    cuda::copy(a(bx, 0, 0, 0), tile, tma);
    parallel({16, 64}, [&](Var i, Var j) { tile(0, 0, i, j) = tile(0, 0, i, j) + small(i); });
    cuda::copy(tile, b(bx, 0, 0, 0), tma);
  });
  Tensor a({2, 1, 16, 64}, float16), v({16}, float16), b({2, 1, 16, 64}, float16);
  Tensor want = b;
  a.fill_random(1);
  v.fill_random(2);
  built(f)(a, v, b);
  // float16 sums are exact in float32 and rounded once.
  const Function sum = function("sum", [] {
    Buffer x = tensor("A", {2, 16, 64}, float16), y = tensor("V", {16}, float16);
    Buffer z = tensor("B", {2, 16, 64}, float16);
    kernel({1});
    serial(2, [&](Var n) {
      serial(16, [&](Var i) { serial(64, [&](Var j) { z(n, i, j) = x(n, i, j) + y(i); }); });
    });
  });
  compile(sum, "cpu", {.opt_level = 0})(TensorView(a.data(), float16, {2, 16, 64}),
                                        TensorView(v.data(), float16, {16}),
                                        TensorView(want.data(), float16, {2, 16, 64}));
  EXPECT_TRUE(std::ranges::equal(b.elements<std::uint16_t>(), want.elements<std::uint16_t>()));
}

// Nothing to do is nothing wrong (BR-027, BR-124, BR-125).
TEST(PeerKinds, EmptyTensors) {
  const Function f = function("empty", [] {
    Expr n = symbol("n");
    Buffer a = tensor("A", {n, 64}, float16), b = tensor("B", {n, 64}, float16);
    auto [bx] = kernel({ceildiv(n, 32)}, {.threads = 64});
    Buffer tile = alloc_shared({32, 64}, float16);
    cuda::copy(a(bx * 32, 0), tile, tma);
    cuda::copy(tile, b(bx * 32, 0), tma);
  });
  const CompiledKernel kernel = built(f);
  Tensor none({0, 64}, float16), other({0, 64}, float16);
  EXPECT_NO_THROW(kernel(none, other));
}

// What lies out of bounds is the safe value, by every way (BR-055, BR-084, BR-085).
TEST(PeerKinds, SafeValuesOfEveryWay) {
  for (const cuda::CopyOptions& options : {tma, cp_async, sync}) {
    for (float safe : {0.0f, -0.0f, -1.0f, std::nanf("")}) {
      const Function f = function("safe", [&] {
        Buffer a = tensor("A", {20, 50}, float32), b = tensor("B", {32, 64}, float32);
        kernel({1}, {.threads = 96});
        annotate_safe_value(a, Expr(safe));
        Buffer tile = alloc_shared({32, 64}, float32);
        cuda::copy(a(0, 0), tile, options);
        cuda::copy(tile, b, options);
      });
      std::vector<float> a = numbers(1000), b(2048, 5);
      built(f)(TensorView(a, {20, 50}), TensorView(b, {32, 64}));
      for (std::size_t i = 0; i < 32; ++i) {
        for (std::size_t j = 0; j < 64; ++j) {
          const float want = i < 20 && j < 50 ? a[i * 50 + j] : safe;
          const float got = b[i * 64 + j];
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got)
                                       : got == want && std::signbit(got) == std::signbit(want))
              << i << ", " << j << ": " << got;
        }
      }
    }
  }
}

// Strides that are not row-major (BR-096, BR-099, BR-100).
TEST(PeerKinds, ViewsOfTransposedTensors) {
  const Function f = function("views", [] {
    Buffer a = tensor("A", {64, 96}, float32, {1, 64}), b = tensor("B", {64, 96}, float32);
    auto [bx] = kernel({3}, {.threads = 128});
    Buffer tile = alloc_shared({64, 32}, float32);
    cuda::copy(a(0, bx * 32), tile, tma);
    cuda::copy(tile, b(0, bx * 32), tma);
  });
  std::vector<float> a = numbers(64 * 96), b(64 * 96);
  built(f)(TensorView(a.data(), float32, {64, 96}, {1, 64}), TensorView(b, {64, 96}));
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 96; ++j) ASSERT_EQ(b[i * 96 + j], a[j * 64 + i]) << i << ", " << j;
  }
}

// Loops of no iteration, of one and of several, and copies under a condition
// (BR-054, BR-127, BR-129, BR-131, BR-133).
TEST(PeerKinds, LoopsOfAnyNumberOfIterationsAndConditions) {
  for (const cuda::CopyOptions& options : {tma, cp_async, sync}) {
    for (std::int64_t trips : {0, 1, 2, 5}) {
      const Function f = function("loop", [&] {
        Expr n = symbol("n");
        Buffer a = tensor("A", {n, 32, 64}, float32), b = tensor("B", {n, 32, 64}, float32);
        kernel({1}, {.threads = 64});
        Buffer tile = alloc_shared({32, 64}, float32);
        serial(n, [&](Var k) {
          if_then(k % 2 == 0, [&] {
            cuda::copy(a(k, 0, 0), tile, options);
            parallel({32, 64}, [&](Var i, Var j) { tile(i, j) = tile(i, j) + 1.0f; });
            cuda::copy(tile, b(k, 0, 0), options);
          });
        });
      });
      const auto count = static_cast<std::size_t>(trips) * 2048;
      std::vector<float> a = numbers(count), b(count, 7);
      built(f)(TensorView(a.data(), float32, {trips, 32, 64}),
               TensorView(b.data(), float32, {trips, 32, 64}));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(b[i], i / 2048 % 2 == 0 ? a[i] + 1 : 7) << i << " of " << trips;
      }
    }
  }
}

// Parts of fragments, and arrays of single threads (BR-081, BR-082).
TEST(PeerKinds, PartsOfFragments) {
  const Function f = function("parts", [] {
    Buffer a = tensor("A", {32, 64}, float32), b = tensor("B", {16, 64}, float32);
    kernel({1}, {.threads = 64});
    Buffer held = alloc_fragment({32, 64}, float32);
    Buffer tile = alloc_shared({16, 64}, float32);
    copy(a, held);
    copy(held(range(16, 32), range(0, 64)), tile);
    copy(tile, b);
  });
  std::vector<float> a = numbers(2048), b(1024);
  built(f)(TensorView(a, {32, 64}), TensorView(b, {16, 64}));
  EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin() + 1024));
}

// A swizzled tile behind a small one, whose base must be aligned all the same (BR-035, BR-042).
TEST(PeerKinds, SwizzledTilesBehindSmallOnes) {
  const Function f = function("behind", [] {
    Buffer a = tensor("A", {64, 64}, float16), b = tensor("B", {64, 64}, float16);
    Buffer c = tensor("C", {24}, float16);
    kernel({1}, {.threads = 64});
    Buffer small = alloc_shared({24}, float16);
    Buffer tile = alloc_shared({64, 64}, float16), turned = alloc_shared({64, 64}, float16);
    annotate_layout(tile, swizzled_row_major({64, 64}, 2, 128));
    cuda::copy(c, small, sync);
    cuda::copy(a, tile, tma);
    transpose(tile, turned);
    cuda::copy(turned, b, tma);
    cuda::copy(small, c, sync);
  });
  Tensor a({64, 64}, float16), b({64, 64}, float16), c({24}, float16);
  a.fill_random(3);
  c.fill_random(4);
  const Tensor c_before = c;
  built(f)(a, b, c);
  const auto from = a.elements<std::uint16_t>();
  const auto to = b.elements<std::uint16_t>();
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(to[i * 64 + j], from[j * 64 + i]) << i << j;
  }
  EXPECT_TRUE(std::ranges::equal(c.elements<std::uint16_t>(), c_before.elements<std::uint16_t>()));
}

}  // namespace
}  // namespace tilecopy::peer_kinds
