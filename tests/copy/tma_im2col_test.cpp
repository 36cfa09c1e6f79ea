// im2col by the TMA unit: boxes or the first rule that fails, and every element of tiles all over
// the matrix by the formula of the contract.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/make.h"
#include "tma_case.h"
#include "tma_model.h"

namespace tc = tilecopy;
using tc::HeightWidth;
using tc::test::Ints;
using tc::test::Planned;

namespace {

struct Im2col {
  Ints img;  // N, H, W, C
  HeightWidth kernel = 3, stride = 1, dilation = 1, pad = 1;
  std::int64_t rows = 64, columns = 64;  // of the tile
  tc::DType dtype = tc::float16;
  Ints strides = {};
  std::optional<tc::TileLayout> layout = {};
  int stages = 0;  // of the tile, of which the last is written
  tc::cuda::Im2colOptions options = {};

  tc::Function function() const {
    return tc::function("f", [&] {
      auto a = tc::tensor("img", {img.begin(), img.end()}, dtype, {strides.begin(), strides.end()});
      auto [bx, by] = tc::kernel({1000, 1000});
      std::vector<tc::Expr> shape = {rows, columns};
      if (stages) shape.insert(shape.begin(), stages);
      auto tile = tc::alloc_shared(shape, dtype, "tile");
      if (layout) tc::annotate_layout(tile, *layout);
      tc::Operand col = tile;
      if (stages) {
        col = tile(tc::range(stages - 1, stages), tc::range(0, rows), tc::range(0, columns));
      }
      tc::cuda::im2col(a, col, bx, by, kernel, stride, dilation, pad, options);
    });
  }
};

struct Row {
  const char* what;
  Im2col c;
  const char* rule;  // the first that fails, with what it found; or empty, and
  const char* found;
  const char* box;
  int boxes;
  const char* swizzle;
};

Row takes(const char* what, const Im2col& c, const char* box, int boxes = 1,
          const char* swizzle = "none") {
  return {what, c, "", "", box, boxes, swizzle};
}

Row fails(const char* what, const Im2col& c, const char* rule, const char* found = "") {
  return {what, c, rule, found, "", 0, ""};
}

tc::TileLayout swizzled(const Ints& shape, int span) {
  return tc::swizzled_row_major(shape, 2, span);
}

// clang-format off
const std::vector<Row> rows = {
    // ---- Windows ----
    takes("3x3", {.img = {2, 7, 9, 64}}, "64 pixels x 64 channels"),
    takes("1x1", {.img = {2, 7, 9, 64}, .kernel = 1, .pad = 0}, "64 pixels x 64 channels"),
    takes("3x3 without padding", {.img = {2, 7, 9, 64}, .pad = 0}, "64 pixels x 64 channels"),
    takes("stride 2", {.img = {2, 9, 12, 64}, .stride = 2}, "64 pixels x 64 channels"),
    takes("stride 3 without padding", {.img = {3, 9, 12, 64}, .kernel = 2, .stride = 3, .pad = 0},
          "64 pixels x 64 channels"),
    takes("the largest stride", {.img = {9, 20, 30, 64}, .stride = 8}, "64 pixels x 64 channels"),
    takes("dilation 2", {.img = {2, 9, 12, 64}, .dilation = 2, .pad = 2}, "64 pixels x 64 channels"),
    takes("stride and dilation that leave a rest", {.img = {2, 11, 14, 64}, .stride = 3,
          .dilation = 2}, "64 pixels x 64 channels"),
    takes("all unequal", {.img = {2, 13, 10, 64}, .kernel = {2, 3}, .stride = {2, 1},
          .dilation = {1, 3}, .pad = {0, 2}}, "64 pixels x 64 channels"),
    takes("a row of taps", {.img = {2, 13, 10, 64}, .kernel = {1, 5}, .pad = {0, 2}},
          "64 pixels x 64 channels"),
    takes("more padding than window", {.img = {2, 3, 4, 64}, .pad = 5}, "64 pixels x 64 channels"),
    takes("one output pixel", {.img = {70, 3, 3, 64}, .pad = 0}, "64 pixels x 64 channels"),
    takes("the largest reach", {.img = {1, 2, 2, 64}, .kernel = 2, .dilation = 255, .pad = 127},
          "64 pixels x 64 channels"),
    // ---- Channels and columns ----
    takes("fewer columns than channels", {.img = {2, 7, 9, 128}}, "64 pixels x 64 channels"),
    takes("two taps", {.img = {2, 7, 9, 32}}, "64 pixels x 32 channels", 2),
    takes("four taps", {.img = {2, 7, 9, 16}}, "64 pixels x 16 channels", 4),
    takes("eight taps", {.img = {2, 7, 9, 8}}, "64 pixels x 8 channels", 8),
    takes("columns that straddle taps", {.img = {2, 7, 9, 96}}, "64 pixels x 32 channels", 2),
    takes("40 channels", {.img = {2, 7, 9, 40}}, "64 pixels x 8 channels", 8),
    takes("columns as wide as three taps", {.img = {2, 7, 9, 64}, .columns = 192},
          "64 pixels x 64 channels", 3),
    takes("a last tile of columns that is ragged", {.img = {2, 7, 9, 32}, .columns = 128},
          "64 pixels x 32 channels", 4),
    takes("256 channels", {.img = {2, 7, 9, 256}, .rows = 32, .columns = 256},
          "32 pixels x 256 channels"),
    takes("512 channels", {.img = {2, 7, 9, 512}, .rows = 32, .columns = 512},
          "32 pixels x 256 channels", 2),
    takes("4-byte", {.img = {2, 7, 9, 32}, .columns = 32, .dtype = tc::float32},
          "64 pixels x 32 channels"),
    takes("1-byte", {.img = {2, 7, 9, 64}, .dtype = tc::int8}, "64 pixels x 64 channels"),
    takes("padded pixels", {.img = {2, 7, 9, 64}, .strides = {5040, 720, 80, 1}},
          "64 pixels x 64 channels"),
    takes("channels of padded pixels", {.img = {2, 7, 9, 24}, .columns = 24,
          .strides = {2016, 288, 32, 1}}, "64 pixels x 24 channels"),
    // ---- Rows ----
    takes("one image row", {.img = {3, 7, 9, 64}, .rows = 8}, "8 pixels x 64 channels"),
    takes("many images", {.img = {9, 3, 5, 64}, .rows = 128}, "128 pixels x 64 channels"),
    takes("1024 rows", {.img = {9, 20, 8, 8}, .rows = 1024, .columns = 8},
          "1024 pixels x 8 channels"),
    takes("1500 rows", {.img = {9, 20, 8, 8}, .rows = 1500, .columns = 8},
          "1024 pixels x 8 channels", 2),
    takes("2000 rows", {.img = {9, 20, 8, 8}, .rows = 2000, .columns = 8},
          "1000 pixels x 8 channels", 2),
    // ---- Layouts ----
    takes("128 bytes of swizzle", {.img = {2, 7, 9, 64}, .layout = swizzled({64, 64}, 128)},
          "64 pixels x 64 channels", 1, "128B"),
    takes("two panels of swizzle", {.img = {2, 7, 9, 64}, .columns = 128,
          .layout = swizzled({64, 128}, 128)}, "64 pixels x 64 channels", 2, "128B"),
    takes("64 bytes of swizzle", {.img = {2, 7, 9, 32}, .layout = swizzled({64, 64}, 64)},
          "64 pixels x 32 channels", 2, "64B"),
    takes("32 bytes of swizzle", {.img = {2, 7, 9, 16}, .layout = swizzled({64, 64}, 32)},
          "64 pixels x 16 channels", 4, "32B"),
    takes("rows padded to the span", {.img = {2, 7, 9, 48}, .columns = 48,
          .layout = tc::TileLayout(tc::padded_row_major({64, 48}, 16), tc::Swizzle(3, 3, 3))},
          "64 pixels x 48 channels", 1, "128B"),
    takes("a stage", {.img = {2, 7, 9, 64}, .stages = 3}, "64 pixels x 64 channels"),
    takes("a stage of panels", {.img = {2, 7, 9, 32}, .stages = 2}, "64 pixels x 32 channels", 2),
    fails("row-major over two taps", {.img = {2, 7, 9, 32},
          .layout = tc::TileLayout(tc::row_major({64, 64}))}, "tma_im2col.taps",
          "64 columns from 0, with C = 32"),
    fails("dense rows shorter than the span", {.img = {2, 7, 9, 32}, .columns = 32,
          .layout = tc::TileLayout(tc::row_major({64, 32}), tc::Swizzle(3, 3, 3))},
          "tma_im2col.shared_alignment"),
    fails("padded rows", {.img = {2, 7, 9, 64},
          .layout = tc::TileLayout(tc::padded_row_major({64, 64}, 8))},
          "tma_im2col.shared_alignment"),
    // ---- Rules ----
    fails("3 channels", {.img = {2, 7, 9, 3}, .columns = 32}, "tma_im2col.outer_stride", "6 bytes"),
    fails("3 channels of padded pixels", {.img = {2, 7, 9, 3}, .columns = 32,
          .strides = {504, 72, 8, 1}}, "tma_im2col.taps"),
    fails("few channels in common", {.img = {2, 7, 9, 40}, .columns = 36}, "tma_im2col.inner_box",
          "72 bytes"),
    fails("stride 9", {.img = {2, 30, 30, 64}, .stride = 9}, "tma_im2col.stride", "9"),
    fails("padding 129", {.img = {2, 7, 9, 64}, .kernel = 200, .pad = 129}, "tma_im2col.corners",
          "-129 to -70"),
    fails("upper corner 128", {.img = {2, 7, 9, 64}, .kernel = 1, .pad = 128},
          "tma_im2col.corners", "-128 to 128"),
    fails("a reach of 256", {.img = {2, 7, 9, 64}, .kernel = 2, .dilation = 256, .pad = 128},
          "tma_im2col.offset", "256"),
    fails("channels with a stride", {.img = {2, 7, 9, 64}, .strides = {16128, 2304, 128, 2}},
          "tma_im2col.inner_stride", "stride 2"),
};
// clang-format on

std::int64_t output(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                    std::int64_t dilation, std::int64_t pad) {
  return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

// The offset of element (m, k) of the matrix in the image; empty where it is zero.
std::optional<std::int64_t> source(const Im2col& c, std::int64_t m, std::int64_t k) {
  std::int64_t H = c.img[1], W = c.img[2], C = c.img[3];
  std::int64_t oh = output(H, c.kernel.h, c.stride.h, c.dilation.h, c.pad.h);
  std::int64_t ow = output(W, c.kernel.w, c.stride.w, c.dilation.w, c.pad.w);
  if (m >= c.img[0] * oh * ow || k >= c.kernel.h * c.kernel.w * C) return std::nullopt;
  std::int64_t n = m / (oh * ow);
  std::int64_t h = m % (oh * ow) / ow * c.stride.h + k / C / c.kernel.w * c.dilation.h - c.pad.h;
  std::int64_t w = m % ow * c.stride.w + k / C % c.kernel.w * c.dilation.w - c.pad.w;
  if (h < 0 || h >= H || w < 0 || w >= W) return std::nullopt;
  Ints s = c.strides.empty() ? Ints{H * W * C, W * C, C, 1} : c.strides;
  return n * s[0] + h * s[1] + w * s[2] + k % C;
}

void check_tile(const Im2col& c, const Planned& planned, std::int64_t x, std::int64_t y) {
  SCOPED_TRACE(fmt::format("tile ({}, {})", x, y));
  const std::int64_t element = tc::bytes(c.dtype);
  const auto& layouts = *planned.site->layouts;
  auto found = layouts.find(planned.tile().node());
  Ints shape = {c.rows, c.columns};
  if (c.stages) shape.insert(shape.begin(), c.stages);
  tc::TileLayout layout =
      found == layouts.end() ? tc::TileLayout(tc::row_major(tc::IntTuple(shape))) : found->second;
  const auto& kernel = *planned.passage.tile;
  tc::test::TmaModel model(*planned.plan, planned.tile(), 0,
                           tc::planner::tile_elements(planned.tile(), layouts) * element);
  model.run(planned.lowered(), {{planned.site->simt->thread.node(), 0},
                                {kernel.block.at(0).node(), x},
                                {kernel.block.at(1).node(), y}});
  EXPECT_EQ(model.faults(), "");
  EXPECT_EQ(std::to_string(model.boxes), planned.parameter("boxes"));
  EXPECT_EQ(model.expected_bytes, c.rows * c.columns * element);
  EXPECT_EQ(model.loaded_bytes, model.expected_bytes);
  std::vector<std::int64_t> wanted(model.shared.size(), tc::test::untouched);
  for (std::int64_t i = 0; i < c.rows * c.columns; ++i) {
    Ints at = {i / c.columns, i % c.columns};
    auto offset = source(c, x * c.rows + at[0], y * c.columns + at[1]);
    if (c.stages) at.insert(at.begin(), c.stages - 1);
    for (std::int64_t b = 0; b < element; ++b) {
      wanted.at(static_cast<std::size_t>(layout(tc::IntTuple(at)) * element + b)) =
          offset ? *offset * 16 + b : tc::test::zero_byte;
    }
  }
  EXPECT_TRUE(model.shared == wanted) << "elements in the wrong places";
}

// The first tiles, the last ones in each direction, and those past the matrix.
void check_tiles(const Im2col& c, const Planned& planned) {
  std::int64_t m = c.img[0] * output(c.img[1], c.kernel.h, c.stride.h, c.dilation.h, c.pad.h) *
                   output(c.img[2], c.kernel.w, c.stride.w, c.dilation.w, c.pad.w);
  std::int64_t k = c.kernel.h * c.kernel.w * c.img[3];
  std::int64_t last_x = (m - 1) / c.rows, last_y = (k - 1) / c.columns;
  std::set<std::int64_t> xs = {0, 1, last_x / 2, last_x, last_x + 1};
  std::set<std::int64_t> ys = {0, 1, 2, last_y / 2, last_y, last_y + 1, last_y + 3};
  for (std::int64_t x : xs) {
    for (std::int64_t y : ys) check_tile(c, planned, x, y);
  }
}

Planned plan(const Im2col& c, const char* target = tc::test::hopper, bool usual = true) {
  return Planned(c.function(), target, usual, tc::planner::tma_im2col);
}

TEST(TmaIm2col, Table) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Planned planned(row.c.function(), tc::test::hopper, true, tc::planner::tma_im2col);
    if (*row.rule) {
      ASSERT_FALSE(planned.plan) << planned.parameter("box");
      EXPECT_EQ(planned.rule(), row.rule) << planned.rules->failed()->found;
      if (*row.found) {
        EXPECT_EQ(planned.rules->failed()->found, row.found);
      }
      continue;
    }
    ASSERT_TRUE(planned.plan) << planned.rule() << ": " << planned.rules->failed()->found;
    EXPECT_EQ(planned.parameter("box"), row.box);
    EXPECT_EQ(planned.parameter("boxes"), fmt::format("{}", row.boxes));
    EXPECT_EQ(planned.parameter("swizzle"), row.swizzle);
    check_tiles(row.c, planned);
  }
}

