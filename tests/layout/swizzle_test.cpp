// Swizzle and TileLayout: bijectivity, the hardware's byte formula, and the tile factories.
#include "layout/support.h"

namespace tilecopy {
namespace {

using test::error_code;
using test::pick;

constexpr std::int64_t max64 = INT64_MAX;

TEST(Swizzle, IsAnInvolutionWithinItsPeriod) {
  EXPECT_TRUE(rc::check([] {
    int bits = static_cast<int>(pick(0, 3));
    int shift = static_cast<int>(pick(bits, 4)) * (*rc::gen::arbitrary<bool>() ? 1 : -1);
    Swizzle swizzle(bits, static_cast<int>(pick(0, 3)), shift);
    std::set<std::int64_t> image;
    for (std::int64_t x = 0; x < swizzle.period(); ++x) {
      std::int64_t y = swizzle(x);
      RC_ASSERT(swizzle(y) == x);
      RC_ASSERT(((x ^ y) & ~swizzle.target_mask()) == 0);
      RC_ASSERT(swizzle(x + 5 * swizzle.period()) == y + 5 * swizzle.period());
      image.insert(y);
    }
    RC_ASSERT(static_cast<std::int64_t>(image.size()) == swizzle.period());
    RC_ASSERT(*image.rbegin() == swizzle.period() - 1);
  }));
}

TEST(Swizzle, KnownValues) {
  Swizzle swizzle{3, 4, 3};
  EXPECT_EQ(swizzle.source_mask(), 0x380);
  EXPECT_EQ(swizzle.target_mask(), 0x70);
  EXPECT_EQ(swizzle.period(), 1024);
  EXPECT_EQ(swizzle(0x280), 0x280 ^ 0x50);
  EXPECT_EQ(Swizzle(1, 0, -2)(1), 1 ^ 4);
  EXPECT_EQ(Swizzle(0, 5, 0).period(), 1);
  EXPECT_EQ(Swizzle(3, 3, 3).in_bytes(2), swizzle);
}

TEST(Swizzle, Errors) {
  EXPECT_EQ(error_code([] { Swizzle(-1, 0, 3); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(3, -1, 3); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(3, 0, 2); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(3, 0, -2); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(30, 3, 30); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(0, INT32_MAX, INT32_MIN); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(31, 0, 31)(max64); }), "none");
  EXPECT_EQ(error_code([] { Swizzle(3, 4, 3)(-1); }), "E0423");
  EXPECT_EQ(error_code([] { Swizzle(3, 4, 3).in_bytes(3); }), "E0425");
  EXPECT_EQ(error_code([] { Swizzle(3, 4, 3).in_bytes(0); }), "E0425");
}

// Where the hardware puts byte `a` of a span-wide panel.
std::int64_t hardware_byte(std::int64_t a, int span_bytes) {
  std::int64_t mask = span_bytes == 128 ? 7 : span_bytes == 64 ? 3 : 1;
  return a ^ (((a >> 7) & mask) << 4);
}

TEST(SwizzledRowMajor, IsTheHardwaresByteFormula) {
  for (int element_bytes : {1, 2, 4, 8, 16}) {
    for (int span : {32, 64, 128}) {
      std::int64_t width = span / element_bytes;
      for (std::int64_t panels : {1, 2, 3}) {
        std::int64_t rows = 16, columns = panels * width;
        TileLayout tile = swizzled_row_major({rows, columns}, element_bytes, span);
        EXPECT_EQ(tile.shape(), (std::vector<std::int64_t>{rows, columns}));
        EXPECT_EQ(tile.cosize(), rows * columns);
        std::set<std::int64_t> image;
        test::for_each_coordinate({rows, columns}, [&](const std::vector<std::int64_t>& c) {
          std::int64_t byte =
              (c[1] / width) * rows * span + c[0] * span + c[1] % width * element_bytes;
          ASSERT_EQ(tile(c) * element_bytes, hardware_byte(byte, span)) << tile;
          image.insert(tile(c));
        });
        EXPECT_EQ(static_cast<std::int64_t>(image.size()), rows * columns);
        EXPECT_TRUE(tile.is_injective());
        // A base address must be a multiple of the period: 256, 512 or 1024 bytes.
        EXPECT_EQ(tile.swizzle()->period() * element_bytes, span * 8);
      }
    }
  }
}

// The chunk form: chunk c of row s lands at chunk c ^ s, c ^ (s / 2) or c ^ (s / 4).
TEST(SwizzledRowMajor, IsTheChunkFormula) {
  for (int span : {32, 64, 128}) {
    std::int64_t lanes = 8, chunks = span / 16, rows = 24, columns = 2 * chunks * lanes;
    TileLayout tile = swizzled_row_major({rows, columns}, 2, span);
    test::for_each_coordinate({rows, columns}, [&](const std::vector<std::int64_t>& x) {
      std::int64_t s = x[0] % 8, g = x[0] / 8, q = x[1] / lanes;
      std::int64_t c = (q % chunks) ^ (s / (8 / chunks));
      std::int64_t group = (q / chunks) * (rows / 8) + g;
      ASSERT_EQ(tile(x), group * 8 * chunks * lanes + (s * chunks + c) * lanes + x[1] % lanes);
    });
  }
}

TEST(SwizzledRowMajor, LeadingDimensionsAreOutermost) {
  TileLayout tile = swizzled_row_major({3, 8, 128}, 2, 128);
  EXPECT_EQ(to_string(tile), "swizzle<3,3,3> o (3,8,(64,2)):(1024,64,(1,512))");
  TileLayout plane = swizzled_row_major({8, 128}, 2, 128);
  EXPECT_EQ(tile({2, 5, 70}), 2 * 1024 + plane({5, 70}));
}

TEST(SwizzledRowMajor, OnePanelTakesAnyNumberOfRows) {
  TileLayout tile = swizzled_row_major({4, 64}, 2, 128);
  EXPECT_EQ(tile.cosize(), 256);
  EXPECT_EQ(tile({3, 0}), 3 * 64 + 3 * 8);
  EXPECT_EQ(swizzled_row_major({1, 5, 64}, 2, 128).rank(), 3);
}

TEST(SwizzledRowMajor, Errors) {
  EXPECT_EQ(error_code([] { swizzled_row_major({64}, 2, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 96}, 2, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({4, 128}, 2, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({2, 4, 64}, 2, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 64}, 3, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 64}, -2, 128); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 64}, 2, 0); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 64}, 2, 256); }), "E0425");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, 0}, 2, 128); }), "E0424");
  EXPECT_EQ(error_code([] { swizzled_row_major({-8, 64}, 2, 128); }), "E0424");
  EXPECT_EQ(error_code([] { swizzled_row_major({8, max64 - 63}, 2, 128); }), "E0410");
  EXPECT_EQ(error_code([] { swizzled_row_major({1, max64 - 63}, 2, 128); }), "E0410");
}

