// Tiled copies of the TMA unit by table: the boxes of a copy, or the first rule that it fails. Each
// plan's lowering also runs on a model of the unit, and every element must lie where the layout
// says.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "copy/cuda_common.h"
#include "ir/make.h"
#include "pipe.h"
#include "tilecopy/tilecopy.h"
#include "tma_model.h"

namespace tc = tilecopy;
using Ints = std::vector<std::int64_t>;

namespace {

const char* const hopper = "cuda -arch=sm_90a";

struct Row {
  const char* what;
  // The tensor A and the region of it; strides are row-major where empty.
  Ints shape, strides = {};
  tc::DType dtype = tc::float16;
  Ints origin, extent;
  // The tile and the region of it; as large as the tensor's, without dimensions, where empty.
  Ints tile = {}, tile_origin = {}, tile_extent = {};
  std::optional<tc::TileLayout> layout = {};
  bool store = false, transpose = false;
  int safe = 0;
  // What is expected.
  const char* rule = "";  // the first that fails, with what it found; or none, and
  const char* found = "";
  const char* box = "";
  int boxes = 1;
  const char* swizzle = "none";
};

tc::TileLayout strided(Ints shape, Ints stride) {
  return tc::TileLayout(tc::Layout(tc::IntTuple(shape), tc::IntTuple(stride)));
}

// Of a tile of 2-byte elements unless `element` says otherwise.
tc::TileLayout swizzled(const Ints& shape, int span, int element = 2) {
  return tc::swizzled_row_major(shape, element, span);
}

const Row rows[] = {
    // ---- One box ----
    {.what = "2-byte",
     .shape = {512, 512},
     .origin = {64, 128},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "4-byte",
     .shape = {512, 512},
     .dtype = tc::float32,
     .origin = {64, 128},
     .extent = {64, 128},
     .box = "64x128"},
    {.what = "1-byte",
     .shape = {512, 512},
     .dtype = tc::uint8,
     .origin = {64, 256},
     .extent = {32, 256},
     .box = "32x256"},
    {.what = "8-byte",
     .shape = {512, 512},
     .dtype = tc::float64,
     .origin = {64, 128},
     .extent = {16, 64},
     .box = "16x64"},
    {.what = "8-byte integers",
     .shape = {64, 64},
     .dtype = tc::int64,
     .origin = {0, 2},
     .extent = {16, 16},
     .box = "16x16"},
    {.what = "bool",
     .shape = {128, 128},
     .dtype = tc::bool_,
     .origin = {64, 64},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "8-bit floats",
     .shape = {256, 256},
     .dtype = tc::float8_e4m3fn,
     .origin = {0, 128},
     .extent = {128, 128},
     .box = "128x128"},
    {.what = "the largest box",
     .shape = {512, 512},
     .dtype = tc::int8,
     .origin = {0, 256},
     .extent = {256, 256},
     .box = "256x256"},
    {.what = "a small tile when asked for",
     .shape = {64, 64},
     .origin = {0, 8},
     .extent = {4, 8},
     .box = "4x8"},
    {.what = "padded rows",
     .shape = {64, 60},
     .strides = {72, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "stride 0",
     .shape = {64, 64},
     .strides = {0, 1},
     .origin = {8, 0},
     .extent = {32, 64},
     .box = "32x64"},
    // ---- Out of bounds ----
    {.what = "past the last column",
     .shape = {64, 504},
     .origin = {0, 448},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "past the last row",
     .shape = {100, 64},
     .origin = {64, 0},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "before the first row",
     .shape = {100, 64},
     .origin = {-3, 0},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "before the first column",
     .shape = {64, 64},
     .origin = {0, -16},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "all outside",
     .shape = {64, 64},
     .origin = {1000, -512},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "columns that end inside of 16 bytes",
     .shape = {64, 61},
     .strides = {64, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "a single index outside",
     .shape = {4, 64, 64},
     .origin = {4, 0, 0},
     .extent = {1, 64, 64},
     .box = "1x64x64"},
    {.what = "a single index before",
     .shape = {1, 64, 64},
     .origin = {-1, 0, 0},
     .extent = {1, 64, 64},
     .box = "1x64x64"},
    {.what = "a far row",
     .shape = {64, 64},
     .origin = {std::int64_t{1} << 40, 0},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "a far column",
     .shape = {64, 64},
     .origin = {0, std::int64_t{1} << 40},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "a far column before",
     .shape = {64, 64},
     .origin = {0, -(std::int64_t{1} << 40)},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "a safe value that no element takes",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .safe = 3,
     .box = "64x64"},
    // ---- Parts of dimensions above 256 ----
    {.what = "a row of 1024",
     .shape = {4096},
     .origin = {1024},
     .extent = {1024},
     .box = "256",
     .boxes = 4},
    {.what = "a row in equal parts",
     .shape = {4096},
     .origin = {8},
     .extent = {384},
     .box = "192",
     .boxes = 2},
    {.what = "a row with a rest",
     .shape = {4096},
     .dtype = tc::float32,
     .origin = {0},
     .extent = {300},
     .box = "256 and 44",
     .boxes = 2},
    {.what = "a row with a rest of 16 bytes",
     .shape = {4096},
     .origin = {0},
     .extent = {264},
     .box = "256 and 8",
     .boxes = 2},
    {.what = "rows in equal parts",
     .shape = {512, 64},
     .origin = {0, 0},
     .extent = {300, 64},
     .box = "150x64",
     .boxes = 2},
    {.what = "257 rows",
     .shape = {512, 64},
     .origin = {0, 0},
     .extent = {257, 64},
     .box = "256x64 and 1x64",
     .boxes = 2},
    {.what = "300 rows with a swizzle",
     .shape = {512, 64},
     .origin = {0, 0},
     .extent = {300, 64},
     .layout = swizzled({300, 64}, 128),
     .box = "256x64 and 44x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "320 rows with a swizzle",
     .shape = {512, 64},
     .origin = {0, 0},
     .extent = {320, 64},
     .layout = swizzled({320, 64}, 128),
     .box = "160x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "narrow rows in aligned parts",
     .shape = {1024, 16},
     .origin = {0, 0},
     .extent = {600, 16},
     .box = "200x16",
     .boxes = 3},
    {.what = "wide rows one by one",
     .shape = {64, 512},
     .origin = {8, 0},
     .extent = {4, 512},
     .box = "1x256",
     .boxes = 8},
    {.what = "wide rows as panels",
     .shape = {64, 512},
     .origin = {0, 0},
     .extent = {64, 512},
     .layout =
         tc::TileLayout(tc::Layout(tc::IntTuple{64, {256, 2}}, tc::IntTuple{256, {1, 16384}})),
     .box = "64x256",
     .boxes = 2},
    {.what = "too wide rows",
     .shape = {64, 512},
     .origin = {0, 0},
     .extent = {64, 512},
     .rule = "tma.boxes",
     .found = "128"},
    // ---- Swizzles ----
    {.what = "128 bytes",
     .shape = {512, 512},
     .origin = {64, 64},
     .extent = {64, 64},
     .layout = swizzled({64, 64}, 128),
     .box = "64x64",
     .swizzle = "128B"},
    {.what = "128 bytes, two panels",
     .shape = {512, 512},
     .origin = {64, 128},
     .extent = {64, 128},
     .layout = swizzled({64, 128}, 128),
     .box = "64x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "64 bytes, eight panels",
     .shape = {512, 512},
     .origin = {64, 0},
     .extent = {64, 256},
     .layout = swizzled({64, 256}, 64),
     .box = "64x32",
     .boxes = 8,
     .swizzle = "64B"},
    {.what = "32 bytes, four panels",
     .shape = {512, 512},
     .origin = {64, 64},
     .extent = {64, 64},
     .layout = swizzled({64, 64}, 32),
     .box = "64x16",
     .boxes = 4,
     .swizzle = "32B"},
    {.what = "4-byte elements",
     .shape = {128, 128},
     .dtype = tc::int32,
     .origin = {0, 32},
     .extent = {16, 32},
     .layout = swizzled({16, 32}, 128, 4),
     .box = "16x32",
     .swizzle = "128B"},
    {.what = "1-byte elements",
     .shape = {128, 128},
     .dtype = tc::uint8,
     .origin = {0, 0},
     .extent = {16, 128},
     .layout = swizzled({16, 128}, 128, 1),
     .box = "16x128",
     .swizzle = "128B"},
    {.what = "8-byte elements",
     .shape = {128, 128},
     .dtype = tc::int64,
     .origin = {0, 16},
     .extent = {64, 16},
     .layout = swizzled({64, 16}, 128, 8),
     .box = "64x16",
     .swizzle = "128B"},
    {.what = "ragged",
     .shape = {100, 120},
     .origin = {64, 64},
     .extent = {64, 64},
     .layout = swizzled({64, 64}, 128),
     .box = "64x64",
     .swizzle = "128B"},
    {.what = "seven rows",
     .shape = {64, 64},
     .origin = {3, 0},
     .extent = {7, 64},
     .layout = swizzled({7, 64}, 128),
     .box = "7x64",
     .swizzle = "128B"},
    {.what = "rows shorter than the span",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 32},
     .tile = {64, 64},
     .tile_origin = {0, 0},
     .tile_extent = {64, 32},
     .layout = swizzled({64, 64}, 128),
     .box = "64x32",
     .swizzle = "128B"},
    {.what = "padded rows in the span",
     .shape = {64, 64},
     .origin = {0, 16},
     .extent = {64, 48},
     .layout = tc::TileLayout(tc::padded_row_major({64, 48}, 16), tc::Swizzle(3, 3, 3)),
     .box = "64x48",
     .swizzle = "128B"},
    // The hardware would put each row at the beginning of a span.
    {.what = "dense rows shorter than the span",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 32},
     .layout = tc::TileLayout(tc::row_major({64, 32}), tc::Swizzle(3, 3, 3)),
     .rule = "tma.shared_alignment",
     .found = "a box at byte 64"},
    {.what = "rows wider than the span",
     .shape = {64, 128},
     .origin = {0, 0},
     .extent = {16, 128},
     .layout = tc::TileLayout(tc::row_major({16, 128}), tc::Swizzle(3, 3, 3)),
     .rule = "tma.shared_alignment",
     .found = "a box at byte 128"},
    {.what = "a swizzle of 8-byte units",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(3, 2, 3)),
     .rule = "tma.swizzle"},
    {.what = "a swizzle of 32-byte units",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(2, 4, 3)),
     .rule = "tma.swizzle"},
    {.what = "a swizzle that does nothing",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .layout = tc::TileLayout(tc::row_major({64, 64}), tc::Swizzle(0, 4, 3)),
     .box = "64x64"},
    // ---- Regions of a tile ----
    {.what = "a stage",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .tile = {2, 64, 64},
     .tile_origin = {1, 0, 0},
     .tile_extent = {1, 64, 64},
     .box = "64x64"},
    {.what = "a stage with a swizzle",
     .shape = {64, 128},
     .origin = {0, 0},
     .extent = {64, 128},
     .tile = {3, 64, 128},
     .tile_origin = {2, 0, 0},
     .tile_extent = {1, 64, 128},
     .layout = swizzled({3, 64, 128}, 128),
     .box = "64x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "some rows",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {32, 64},
     .tile = {64, 64},
     .tile_origin = {16, 0},
     .tile_extent = {32, 64},
     .box = "32x64"},
    {.what = "some columns",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 32},
     .tile = {64, 64},
     .tile_origin = {0, 0},
     .tile_extent = {64, 32},
     .box = "1x32",
     .boxes = 64},
    {.what = "some panels",
     .shape = {64, 256},
     .origin = {0, 64},
     .extent = {64, 128},
     .tile = {64, 256},
     .tile_origin = {0, 64},
     .tile_extent = {64, 128},
     .layout = swizzled({64, 256}, 128),
     .box = "64x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "too many rows of some columns",
     .shape = {128, 64},
     .origin = {0, 0},
     .extent = {128, 32},
     .tile = {128, 64},
     .tile_origin = {0, 0},
     .tile_extent = {128, 32},
     .rule = "tma.boxes",
     .found = "128"},
    {.what = "some columns of rows of 144 bytes",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {32, 64},
     .layout = tc::TileLayout(tc::padded_row_major({32, 64}, 8)),
     .rule = "tma.shared_alignment",
     .found = "a box at byte 144"},
    {.what = "rows from the middle of a pattern",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {32, 64},
     .tile = {64, 64},
     .tile_origin = {4, 0},
     .tile_extent = {32, 64},
     .layout = swizzled({64, 64}, 128),
     .rule = "tma.shared_start",
     .found = "byte 512"},
    {.what = "rows from 64 bytes",
     .shape = {64, 32},
     .origin = {0, 0},
     .extent = {32, 32},
     .tile = {64, 32},
     .tile_origin = {1, 0},
     .tile_extent = {32, 32},
     .rule = "tma.shared_start",
     .found = "byte 64"},
    {.what = "parts of panels",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .tile = {64, 128},
     .tile_origin = {0, 32},
     .tile_extent = {64, 64},
     .layout = swizzled({64, 128}, 128),
     .rule = "tma.layout"},
    {.what = "past the tile",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .tile = {64, 64},
     .tile_origin = {32, 0},
     .tile_extent = {64, 64},
     .rule = "tma.destination_bounds"},
    // ---- Dimensions ----
    {.what = "three",
     .shape = {16, 32, 128},
     .origin = {4, 16, 64},
     .extent = {4, 16, 64},
     .box = "4x16x64"},
    {.what = "four",
     .shape = {4, 8, 16, 64},
     .origin = {1, 2, 4, 0},
     .extent = {2, 2, 4, 64},
     .box = "2x2x4x64"},
    {.what = "five",
     .shape = {2, 4, 8, 16, 64},
     .origin = {0, 1, 2, 4, 0},
     .extent = {2, 2, 2, 4, 64},
     .box = "2x2x2x4x64"},
    {.what = "a slice of four",
     .shape = {4, 8, 64, 64},
     .origin = {1, 2, 0, 0},
     .extent = {1, 1, 64, 64},
     .box = "1x1x64x64"},
    {.what = "every second dimension",
     .shape = {64, 8, 64},
     .origin = {0, 3, 0},
     .extent = {64, 1, 64},
     .box = "1x64x64"},
    {.what = "dimensions of one element",
     .shape = {1, 64, 1, 1, 1, 64},
     .origin = Ints(6),
     .extent = {1, 64, 1, 1, 1, 64},
     .box = "64x64"},
    {.what = "six, of which two fold",
     .shape = {2, 3, 4, 5, 16, 64},
     .origin = {1, 2, 0, 0, 0, 0},
     .extent = {1, 1, 4, 1, 16, 64},
     .box = "1x1x4x16x64"},
    {.what = "seven, folded with an index outside",
     .shape = {2, 2, 3, 4, 5, 16, 64},
     .origin = {2, 1, 2, 3, 4, 0, 0},
     .extent = {1, 1, 1, 1, 1, 16, 64},
     .box = "1x1x1x16x64"},
    {.what = "six that do not fold",
     .shape = {2, 2, 2, 2, 2, 64},
     .origin = Ints(6),
     .extent = {2, 2, 2, 2, 2, 64},
     .rule = "tma.rank",
     .found = "6"},
    {.what = "six with an index outside of the inner one",
     .shape = {2, 3, 4, 5, 16, 64},
     .strides = {102400, 20480, 5120, 1024, 64, 1},
     .origin = {1, 5, 0, 0, 0, 0},
     .extent = {1, 1, 4, 2, 16, 64},
     .rule = "tma.rank",
     .found = "6"},
    {.what = "outer dimensions in another order",
     .shape = {8, 16, 64},
     .origin = {2, 0, 0},
     .extent = {4, 16, 64},
     .layout = strided({4, 16, 64}, {64, 256, 1}),
     .box = "16x4x64"},
    // ---- Orders ----
    {.what = "column-major into column-major",
     .shape = {128, 128},
     .strides = {1, 128},
     .origin = {64, 32},
     .extent = {64, 32},
     .layout = strided({64, 32}, {1, 64}),
     .box = "32x64"},
    {.what = "column-major into row-major",
     .shape = {128, 128},
     .strides = {1, 128},
     .origin = {64, 32},
     .extent = {64, 32},
     .rule = "tma.inner_box",
     .found = "2 bytes"},
    {.what = "a transpose into row-major",
     .shape = {128, 128},
     .origin = {0, 0},
     .extent = {64, 64},
     .transpose = true,
     .rule = "tma.inner_box",
     .found = "2 bytes"},
    {.what = "a transpose into column-major",
     .shape = {128, 128},
     .origin = {64, 32},
     .extent = {32, 64},
     .tile = {64, 32},
     .layout = strided({64, 32}, {1, 64}),
     .transpose = true,
     .box = "32x64"},
    // ---- Rules ----
    {.what = "rows of 100 bytes",
     .shape = {512, 512},
     .origin = {0, 0},
     .extent = {64, 50},
     .rule = "tma.inner_box",
     .found = "100 bytes"},
    {.what = "257 elements",
     .shape = {4096},
     .origin = {0},
     .extent = {257},
     .rule = "tma.inner_box",
     .found = "2 bytes"},
    {.what = "a column",
     .shape = {4096, 64},
     .origin = {0, 8},
     .extent = {512, 1},
     .rule = "tma.inner_box",
     .found = "2 bytes"},
    {.what = "every second element",
     .shape = {64, 64},
     .strides = {128, 2},
     .origin = {0, 0},
     .extent = {64, 64},
     .rule = "tma.inner_stride",
     .found = "stride 2"},
    {.what = "rows of 1002 bytes",
     .shape = {64, 501},
     .origin = {0, 0},
     .extent = {64, 64},
     .rule = "tma.outer_stride",
     .found = "1002 bytes"},
    {.what = "rows of 2^40 bytes",
     .shape = {64, 64},
     .strides = {std::int64_t{1} << 39, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .rule = "tma.outer_stride",
     .found = "1099511627776 bytes"},
    {.what = "rows backwards",
     .shape = {64, 64},
     .strides = {-64, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .rule = "tma.outer_stride",
     .found = "-128 bytes"},
    {.what = "from element 1",
     .shape = {64, 512},
     .origin = {0, 1},
     .extent = {64, 64},
     .rule = "tma.inner_start",
     .found = "2 bytes"},
    {.what = "from element -4",
     .shape = {64, 512},
     .origin = {0, -4},
     .extent = {64, 64},
     .rule = "tma.inner_start",
     .found = "-8 bytes"},
    {.what = "from element 4 of 4 bytes",
     .shape = {64, 512},
     .dtype = tc::float32,
     .origin = {0, 4},
     .extent = {64, 64},
     .box = "64x64"},
    {.what = "a safe value that elements take",
     .shape = {60, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .safe = 3,
     .rule = "tma.safe_value",
     .found = "safe value float16(3.0)"},
    {.what = "a mebibyte",
     .shape = {1024, 512},
     .origin = {0, 0},
     .extent = {1024, 512},
     .rule = "tma.barrier_bytes",
     .found = "1048576 bytes"},
    {.what = "2^31 columns",
     .shape = {64, std::int64_t{1} << 31},
     .dtype = tc::uint8,
     .origin = {0, 0},
     .extent = {64, 64},
     .rule = "tma.size",
     .found = "2147483648"},
    // ---- Stores ----
    {.what = "store",
     .shape = {512, 512},
     .origin = {64, 128},
     .extent = {64, 64},
     .store = true,
     .box = "64x64"},
    {.what = "store with a swizzle",
     .shape = {512, 512},
     .origin = {64, 128},
     .extent = {64, 128},
     .layout = swizzled({64, 128}, 128),
     .store = true,
     .box = "64x64",
     .boxes = 2,
     .swizzle = "128B"},
    {.what = "store some columns with a swizzle",
     .shape = {64, 64},
     .origin = {0, 16},
     .extent = {64, 32},
     .tile = {64, 64},
     .tile_origin = {0, 0},
     .tile_extent = {64, 32},
     .layout = swizzled({64, 64}, 128),
     .store = true,
     .box = "64x32",
     .swizzle = "128B"},
    {.what = "store past the last row",
     .shape = {100, 64},
     .origin = {64, 0},
     .extent = {64, 64},
     .store = true,
     .box = "64x64"},
    {.what = "store past the last column",
     .shape = {64, 504},
     .origin = {0, 448},
     .extent = {64, 64},
     .store = true,
     .box = "64x64"},
    {.what = "store all outside",
     .shape = {64, 64},
     .origin = {64, 128},
     .extent = {64, 64},
     .store = true,
     .box = "64x64"},
    {.what = "store in parts",
     .shape = {512, 64},
     .origin = {300, 0},
     .extent = {257, 64},
     .store = true,
     .box = "256x64 and 1x64",
     .boxes = 2},
    {.what = "store rows that end inside of 16 bytes",
     .shape = {64, 61},
     .strides = {64, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .store = true,
     .rule = "tma.store_granule",
     .found = "122 bytes"},
    {.what = "store before such an end",
     .shape = {64, 125},
     .strides = {128, 1},
     .origin = {0, 0},
     .extent = {64, 64},
     .store = true,
     .box = "64x64"},
    {.what = "store before the first row",
     .shape = {64, 64},
     .origin = {-1, 0},
     .extent = {64, 64},
     .store = true,
     .rule = "tma.store_start",
     .found = "a start at -1"},
    {.what = "store before the first column",
     .shape = {64, 64},
     .origin = {0, -16},
     .extent = {64, 64},
     .store = true,
     .rule = "tma.store_start",
     .found = "a start at -16"},
    {.what = "store from past the tile",
     .shape = {64, 64},
     .origin = {0, 0},
     .extent = {64, 64},
     .tile = {64, 64},
     .tile_origin = {32, 0},
     .tile_extent = {64, 64},
     .store = true,
     .rule = "tma.source_bounds"},
};

tc::Access region(const tc::Buffer& buffer, const Ints& origin, const Ints& extent) {
  std::vector<tc::Index> indices;
  for (std::size_t d = 0; d < origin.size(); ++d) {
    indices.emplace_back(tc::range(origin[d], origin[d] + extent[d]));
  }
  return tc::Access(buffer, indices);
}

struct Case {
  Row row;

  // The sides of the tile where the row leaves them out.
  explicit Case(const Row& r) : row(r) {
    if (row.tile.empty()) {
      for (std::int64_t extent : row.extent) {
        if (extent > 1) row.tile.push_back(extent);
      }
      if (row.transpose) std::swap(row.tile[row.tile.size() - 1], row.tile[row.tile.size() - 2]);
    }
    if (row.tile_origin.empty()) row.tile_origin.assign(row.tile.size(), 0);
    if (row.tile_extent.empty()) row.tile_extent = row.tile;
  }

  tc::Function function() const {
    return tc::function("f", [&] {
      std::vector<tc::Expr> strides(row.strides.begin(), row.strides.end());
      auto a = tc::tensor("A", {row.shape.begin(), row.shape.end()}, row.dtype, strides);
      tc::kernel({1});
      auto tile = tc::alloc_shared({row.tile.begin(), row.tile.end()}, row.dtype, "tile");
      if (row.layout) tc::annotate_layout(tile, *row.layout);
      if (row.safe) tc::annotate_safe_value(a, row.safe);
      tc::Access outer = region(a, row.origin, row.extent);
      tc::Access inner = region(tile, row.tile_origin, row.tile_extent);
      if (row.transpose) {
        tc::transpose(outer, inner);
      } else if (row.store) {
        tc::cuda::copy(inner, outer, {.prefer_instruction = "tma"});
      } else {
        tc::cuda::copy(outer, inner, {.prefer_instruction = "tma"});
      }
    });
  }
};

// A function that has been planned, and what tma says of its first operation.
struct Planned {
  explicit Planned(const tc::Function& function, const char* target = hopper, bool usual = true) {
    passage.tile = function.shared();
    tc::lower_through(passage, tc::target::parse_target(target), "select_copies");
    auto& variant = usual ? passage.variants.front() : passage.variants.back();
    site = &variant->decisions.at(0).site;
    rules = std::make_unique<tc::planner::Rules>("tma", *site);
    plan = tc::planner::tma.plan(*site, *rules);
    if (plan) plan->mbarrier = tc::ir::make_int(0);
  }

  std::string parameter(const std::string& name) const {
    for (const auto& [key, value] : plan->parameters) {
      if (key == name) return value;
    }
    return "<none>";
  }
  std::string rule() const { return plan ? "<none>" : rules->failed()->id; }
  tc::ir::Stmt lowered() const { return tc::planner::tma.lower(*plan, *site); }
  const tc::Buffer& tile() const {
    return site->dst.buffer.scope() == tc::Scope::shared ? site->dst.buffer : site->src->buffer;
  }

  tc::Passage passage;
  const tc::planner::Site* site = nullptr;
  std::unique_ptr<tc::planner::Rules> rules;
  std::unique_ptr<tc::planner::Plan> plan;
};

// ---- Elements by brute force ----

struct Element {
  std::int64_t shared;             // in elements, through the layout
  std::optional<std::int64_t> at;  // in the tensor, if it is inside
};

Ints dense_strides(const Ints& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<Element> elements(const Row& row) {
  auto loops = [](const Ints& extent, bool swap) {
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < extent.size(); ++d) dims.push_back(d);
    if (swap) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::erase_if(dims, [&](std::size_t d) { return extent[d] == 1; });
    return dims;
  };
  std::vector<std::size_t> outer = loops(row.extent, row.transpose);
  std::vector<std::size_t> inner = loops(row.tile_extent, false);
  Ints strides = row.strides.empty() ? dense_strides(row.shape) : row.strides;
  tc::TileLayout layout = row.layout ? *row.layout : tc::TileLayout(tc::row_major(row.tile));
  std::int64_t count = 1;
  for (std::size_t d : inner) count *= row.tile_extent[d];
  std::vector<Element> result;
  for (std::int64_t i = 0; i < count; ++i) {
    Ints at = row.origin, in = row.tile_origin;
    std::int64_t rest = i;
    for (std::size_t k = inner.size(); k-- > 0;) {
      std::int64_t index = rest % row.tile_extent[inner[k]];
      rest /= row.tile_extent[inner[k]];
      at[outer[k]] += index;
      in[inner[k]] += index;
    }
    bool inside = true;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      inside &= at[d] >= 0 && at[d] < row.shape[d];
      if (inside) offset += at[d] * strides[d];
    }
    result.push_back({layout(tc::IntTuple(in)), inside ? std::optional(offset) : std::nullopt});
  }
  return result;
}

// Runs the lowering with the tile at different places, and checks every byte.
void check_moves(const Row& row, const Planned& planned) {
  const std::int64_t element = tc::bytes(row.dtype);
  const std::int64_t tile_bytes =
      tc::planner::tile_elements(planned.tile(), *planned.site->layouts) * element;
  const std::vector<Element> wanted = elements(row);
  std::int64_t period = row.layout && row.layout->swizzle()
                            ? std::max<std::int64_t>(row.layout->swizzle()->period() * element, 128)
                            : 128;
  for (std::int64_t base : {std::int64_t{0}, 3 * period}) {
    tc::test::TmaModel model(*planned.plan, planned.tile(), base, tile_bytes);
    auto byte = [&](const Element& e) {
      return static_cast<std::size_t>(base + e.shared * element);
    };
    if (row.store) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        for (std::int64_t b = 0; b < element; ++b) {
          model.shared[byte(wanted[i]) + static_cast<std::size_t>(b)] =
              static_cast<std::int64_t>(i) * 16 + b;
        }
      }
    }
    model.run(planned.lowered(), {{planned.site->simt->thread.node(), 0}});
    EXPECT_EQ(model.faults(), "");
    EXPECT_EQ(model.boxes, row.boxes);
    EXPECT_EQ(model.expected_bytes, planned.plan->barrier_bytes);
    EXPECT_EQ(model.loaded_bytes, planned.plan->barrier_bytes);
    EXPECT_EQ(model.commits, row.store ? 1 : 0);
    if (row.store) {
      std::map<std::int64_t, std::int64_t> written;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].at) written[*wanted[i].at] = static_cast<std::int64_t>(i);
      }
      EXPECT_EQ(model.global, written);
      continue;
    }
    std::vector<std::int64_t> shared(model.shared.size(), tc::test::untouched);
    for (const Element& e : wanted) {
      for (std::int64_t b = 0; b < element; ++b) {
        shared[byte(e) + static_cast<std::size_t>(b)] = e.at ? *e.at * 16 + b : tc::test::zero_byte;
      }
    }
    EXPECT_TRUE(model.shared == shared) << "elements in the wrong places";
  }
}

