// Tiled copies of the TMA unit by table: the boxes of a copy, or the first rule that it fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tma_case.h"

namespace tc = tilecopy;
using tc::test::Ints;
using tc::test::Planned;
using tc::test::TmaCase;

namespace {

struct Row {
  const char* what;
  TmaCase c;
  const char* rule;  // the first that fails, with what it found; or empty, and
  const char* found;
  const char* box;
  int boxes;
  const char* swizzle;
};

Row takes(const char* what, const TmaCase& c, const char* box, int boxes = 1,
          const char* swizzle = "none") {
  return {what, c, "", "", box, boxes, swizzle};
}

Row fails(const char* what, const TmaCase& c, const char* rule, const char* found = "") {
  return {what, c, rule, found, "", 0, ""};
}

tc::TileLayout strided(Ints shape, Ints stride) {
  return tc::TileLayout(tc::Layout(tc::IntTuple(shape), tc::IntTuple(stride)));
}

// Of a tile of 2-byte elements unless `element` says otherwise.
tc::TileLayout swizzled(const Ints& shape, int span, int element = 2) {
  return tc::swizzled_row_major(shape, element, span);
}

// clang-format off
const std::vector<Row> rows = {
    // ---- One box ----
    takes("2-byte", {.shape = {512, 512}, .origin = {64, 128}, .extent = {64, 64}}, "64x64"),
    takes("4-byte", {.shape = {512, 512}, .dtype = tc::float32, .origin = {64, 128},
          .extent = {64, 128}}, "64x128"),
    takes("1-byte", {.shape = {512, 512}, .dtype = tc::uint8, .origin = {64, 256},
          .extent = {32, 256}}, "32x256"),
    takes("8-byte", {.shape = {512, 512}, .dtype = tc::float64, .origin = {64, 128},
          .extent = {16, 64}}, "16x64"),
    takes("8-byte integers", {.shape = {64, 64}, .dtype = tc::int64, .origin = {0, 2},
          .extent = {16, 16}}, "16x16"),
    takes("bool", {.shape = {128, 128}, .dtype = tc::bool_, .origin = {64, 64}, .extent = {64, 64}},
          "64x64"),
    takes("8-bit floats", {.shape = {256, 256}, .dtype = tc::float8_e4m3fn, .origin = {0, 128},
          .extent = {128, 128}}, "128x128"),
    takes("the largest box", {.shape = {512, 512}, .dtype = tc::int8, .origin = {0, 256},
          .extent = {256, 256}}, "256x256"),
    takes("a small tile when asked for", {.shape = {64, 64}, .origin = {0, 8}, .extent = {4, 8}},
          "4x8"),
    takes("padded rows", {.shape = {64, 60}, .strides = {72, 1}, .origin = {0, 0},
          .extent = {64, 64}}, "64x64"),
    takes("stride 0", {.shape = {64, 64}, .strides = {0, 1}, .origin = {8, 0}, .extent = {32, 64}},
          "32x64"),
    // ---- Out of bounds ----
    takes("past the last column", {.shape = {64, 504}, .origin = {0, 448}, .extent = {64, 64}},
          "64x64"),
    takes("past the last row", {.shape = {100, 64}, .origin = {64, 0}, .extent = {64, 64}},
          "64x64"),
    takes("before the first row", {.shape = {100, 64}, .origin = {-3, 0}, .extent = {64, 64}},
          "64x64"),
    takes("before the first column", {.shape = {64, 64}, .origin = {0, -16}, .extent = {64, 64}},
          "64x64"),
    takes("all outside", {.shape = {64, 64}, .origin = {1000, -512}, .extent = {64, 64}}, "64x64"),
    takes("columns that end inside of 16 bytes", {.shape = {64, 61}, .strides = {64, 1},
          .origin = {0, 0}, .extent = {64, 64}}, "64x64"),
    takes("a single index outside", {.shape = {4, 64, 64}, .origin = {4, 0, 0},
          .extent = {1, 64, 64}}, "1x64x64"),
    takes("a single index before", {.shape = {1, 64, 64}, .origin = {-1, 0, 0},
          .extent = {1, 64, 64}}, "1x64x64"),
    takes("a far row", {.shape = {64, 64}, .origin = {std::int64_t{1} << 40, 0},
          .extent = {64, 64}}, "64x64"),
    takes("a far column", {.shape = {64, 64}, .origin = {0, std::int64_t{1} << 40},
          .extent = {64, 64}}, "64x64"),
    takes("a far column before", {.shape = {64, 64}, .origin = {0, -(std::int64_t{1} << 40)},
          .extent = {64, 64}}, "64x64"),
    takes("a safe value that no element takes", {.shape = {64, 64}, .origin = {0, 0},
          .extent = {64, 64}, .safe = 3}, "64x64"),
    // ---- Parts of dimensions above 256 ----
    takes("a row of 1024", {.shape = {4096}, .origin = {1024}, .extent = {1024}}, "256", 4),
    takes("a row in equal parts", {.shape = {4096}, .origin = {8}, .extent = {384}}, "192", 2),
    takes("a row with a rest", {.shape = {4096}, .dtype = tc::float32, .origin = {0},
          .extent = {300}}, "256 and 44", 2),
    takes("a row with a rest of 16 bytes", {.shape = {4096}, .origin = {0}, .extent = {264}},
          "256 and 8", 2),
    takes("rows in equal parts", {.shape = {512, 64}, .origin = {0, 0}, .extent = {300, 64}},
          "150x64", 2),
    takes("257 rows", {.shape = {512, 64}, .origin = {0, 0}, .extent = {257, 64}},
          "256x64 and 1x64", 2),
    takes("300 rows with a swizzle", {.shape = {512, 64}, .origin = {0, 0}, .extent = {300, 64},
          .layout = swizzled({300, 64}, 128)}, "256x64 and 44x64", 2, "128B"),
    takes("320 rows with a swizzle", {.shape = {512, 64}, .origin = {0, 0}, .extent = {320, 64},
          .layout = swizzled({320, 64}, 128)}, "160x64", 2, "128B"),
    takes("narrow rows in aligned parts", {.shape = {1024, 16}, .origin = {0, 0},
          .extent = {600, 16}}, "200x16", 3),
    takes("wide rows one by one", {.shape = {64, 512}, .origin = {8, 0}, .extent = {4, 512}},
          "1x256", 8),
    takes("wide rows as panels", {.shape = {64, 512}, .origin = {0, 0}, .extent = {64, 512},
          .layout = tc::TileLayout(tc::Layout({64, {256, 2}}, {256, {1, 16384}}))}, "64x256", 2),
    fails("too wide rows", {.shape = {64, 512}, .origin = {0, 0}, .extent = {64, 512}},
          "tma.boxes", "128"),
    // ---- Swizzles ----
    takes("128 bytes", {.shape = {512, 512}, .origin = {64, 64}, .extent = {64, 64},
          .layout = swizzled({64, 64}, 128)}, "64x64", 1, "128B"),
    takes("128 bytes, two panels", {.shape = {512, 512}, .origin = {64, 128}, .extent = {64, 128},
          .layout = swizzled({64, 128}, 128)}, "64x64", 2, "128B"),
    takes("64 bytes, eight panels", {.shape = {512, 512}, .origin = {64, 0}, .extent = {64, 256},
          .layout = swizzled({64, 256}, 64)}, "64x32", 8, "64B"),
    takes("32 bytes, four panels", {.shape = {512, 512}, .origin = {64, 64}, .extent = {64, 64},
          .layout = swizzled({64, 64}, 32)}, "64x16", 4, "32B"),
    takes("4-byte elements", {.shape = {128, 128}, .dtype = tc::int32, .origin = {0, 32},
          .extent = {16, 32}, .layout = swizzled({16, 32}, 128, 4)}, "16x32", 1, "128B"),
    takes("1-byte elements", {.shape = {128, 128}, .dtype = tc::uint8, .origin = {0, 0},
          .extent = {16, 128}, .layout = swizzled({16, 128}, 128, 1)}, "16x128", 1, "128B"),
    takes("8-byte elements", {.shape = {128, 128}, .dtype = tc::int64, .origin = {0, 16},
          .extent = {64, 16}, .layout = swizzled({64, 16}, 128, 8)}, "64x16", 1, "128B"),
    takes("ragged", {.shape = {100, 120}, .origin = {64, 64}, .extent = {64, 64},
          .layout = swizzled({64, 64}, 128)}, "64x64", 1, "128B"),
    takes("seven rows", {.shape = {64, 64}, .origin = {3, 0}, .extent = {7, 64},
          .layout = swizzled({7, 64}, 128)}, "7x64", 1, "128B"),
    takes("rows shorter than the span", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 32},
          .tile = {64, 64}, .tile_origin = {0, 0}, .tile_extent = {64, 32},
          .layout = swizzled({64, 64}, 128)}, "64x32", 1, "128B"),
    takes("padded rows in the span", {.shape = {64, 64}, .origin = {0, 16}, .extent = {64, 48},
          .layout = tc::TileLayout(tc::padded_row_major({64, 48}, 16), tc::Swizzle(3, 3, 3))},
          "64x48", 1, "128B"),
    // The hardware would put each row at the beginning of a span.
    fails("dense rows shorter than the span", {.shape = {64, 64}, .origin = {0, 0},
          .extent = {64, 32},
          .layout = tc::TileLayout(tc::row_major({64, 32}), tc::Swizzle(3, 3, 3))},
          "tma.shared_alignment", "a box at byte 64"),
    fails("rows wider than the span", {.shape = {64, 128}, .origin = {0, 0}, .extent = {16, 128},
          .layout = tc::TileLayout(tc::row_major({16, 128}), tc::Swizzle(3, 3, 3))},
          "tma.shared_alignment", "a box at byte 256"),
    fails("a swizzle of 8-byte units", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(3, 2, 3))}, "tma.swizzle"),
    fails("a swizzle of 32-byte units", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(2, 4, 3))}, "tma.swizzle"),
    takes("a swizzle that does nothing", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(0, 4, 3))}, "64x64"),
    // ---- Regions of a tile ----
    takes("a stage", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64}, .tile = {2, 64, 64},
          .tile_origin = {1, 0, 0}, .tile_extent = {1, 64, 64}}, "64x64"),
    takes("a stage with a swizzle", {.shape = {64, 128}, .origin = {0, 0}, .extent = {64, 128},
          .tile = {3, 64, 128}, .tile_origin = {2, 0, 0}, .tile_extent = {1, 64, 128},
          .layout = swizzled({3, 64, 128}, 128)}, "64x64", 2, "128B"),
    takes("some rows", {.shape = {64, 64}, .origin = {0, 0}, .extent = {32, 64}, .tile = {64, 64},
          .tile_origin = {16, 0}, .tile_extent = {32, 64}}, "32x64"),
    takes("some columns", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 32},
          .tile = {64, 64}, .tile_origin = {0, 0}, .tile_extent = {64, 32}}, "1x32", 64),
    takes("some panels", {.shape = {64, 256}, .origin = {0, 64}, .extent = {64, 128},
          .tile = {64, 256}, .tile_origin = {0, 64}, .tile_extent = {64, 128},
          .layout = swizzled({64, 256}, 128)}, "64x64", 2, "128B"),
    fails("too many rows of some columns", {.shape = {128, 64}, .origin = {0, 0},
          .extent = {128, 32}, .tile = {128, 64}, .tile_origin = {0, 0}, .tile_extent = {128, 32}},
          "tma.boxes", "128"),
    fails("some columns of rows of 144 bytes", {.shape = {64, 64}, .origin = {0, 0},
          .extent = {32, 64}, .layout = tc::TileLayout(tc::padded_row_major({32, 64}, 8))},
          "tma.shared_alignment", "a box at byte 144"),
    fails("rows from the middle of a pattern", {.shape = {64, 64}, .origin = {0, 0},
          .extent = {32, 64}, .tile = {64, 64}, .tile_origin = {4, 0}, .tile_extent = {32, 64},
          .layout = swizzled({64, 64}, 128)}, "tma.shared_start", "byte 512"),
    fails("rows from 64 bytes", {.shape = {64, 32}, .origin = {0, 0}, .extent = {32, 32},
          .tile = {64, 32}, .tile_origin = {1, 0}, .tile_extent = {32, 32}},
          "tma.shared_start", "byte 64"),
    fails("parts of panels", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .tile = {64, 128}, .tile_origin = {0, 32}, .tile_extent = {64, 64},
          .layout = swizzled({64, 128}, 128)}, "tma.layout"),
    fails("past the tile", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .tile = {64, 64}, .tile_origin = {32, 0}, .tile_extent = {64, 64}},
          "tma.destination_bounds"),
    // ---- Dimensions ----
    takes("three", {.shape = {16, 32, 128}, .origin = {4, 16, 64}, .extent = {4, 16, 64}},
          "4x16x64"),
    takes("four", {.shape = {4, 8, 16, 64}, .origin = {1, 2, 4, 0}, .extent = {2, 2, 4, 64}},
          "2x2x4x64"),
    takes("five", {.shape = {2, 4, 8, 16, 64}, .origin = {0, 1, 2, 4, 0},
          .extent = {2, 2, 2, 4, 64}}, "2x2x2x4x64"),
    takes("a slice of four", {.shape = {4, 8, 64, 64}, .origin = {1, 2, 0, 0},
          .extent = {1, 1, 64, 64}}, "1x1x64x64"),
    takes("every second dimension", {.shape = {64, 8, 64}, .origin = {0, 3, 0},
          .extent = {64, 1, 64}}, "1x64x64"),
    takes("dimensions of one element", {.shape = {1, 64, 1, 1, 1, 64}, .origin = Ints(6),
          .extent = {1, 64, 1, 1, 1, 64}}, "64x64"),
    takes("any stride of one element", {.shape = {1, 64, 64}, .strides = {4099, 64, 1},
          .origin = {-1, 0, 0}, .extent = {1, 64, 64}}, "1x64x64"),
    takes("neighbours before a single index", {.shape = {64, 64, 1}, .strides = {64, 1, 1},
          .origin = {0, 0, -1}, .extent = {64, 64, 1}}, "1x64x64"),
    takes("six, of which two fold", {.shape = {2, 3, 4, 5, 16, 64}, .origin = {1, 2, 0, 0, 0, 0},
          .extent = {1, 1, 4, 1, 16, 64}}, "1x1x4x16x64"),
    takes("seven, folded with an index outside", {.shape = {2, 2, 3, 4, 5, 16, 64},
          .origin = {2, 1, 2, 3, 4, 0, 0}, .extent = {1, 1, 1, 1, 1, 16, 64}}, "1x1x1x16x64"),
    fails("six that do not fold", {.shape = {2, 2, 2, 2, 2, 64}, .origin = Ints(6),
          .extent = {2, 2, 2, 2, 2, 64}}, "tma.rank", "6"),
    fails("six with an index outside of the inner one", {.shape = {2, 3, 4, 5, 16, 64},
          .strides = {102400, 20480, 5120, 1024, 64, 1}, .origin = {1, 5, 1, 0, 0, 0},
          .extent = {1, 1, 4, 2, 16, 64}}, "tma.rank", "6"),
    takes("outer dimensions in another order", {.shape = {8, 16, 64}, .origin = {2, 0, 0},
          .extent = {4, 16, 64}, .layout = strided({4, 16, 64}, {64, 256, 1})}, "16x4x64"),
    // ---- Orders ----
    takes("column-major into column-major", {.shape = {128, 128}, .strides = {1, 128},
          .origin = {64, 32}, .extent = {64, 32}, .layout = strided({64, 32}, {1, 64})}, "32x64"),
    fails("column-major into row-major", {.shape = {128, 128}, .strides = {1, 128},
          .origin = {64, 32}, .extent = {64, 32}}, "tma.inner_box", "2 bytes"),
    fails("a transpose into row-major", {.shape = {128, 128}, .origin = {0, 0}, .extent = {64, 64},
          .transpose = true}, "tma.swizzle", "swizzle<3,3,6> o (64,64):(64,1)"),
    takes("a transpose into column-major", {.shape = {128, 128}, .origin = {64, 32},
          .extent = {32, 64}, .tile = {64, 32}, .layout = strided({64, 32}, {1, 64}),
          .transpose = true}, "32x64"),
    // ---- Rules ----
    fails("rows of 100 bytes", {.shape = {512, 512}, .origin = {0, 0}, .extent = {64, 50}},
          "tma.inner_box", "100 bytes"),
    fails("257 elements", {.shape = {4096}, .origin = {0}, .extent = {257}},
          "tma.inner_box", "2 bytes"),
    fails("a column", {.shape = {4096, 64}, .origin = {0, 8}, .extent = {512, 1}},
          "tma.inner_box", "2 bytes"),
    fails("every second element", {.shape = {64, 64}, .strides = {128, 2}, .origin = {0, 0},
          .extent = {64, 64}}, "tma.inner_stride", "stride 2"),
    fails("rows of 1002 bytes", {.shape = {64, 501}, .origin = {0, 0}, .extent = {64, 64}},
          "tma.outer_stride", "1002 bytes"),
    fails("rows of 2^40 bytes", {.shape = {64, 64}, .strides = {std::int64_t{1} << 39, 1},
          .origin = {0, 0}, .extent = {64, 64}}, "tma.outer_stride", "1099511627776 bytes"),
    fails("rows backwards", {.shape = {64, 64}, .strides = {-64, 1}, .origin = {0, 0},
          .extent = {64, 64}}, "tma.outer_stride", "-128 bytes"),
    fails("from element 1", {.shape = {64, 512}, .origin = {0, 1}, .extent = {64, 64}},
          "tma.inner_start", "2 bytes"),
    fails("from element -4", {.shape = {64, 512}, .origin = {0, -4}, .extent = {64, 64}},
          "tma.inner_start", "-8 bytes"),
    takes("from element 4 of 4 bytes", {.shape = {64, 512}, .dtype = tc::float32, .origin = {0, 4},
          .extent = {64, 64}}, "64x64"),
    fails("a safe value that elements take", {.shape = {60, 64}, .origin = {0, 0},
          .extent = {64, 64}, .safe = 3}, "tma.safe_value", "safe value float16(3.0)"),
    fails("a mebibyte", {.shape = {1024, 512}, .origin = {0, 0}, .extent = {1024, 512}},
          "tma.barrier_bytes", "1048576 bytes"),
    fails("2^31 columns", {.shape = {64, std::int64_t{1} << 31}, .dtype = tc::uint8,
          .origin = {0, 0}, .extent = {64, 64}}, "tma.size", "2147483648"),
    // ---- Stores ----
    takes("store", {.shape = {512, 512}, .origin = {64, 128}, .extent = {64, 64}, .store = true},
          "64x64"),
    takes("store with a swizzle", {.shape = {512, 512}, .origin = {64, 128}, .extent = {64, 128},
          .layout = swizzled({64, 128}, 128), .store = true}, "64x64", 2, "128B"),
    takes("store some columns with a swizzle", {.shape = {64, 64}, .origin = {0, 16},
          .extent = {64, 32}, .tile = {64, 64}, .tile_origin = {0, 0}, .tile_extent = {64, 32},
          .layout = swizzled({64, 64}, 128), .store = true}, "64x32", 1, "128B"),
    takes("store past the last row", {.shape = {100, 64}, .origin = {64, 0}, .extent = {64, 64},
          .store = true}, "64x64"),
    takes("store past the last column", {.shape = {64, 504}, .origin = {0, 448}, .extent = {64, 64},
          .store = true}, "64x64"),
    takes("store all outside", {.shape = {64, 64}, .origin = {64, 128}, .extent = {64, 64},
          .store = true}, "64x64"),
    takes("store in parts", {.shape = {512, 64}, .origin = {300, 0}, .extent = {257, 64},
          .store = true}, "256x64 and 1x64", 2),
    fails("store rows that end inside of 16 bytes", {.shape = {64, 61}, .strides = {64, 1},
          .origin = {0, 0}, .extent = {64, 64}, .store = true}, "tma.store_granule", "122 bytes"),
    takes("store before such an end", {.shape = {64, 125}, .strides = {128, 1}, .origin = {0, 0},
          .extent = {64, 64}, .store = true}, "64x64"),
    fails("store before the first row", {.shape = {64, 64}, .origin = {-1, 0}, .extent = {64, 64},
          .store = true}, "tma.store_start", "a start at -1"),
    fails("store before the first column", {.shape = {64, 64}, .origin = {0, -16},
          .extent = {64, 64}, .store = true}, "tma.store_start", "a start at -16"),
    fails("store from past the tile", {.shape = {64, 64}, .origin = {0, 0}, .extent = {64, 64},
          .tile = {64, 64}, .tile_origin = {32, 0}, .tile_extent = {64, 64}, .store = true},
          "tma.source_bounds"),
};
// clang-format on

TEST(Tma, Table) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const TmaCase c = row.c.completed();
    const Planned planned(c.function());
    if (*row.rule) {
      ASSERT_FALSE(planned.plan) << planned.parameter("box");
      EXPECT_EQ(planned.rule(), row.rule) << planned.rules->failed()->found;
      if (*row.found) {
        EXPECT_EQ(planned.rules->failed()->found, row.found);
      }
      EXPECT_FALSE(planned.rules->failed()->needed.empty());
      continue;
    }
    ASSERT_TRUE(planned.plan) << planned.rule() << ": " << planned.rules->failed()->found;
    EXPECT_EQ(planned.parameter("box"), row.box);
    EXPECT_EQ(planned.parameter("boxes"), fmt::format("{}", row.boxes));
    EXPECT_EQ(planned.parameter("swizzle"), row.swizzle);
    tc::test::check_moves(c, planned);
  }
}

TEST(Tma, HasEnoughRows) { EXPECT_GE(rows.size(), 60u); }

}  // namespace