TEST(SwizzledRowMajor, ANarrowRowNamesTheSpanThatFits) {
  try {
    swizzled_row_major({128, 32}, 2, 128);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().needed, "rows of a multiple of 128 bytes");
    EXPECT_EQ(error.report().found, "rows of 64 bytes");
    EXPECT_EQ(error.report().help, "use a span of 64 bytes");
    EXPECT_STREQ(error.where().file, __FILE__);
  }
}

TEST(PaddedRowMajor, AddsToThePitchOfRows) {
  EXPECT_EQ(padded_row_major({64, 32}, 8), Layout({64, 32}, {40, 1}));
  EXPECT_EQ(padded_row_major({2, 64, 32}, 1), Layout({2, 64, 32}, {33 * 64, 33, 1}));
  EXPECT_EQ(padded_row_major({32}, 8), Layout({32}, {1}));
  EXPECT_EQ(padded_row_major({4, 8}, 0), row_major({4, 8}));
  EXPECT_EQ(error_code([] { padded_row_major({4, 8}, -1); }), "E0424");
  EXPECT_EQ(error_code([] { padded_row_major({4, 8}, max64); }), "E0410");
  EXPECT_EQ(error_code([] { padded_row_major({4, 0}, 1); }), "E0424");
}

TEST(TileLayout, CosizeIsAboveEveryOffset) {
  EXPECT_TRUE(rc::check([] {
    int bits = static_cast<int>(pick(0, 2));
    int shift = static_cast<int>(pick(bits, 3)) * (*rc::gen::arbitrary<bool>() ? 1 : -1);
    Layout layout = test::tidy_layout(true, true);
    TileLayout tile(layout, Swizzle(bits, static_cast<int>(pick(0, 2)), shift));
    std::set<std::int64_t> image;
    test::for_each_coordinate(tile.shape(), [&](const std::vector<std::int64_t>& c) {
      RC_ASSERT(tile(c) == (*tile.swizzle())(layout(c)));
      RC_ASSERT(tile(c) >= 0 && tile(c) < tile.cosize());
      image.insert(tile(c));
    });
    RC_ASSERT(tile.is_injective() == (static_cast<std::int64_t>(image.size()) == size(layout)));
  }));
}

TEST(TileLayout, Errors) {
  EXPECT_EQ(error_code([] { TileLayout(Layout(4, -1)); }), "E0424");
  EXPECT_EQ(error_code([] { TileLayout(Layout(2, max64 - 1), Swizzle(3, 4, 3)); }), "E0410");
  TileLayout tile = row_major({4, 8});
  EXPECT_EQ(error_code([&] { tile({4, 0}); }), "E0423");
  EXPECT_EQ(error_code([&] { tile(3); }), "E0423");
  EXPECT_EQ(error_code([&] { tile({0, 0, 0}); }), "E0423");
  EXPECT_EQ(TileLayout(row_major({4}))({3}), 3);
  EXPECT_EQ(TileLayout(Layout(4, 2))({3}), 6);
}

TEST(TileLayout, Equivalence) {
  Layout plain = row_major({8, 64});
  EXPECT_TRUE(equivalent(TileLayout(plain), TileLayout(plain, Swizzle(0, 0, 0))));
  EXPECT_TRUE(equivalent(TileLayout(plain), TileLayout(plain, Swizzle(1, 0, 9))));
  EXPECT_FALSE(equivalent(TileLayout(plain), TileLayout(plain, Swizzle(1, 0, 8))));
  EXPECT_TRUE(equivalent(swizzled_row_major({8, 64}, 2, 128), TileLayout(plain, Swizzle(3, 3, 3))));
  EXPECT_FALSE(
      equivalent(swizzled_row_major({8, 64}, 2, 128), TileLayout(plain, Swizzle(2, 3, 3))));
}

}  // namespace
}  // namespace tilecopy