TEST(Tma, Table) {
  for (const Row& given : rows) {
    SCOPED_TRACE(given.what);
    Case c(given);
    Planned planned(c.function());
    if (*given.rule) {
      ASSERT_FALSE(planned.plan) << planned.parameter("box");
      EXPECT_EQ(planned.rule(), given.rule) << planned.rules->failed()->found;
      if (*given.found) EXPECT_EQ(planned.rules->failed()->found, given.found);
      EXPECT_FALSE(planned.rules->failed()->needed.empty());
      continue;
    }
    ASSERT_TRUE(planned.plan) << planned.rule() << ": " << planned.rules->failed()->found;
    EXPECT_EQ(planned.parameter("box"), given.box);
    EXPECT_EQ(planned.parameter("boxes"), fmt::format("{}", given.boxes));
    EXPECT_EQ(planned.parameter("swizzle"), given.swizzle);
    check_moves(c.row, planned);
  }
}

TEST(Tma, HasEnoughRows) { EXPECT_GE(std::size(rows), 60u); }

// ---- Rules that the table has no columns for ----

struct Operands {
  tc::DType from = tc::float16, to = tc::float16;
  tc::cuda::CopyOptions options = {};
  std::int64_t size = 64;
};

tc::Function square(const Operands& o) {
  return tc::function("f", [&] {
    auto a = tc::tensor("A", {512, 512}, o.from);
    auto [bx, by] = tc::kernel({tc::ceildiv(512, o.size), tc::ceildiv(512, o.size)});
    auto tile = tc::alloc_shared({o.size, o.size}, o.to);
    tc::cuda::copy(a(by * o.size, bx * o.size), tile, o.options);
  });
}