TEST(TmaIm2col, NeedsItsUnitAndAnImageThatIsOnlyRead) {
  const Im2col c{.img = {2, 7, 9, 64}};
  EXPECT_EQ(plan(c, "cuda -arch=sm_80").rule(), "tma_im2col.arch");
  EXPECT_EQ(plan(c, "cuda -arch=sm_100a").rule(), "<none>");
  auto f = tc::function("f", [] {
    auto img = tc::tensor("img", {2, 7, 9, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({63, 64}, tc::float16);
    tc::im2col(img, tile, 0, 0, 3, 1, 1, 1);
    tc::copy(tile(tc::range(0, 9), tc::range(0, 64)), img(0, 0, 0, 0));
  });
  EXPECT_EQ(Planned(f, tc::test::hopper, true, tc::planner::tma_im2col).rule(),
            "tma_im2col.source_written");
}

TEST(TmaIm2col, SizesOfALaunch) {
  auto f = tc::function("f", [] {
    tc::Var n = tc::symbol("n"), h = tc::symbol("h"), w = tc::symbol("w");
    auto img = tc::tensor("img", {n, h, w, 64}, tc::float16);
    auto [bx, by] = tc::kernel({1000, 9});
    auto tile = tc::alloc_shared({64, 64}, tc::float16, "tile");
    tc::im2col(img, tile, bx, by, 3, 2, 1, 0);
  });
  Planned planned(f, tc::test::hopper, true, tc::planner::tma_im2col);
  ASSERT_TRUE(planned.plan) << planned.rule();
  std::vector<std::string> guards;
  for (const auto& guard : planned.plan->guards) guards.push_back(guard.text);
  EXPECT_NE(std::find(guards.begin(), guards.end(), "h is from 3 to 2147483136"), guards.end());
  EXPECT_NE(std::find(guards.begin(), guards.end(), "img is 16-byte aligned"), guards.end());
  const Im2col c{.img = {3, 8, 11, 64}, .stride = 2, .pad = 0};
  const auto& kernel = *planned.passage.tile;
  tc::test::TmaModel model(*planned.plan, planned.tile(), 0, 64 * 64 * 2);
  tc::ir::test::Assignment values = {{planned.site->simt->thread.node(), 0},
                                     {kernel.block.at(0).node(), 0},
                                     {kernel.block.at(1).node(), 4}};
  for (std::size_t i = 0; i < 3; ++i) values[kernel.symbols.at(i).node()] = c.img[i];
  model.run(planned.lowered(), values);
  EXPECT_EQ(model.faults(), "");
  for (std::int64_t i = 0; i < 64 * 64; ++i) {
    auto offset = source(c, i / 64, 4 * 64 + i % 64);
    ASSERT_EQ(model.shared.at(static_cast<std::size_t>(i * 2)),
              offset ? *offset * 16 : tc::test::zero_byte);
  }
}

TEST(TmaIm2col, HintsGoIntoEveryBox) {
  Planned planned = plan({.img = {2, 7, 9, 32}, .options = {.eviction_policy = "evict_first"}});
  ASSERT_TRUE(planned.plan);
  EXPECT_EQ(planned.parameter("eviction"), "evict_first");
  EXPECT_EQ(planned.parameter("barrier_bytes"), "8192");
}

}  // namespace
