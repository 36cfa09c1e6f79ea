// IntTuple and Layout: construction, coordinates, measures, and their errors.
#include <algorithm>

#include "layout/support.h"

namespace tilecopy {
namespace {

using test::error_code;
using test::offsets;
using test::pick;

constexpr std::int64_t max64 = INT64_MAX;
constexpr std::int64_t min64 = INT64_MIN;

TEST(IntTuple, MeasuresOfNestedTuples) {
  IntTuple t{4, {2, 8}};
  EXPECT_EQ(size(t), 64);
  EXPECT_EQ(rank(t), 2);
  EXPECT_EQ(depth(t), 2);
  EXPECT_EQ(t[1][1].value(), 8);
  EXPECT_EQ(size(IntTuple()), 1);
  EXPECT_EQ(rank(IntTuple()), 0);
  EXPECT_EQ(depth(IntTuple(7)), 0);
  EXPECT_EQ(rank(IntTuple(7)), 1);
  EXPECT_NE(IntTuple(7), IntTuple{7});
  EXPECT_NE(IntTuple(0), IntTuple());
}

TEST(IntTuple, CongruenceIsAboutNestingOnly) {
  EXPECT_TRUE(congruent(IntTuple({4, {2, 8}}), IntTuple({0, {-1, 1}})));
  EXPECT_FALSE(congruent(IntTuple({4, {2, 8}}), IntTuple({{4, 2}, 8})));
  EXPECT_FALSE(congruent(IntTuple(4), IntTuple{4}));
  EXPECT_FALSE(congruent(IntTuple({4, 2}), IntTuple({4, 2, 1})));
}

TEST(IntTuple, Errors) {
  EXPECT_EQ(error_code([] { IntTuple({1, 2}).value(); }), "E0424");
  EXPECT_EQ(error_code([] { IntTuple({1, 2})[2]; }), "E0423");
  EXPECT_EQ(error_code([] { IntTuple({1, 2})[-1]; }), "E0423");
  EXPECT_EQ(error_code([] { IntTuple(3)[1]; }), "E0423");
  EXPECT_EQ(error_code([] { size(IntTuple({max64, 2})); }), "E0410");
  IntTuple deep(1);
  for (int i = 0; i < IntTuple::max_depth; ++i) deep = IntTuple(std::vector<IntTuple>{deep});
  EXPECT_EQ(depth(deep), IntTuple::max_depth);
  EXPECT_EQ(error_code([&] { IntTuple(std::vector<IntTuple>{deep}); }), "E0424");
}

TEST(Layout, MapsCoordinatesByDigits) {
  Layout layout({4, {2, 8}}, {8, {1, 64}});
  EXPECT_EQ(layout({3, 5}), 3 * 8 + 1 * 1 + 2 * 64);
  EXPECT_EQ(layout({3, {1, 2}}), 3 * 8 + 1 * 1 + 2 * 64);
  EXPECT_EQ(layout(3 + 4 * 5), 3 * 8 + 1 * 1 + 2 * 64);
  EXPECT_EQ(size(layout), 64);
  EXPECT_EQ(rank(layout), 2);
  EXPECT_EQ(depth(layout), 2);
  EXPECT_EQ(cosize(layout), 3 * 8 + 1 + 7 * 64 + 1);
  EXPECT_EQ(layout.mode(1), Layout({2, 8}, {1, 64}));
  EXPECT_EQ(layout.flat(1), (std::vector<Mode>{{2, 1}, {8, 64}}));
  EXPECT_EQ(layout.flat().size(), 3u);
}

TEST(Layout, EmptyLayoutMapsItsOneCoordinateToZero) {
  EXPECT_EQ(size(Layout()), 1);
  EXPECT_EQ(cosize(Layout()), 1);
  EXPECT_EQ(Layout()(0), 0);
  EXPECT_EQ(Layout()(IntTuple()), 0);
}

TEST(Layout, CosizeHoldsNegativeOffsets) {
  Layout layout({4, 3}, {-2, 5});
  EXPECT_EQ(cosize(layout), 6 + 10 + 1);
  EXPECT_EQ(layout({3, 2}), 4);
}

TEST(Layout, CompactLayouts) {
  EXPECT_EQ(row_major({4, 8}), Layout({4, 8}, {8, 1}));
  EXPECT_EQ(column_major({4, 8}), Layout({4, 8}, {1, 4}));
  EXPECT_EQ(row_major({4, {2, 8}}), Layout({4, {2, 8}}, {16, {8, 1}}));
  EXPECT_EQ(row_major(std::vector<std::int64_t>{3, 5}), Layout({3, 5}, {5, 1}));
  EXPECT_EQ(make_layout({Layout(4, 1), Layout({2, 2}, {4, 8})}), Layout({4, {2, 2}}, {1, {4, 8}}));
}

TEST(Layout, InvalidPartsAreErrors) {
  EXPECT_EQ(error_code([] { Layout({4, 2}, {1, {2, 3}}); }), "E0424");
  EXPECT_EQ(error_code([] { Layout({4, 2}, 1); }), "E0424");
  EXPECT_EQ(error_code([] { Layout({4, 0}, {1, 4}); }), "E0424");
  EXPECT_EQ(error_code([] { Layout({4, -1}, {1, 4}); }), "E0424");
  EXPECT_EQ(error_code([] { Layout({min64, min64}, {1, 4}); }), "E0424");
  EXPECT_EQ(error_code([] { row_major({4, 0}); }), "E0424");
  EXPECT_EQ(error_code([] { column_major({0}); }), "E0424");
}

TEST(Layout, OverflowIsAnError) {
  EXPECT_EQ(error_code([] { Layout({max64, 2}, {0, 0}); }), "E0410");
  EXPECT_EQ(error_code([] { Layout(3, max64); }), "E0410");
  EXPECT_EQ(error_code([] { Layout({2, 2}, {max64 - 1, 2}); }), "E0410");
  EXPECT_EQ(error_code([] { Layout(2, max64); }), "E0410");
  EXPECT_EQ(error_code([] { Layout(2, min64); }), "E0410");
  EXPECT_EQ(error_code([] { Layout({2, 2}, {max64 - 1, -max64}); }), "E0410");
  EXPECT_EQ(error_code([] { row_major({max64, max64}); }), "E0410");
  EXPECT_EQ(cosize(Layout(2, max64 - 1)), max64);
  EXPECT_EQ(cosize(Layout(1, min64)), 1);
  EXPECT_EQ(cosize(Layout(max64, 1)), max64);
}

TEST(Layout, CoordinatesOutsideAreErrors) {
  Layout layout({4, {2, 8}}, {8, {1, 64}});
  for (std::int64_t index : {std::int64_t{-1}, std::int64_t{64}, max64, min64}) {
    EXPECT_EQ(error_code([&] { layout(index); }), "E0423");
  }
  EXPECT_EQ(error_code([&] { layout({4, 0}); }), "E0423");
  EXPECT_EQ(error_code([&] { layout({0, 16}); }), "E0423");
  EXPECT_EQ(error_code([&] { layout({0, {2, 0}}); }), "E0423");
  EXPECT_EQ(error_code([&] { layout({0, 0, 0}); }), "E0423");
  EXPECT_EQ(error_code([&] { layout({{0, 0}, 0}); }), "E0423");
  EXPECT_EQ(error_code([&] { layout.mode(2); }), "E0423");
  EXPECT_EQ(error_code([&] { layout.flat(-1); }), "E0423");
  EXPECT_EQ(error_code([] { idx2crd(8, {2, 4}); }), "E0423");
  EXPECT_EQ(error_code([] { idx2crd(0, {2, 0}); }), "E0424");
  EXPECT_EQ(error_code([] { crd2idx({2, 0}, {2, 4}); }), "E0423");
}

TEST(Layout, ErrorsPointAtTheCaller) {
  try {
    Layout({4, 0}, {1, 4});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.where().file, __FILE__);
  }
}

TEST(Layout, Idx2crdInvertsCrd2idx) {
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::any_layout();
    for (std::int64_t i = 0; i < size(layout); ++i) {
      IntTuple coord = idx2crd(i, layout.shape());
      RC_ASSERT(congruent(coord, layout.shape()));
      RC_ASSERT(crd2idx(coord, layout.shape()) == i);
      RC_ASSERT(layout(coord) == layout(i));
      RC_ASSERT(crd2idx(coord, layout.shape(), layout.stride()) == layout(i));
    }
  }));
}