TEST(Tma, NeedsItsUnit) {
  EXPECT_EQ(Planned(square({}), "cuda -arch=sm_80").rule(), "tma.arch");
  EXPECT_EQ(Planned(square({}), "cuda -arch=sm_100a").rule(), "<none>");
  EXPECT_EQ(Planned(square({.options = {.disable_tma = true}})).rule(), "tma.disable_tma");
}

TEST(Tma, MovesBitsAsTheyAre) {
  Planned planned(square({.from = tc::float32}));
  EXPECT_EQ(planned.rule(), "tma.dtype");
  EXPECT_EQ(planned.rules->failed()->found, "float32 to float16");
}

TEST(Tma, LeavesSmallTilesToThreads) {
  Planned planned(square({.size = 16}));
  EXPECT_EQ(planned.rule(), "tma.tile_bytes");
  EXPECT_EQ(planned.rules->failed()->found, "512 bytes");
  EXPECT_EQ(Planned(square({.options = {.prefer_instruction = "tma"}, .size = 16})).rule(),
            "<none>");
}

tc::Function between(tc::Scope from, tc::Scope to) {
  return tc::function("f", [&] {
    auto a = tc::tensor("A", {64, 64}, tc::float16);
    auto b = tc::tensor("B", {64, 64}, tc::float16);
    tc::kernel({1});
    auto make = [&](tc::Scope scope, const tc::Buffer& tensor) {
      return scope == tc::Scope::global   ? tensor
             : scope == tc::Scope::shared ? tc::alloc_shared({64, 64}, tc::float16)
                                          : tc::alloc_fragment({64, 64}, tc::float16);
    };
    auto src = make(from, a);
    auto dst = make(to, b);
    tc::copy(src, dst);
  });
}

TEST(Tma, MovesBetweenGlobalAndSharedMemory) {
  using tc::Scope;
  for (auto [from, to] :
       {std::pair{Scope::global, Scope::global}, std::pair{Scope::shared, Scope::shared},
        std::pair{Scope::global, Scope::fragment}, std::pair{Scope::fragment, Scope::global}}) {
    EXPECT_EQ(Planned(between(from, to)).rule(), "tma.scopes");
  }
  auto fill = tc::function("f", [] {
    tc::kernel({1});
    tc::clear(tc::alloc_shared({64, 64}, tc::float16));
  });
  EXPECT_EQ(Planned(fill).rule(), "tma.operation");
}

TEST(Tma, ReadsOnlyWhatTheKernelDoesNotWrite) {
  auto f = tc::function("f", [] {
    auto a = tc::tensor("A", {64, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a, tile);
    tc::copy(tile, a);
  });
  Planned planned(f);
  EXPECT_EQ(planned.rule(), "tma.source_written");
  EXPECT_EQ(planned.rules->failed()->found, "A is written by this kernel, too");
}

// ---- What only a launch decides ----

std::vector<std::string> texts(const std::vector<tc::planner::Guard>& guards) {
  std::vector<std::string> result;
  for (const auto& guard : guards) result.push_back(guard.text);
  return result;
}

tc::Function symbolic(bool store) {
  return tc::function("f", [&] {
    tc::Var n = tc::symbol("n"), m = tc::symbol("m");
    auto a = tc::tensor("A", {n, m}, tc::float16);
    auto [bx, by] = tc::kernel({tc::ceildiv(m, 64), tc::ceildiv(n, 64)});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    if (store) {
      tc::copy(tile, a(by * 64, bx * 64));
    } else {
      tc::copy(a(by * 64, bx * 64), tile);
    }
  });
}

TEST(Tma, SizesAndAlignmentBecomeGuards) {
  for (bool store : {false, true}) {
    Planned usual(symbolic(store));
    ASSERT_TRUE(usual.plan) << usual.rule();
    EXPECT_EQ(texts(usual.plan->guards),
              (std::vector<std::string>{"m is at most 2147483136", "n is at most 2147483136",
                                        "m is a multiple of 8", "A is 16-byte aligned"}));
    Planned any(symbolic(store), hopper, false);
    EXPECT_EQ(any.rule(), "tma.size");
  }
}

TEST(Tma, AlignmentIsNeverTakenForGranted) {
  Planned any(square({}), hopper, false);
  EXPECT_EQ(any.rule(), "tma.alignment");
}

TEST(Tma, ExtentsAreConstant) {
  tc::Var n = tc::symbol("n");
  auto f = tc::function("f", [&] {
    auto a = tc::tensor("A", {n, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a(tc::range(0, n), tc::range(0, 64)), tile(tc::range(0, n), tc::range(0, 64)));
  });
  EXPECT_EQ(Planned(f).rule(), "tma.extents");
}

TEST(Tma, StrideThatIsASymbolIsGuarded) {
  auto f = tc::function("f", [] {
    tc::Var s = tc::symbol("s"), one = tc::symbol("one");
    auto a = tc::tensor("A", {512, 512}, tc::float32, {s, one});
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float32);
    tc::copy(a(0, 0), tile);
  });
  Planned planned(f);
  ASSERT_TRUE(planned.plan) << planned.rule() << planned.rules->failed()->found;
  EXPECT_EQ(texts(planned.plan->guards),
            (std::vector<std::string>{"one is 1", "s is a multiple of 4",
                                      "s is from 0 to 274877906943", "A is 16-byte aligned"}));
}

TEST(Tma, CoordinatesOfEveryBlockStayIn32BitsAndKeepTheirSide) {
  tc::Var n = tc::symbol("n");
  auto f = tc::function("f", [&] {
    auto a = tc::tensor("A", {n, 512}, tc::float16);
    auto step = tc::scalar("step", tc::int64);
    auto [bx] = tc::kernel({tc::ceildiv(n, 64)});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a(bx * 64 + step, step * 8), tile);
  });
  Planned planned(f);
  ASSERT_TRUE(planned.plan) << planned.rule() << planned.rules->failed()->found;
  const tc::ir::Kernel& kernel = *planned.passage.tile;
  tc::Expr step = std::get<tc::Var>(kernel.params.at(1));
  for (std::int64_t value :
       {std::int64_t{0}, std::int64_t{2}, std::int64_t{-3}, std::int64_t{1} << 31,
        -(std::int64_t{1} << 33), std::int64_t{1} << 50, -(std::int64_t{1} << 50)}) {
    SCOPED_TRACE(value);
    tc::test::TmaModel model(*planned.plan, planned.tile(), 0, 64 * 64 * 2);
    model.run(planned.lowered(), {{planned.site->simt->thread.node(), 0},
                                  {n.node(), 1000},
                                  {kernel.block.at(0).node(), 1},
                                  {step.node(), value}});
    EXPECT_EQ(model.faults(), "");
    for (std::int64_t i = 0; i < 64; ++i) {
      for (std::int64_t j = 0; j < 64; ++j) {
        std::int64_t row = 64 + value + i, column = value * 8 + j;
        bool inside = row >= 0 && row < 1000 && column >= 0 && column < 512;
        std::int64_t got = model.shared.at(static_cast<std::size_t>((i * 64 + j) * 2));
        ASSERT_EQ(got, inside ? (row * 512 + column) * 16 : tc::test::zero_byte);
      }
    }
  }
}