TEST(Layout, MeasuresAgreeWithEnumeration) {
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::any_layout();
    std::vector<std::int64_t> all = offsets(layout);
    auto [low, high] = std::minmax_element(all.begin(), all.end());
    RC_ASSERT(cosize(layout) == *high - *low + 1);
    RC_ASSERT(is_injective(layout) == !test::has_duplicates(all));
  }));
}

TEST(Layout, InjectivityOfLargeLayoutsIsFast) {
  EXPECT_TRUE(is_injective(row_major({1 << 20, 1 << 20, 1 << 20})));
  EXPECT_TRUE(is_injective(Layout({2, max64 / 8}, {1, 3})));
  // Interleaved strides that no nesting proves: 3x and 2y collide only at x = 2.
  EXPECT_TRUE(is_injective(Layout({2, 1 << 20}, {3, 2})));
  EXPECT_FALSE(is_injective(Layout({3, 1 << 20}, {3, 2})));
  EXPECT_FALSE(is_injective(Layout({2, 2}, {0, 1})));
  EXPECT_TRUE(is_injective(Layout({1, 2}, {0, -1})));
}

TEST(Layout, EquivalenceIsEqualityOfMaps) {
  EXPECT_TRUE(equivalent(Layout({4, {2, 8}}, {1, {4, 8}}), Layout({4, 16}, {1, 4})));
  EXPECT_TRUE(equivalent(Layout({4, 1}, {1, 9}), Layout({4, 1}, {1, 0})));
  EXPECT_FALSE(equivalent(Layout({4, 2}, {1, 4}), Layout({2, 4}, {1, 2})));
  EXPECT_FALSE(equivalent(Layout(8, 1), Layout({4, 2}, {1, 4})));
  EXPECT_TRUE(rc::check([] {
    std::vector<std::int64_t> a{pick(1, 4), pick(1, 4)}, b{pick(1, 4), pick(1, 4)};
    Layout x(IntTuple{IntTuple(a)}, IntTuple{IntTuple{pick(0, 4), pick(0, 4)}});
    Layout y(IntTuple{IntTuple(b)}, IntTuple{IntTuple{pick(0, 4), pick(0, 4)}});
    RC_ASSERT(equivalent(x, y) == (offsets(x) == offsets(y)));
  }));
}

}  // namespace
}  // namespace tilecopy