TEST(Tma, AStageThatIsAVariableIsAligned) {
  auto f = [](std::int64_t columns) {
    return tc::function("f", [&] {
      auto a = tc::tensor("A", {512, 512}, tc::float16);
      tc::kernel({1});
      auto tile = tc::alloc_shared({2, 32, columns}, tc::float16);
      tc::serial(4, [&](tc::Var k) {
        tc::cuda::copy(a(tc::range(k * 32, k * 32 + 32), tc::range(0, columns)), tile(k % 2, 0, 0),
                       {.prefer_instruction = "tma"});
      });
    });
  };
  Planned planned(f(64));
  ASSERT_TRUE(planned.plan) << planned.rule();
  EXPECT_EQ(planned.parameter("box"), "32x64");
}

// ---- What plans say, and what they lower to ----

TEST(Tma, TellsItsParameters) {
  Planned planned(square({.options = {.eviction_policy = "evict_first"}}));
  ASSERT_TRUE(planned.plan);
  EXPECT_EQ(planned.parameter("barrier_bytes"), "8192");
  EXPECT_EQ(planned.parameter("bytes"), "8192");
  EXPECT_EQ(planned.parameter("l2_promotion"), "128");
  EXPECT_EQ(planned.parameter("eviction"), "evict_first");
  EXPECT_EQ(Planned(square({.from = tc::float32, .to = tc::float32})).parameter("l2_promotion"),
            "256");
}

TEST(Tma, HintsGoIntoEveryBox) {
  auto name = [](const tc::cuda::CopyOptions& options) {
    Planned planned(square({.options = options}));
    const auto& branch = tc::ir::get<tc::ir::If>(planned.lowered());
    const auto& body = tc::ir::get<tc::ir::Block>(branch.then_body).body;
    EXPECT_EQ(body.size(), 2u);
    return tc::ir::get<tc::ir::Instr>(body.at(1)).name;
  };
  EXPECT_EQ(name({}), "cuda.tma_load_2d");
  EXPECT_EQ(name({.eviction_policy = "evict_last"}), "cuda.tma_load_2d_hint");
}

}  // namespace
