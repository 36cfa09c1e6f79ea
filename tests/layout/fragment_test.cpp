// Fragment: its factories against plain arithmetic, its inverse, injectivity, and errors.
#include "layout/support.h"

namespace tilecopy {
namespace {

using test::error_code;
using test::pick;
using Coord = std::vector<std::int64_t>;

constexpr std::int64_t max64 = INT64_MAX;

bool injective_by_enumeration(const Fragment& fragment) {
  std::set<std::pair<std::int64_t, std::int64_t>> slots;
  std::int64_t count = 0;
  test::for_each_coordinate(fragment.shape(), [&](const Coord& c) {
    slots.emplace(fragment.thread_of(c), fragment.register_of(c));
    ++count;
  });
  return static_cast<std::int64_t>(slots.size()) == count;
}

// layout_tv and inverse() lead from each thread and register back to the coordinate.
void expect_inverse(const Fragment& fragment) {
  Layout tv = fragment.layout_tv();
  std::vector<Layout> inverse = fragment.inverse();
  test::for_each_coordinate(fragment.shape(), [&](const Coord& c) {
    IntTuple slot{fragment.thread_of(c), fragment.register_of(c)};
    EXPECT_EQ(idx2crd(tv(slot), fragment.shape()), IntTuple(c)) << fragment;
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(inverse[i](slot), c[i]) << fragment;
  });
}

TEST(Fragment, LinearDealsRowMajorOrder) {
  Fragment fragment = Fragment::linear({64, 64}, 128, 8);
  EXPECT_EQ(fragment.threads(), 128);
  EXPECT_EQ(fragment.registers(), 32);
  test::for_each_coordinate({64, 64}, [&](const Coord& c) {
    std::int64_t index = c[0] * 64 + c[1];
    ASSERT_EQ(fragment.thread_of(c), index / 8 % 128);
    ASSERT_EQ(fragment.register_of(c), index % 8 + index / 1024 * 8);
  });
  EXPECT_TRUE(fragment.is_bijective());
  expect_inverse(fragment);
}

TEST(Fragment, LinearNeedsRowsAndRoundsThatNest) {
  Fragment one_round = Fragment::linear({3, 8}, 32, 1);
  EXPECT_EQ(one_round.threads(), 24);
  EXPECT_TRUE(one_round.is_bijective());
  // Two rows fill a round; the third would fill half of one.
  EXPECT_EQ(error_code([] { Fragment::linear({3, 8}, 16, 1); }), "E0422");
}

TEST(Fragment, UnusedRegistersHaveNoInverse) {
  Fragment fragment({3}, Layout({3}, {2}), Layout({3}, {0}));
  EXPECT_TRUE(fragment.is_injective());
  EXPECT_FALSE(fragment.is_bijective());
  EXPECT_EQ(error_code([&] { fragment.layout_tv(); }), "E0422");
  EXPECT_EQ(error_code([&] { fragment.inverse(); }), "E0422");
}

TEST(Fragment, RakedGivesEachThreadABlock) {
  // Threads 4 x 8 row-major, each with 2 x 4 values row-major.
  Fragment fragment = Fragment::raked(row_major({4, 8}), row_major({2, 4}));
  EXPECT_EQ(fragment.shape(), (Coord{8, 32}));
  test::for_each_coordinate({8, 32}, [&](const Coord& c) {
    ASSERT_EQ(fragment.thread_of(c), c[0] / 2 * 8 + c[1] / 4);
    ASSERT_EQ(fragment.register_of(c), c[0] % 2 * 4 + c[1] % 4);
  });
  EXPECT_TRUE(fragment.is_bijective());
  expect_inverse(fragment);
}

TEST(Fragment, RakedIsTheRakedProduct) {
  Layout thr = column_major({4, 2}), val = row_major({2, 3});
  Fragment fragment = Fragment::raked(thr, val);
  Layout product = raked_product(thr, val);
  test::for_each_coordinate({8, 6}, [&](const Coord& c) {
    ASSERT_EQ(product(IntTuple(c)), fragment.thread_of(c) + 8 * fragment.register_of(c));
  });
  EXPECT_EQ(Fragment::raked(Layout(32, 1), row_major({2, 4})).shape(), (Coord{64, 4}));
}

// The operand of an 8 x 8 matrix instruction: row l / 4, columns 2 * (l % 4) and the next.
TEST(Fragment, FromThreadValue) {
  Fragment fragment = Fragment::from_thread_value(Layout({{4, 8}, 2}, {{16, 1}, 8}), {8, 8});
  EXPECT_EQ(fragment.threads(), 32);
  EXPECT_EQ(fragment.registers(), 2);
  test::for_each_coordinate({8, 8}, [&](const Coord& c) {
    ASSERT_EQ(fragment.thread_of(c), c[0] * 4 + c[1] / 2);
    ASSERT_EQ(fragment.register_of(c), c[1] % 2);
  });
  EXPECT_TRUE(equivalent(fragment.layout_tv(), Layout({{4, 8}, 2}, {{16, 1}, 8})));
  expect_inverse(fragment);
}

TEST(Fragment, FromThreadValueErrors) {
  auto make = [](const Layout& tv, Coord shape) {
    return error_code([&] { Fragment::from_thread_value(tv, shape); });
  };
  EXPECT_EQ(make(Layout({32, 2}, {1, 32}), {8, 4}), "E0422");
  EXPECT_EQ(make(Layout({32, 2}, {1, 16}), {8, 8}), "E0422");
  EXPECT_EQ(make(Layout({32, 2}, {2, 64}), {8, 8}), "E0422");
  EXPECT_EQ(make(Layout(64, 1), {8, 8}), "E0422");
  EXPECT_EQ(make(Layout({32, 2}, {1, 32}), {-8, -8}), "E0424");
  EXPECT_EQ(make(Layout({32, 2}, {1, 32}), {max64, 2}), "E0410");
}

TEST(Fragment, RandomLinearFragments) {
  int made = 0;
  EXPECT_TRUE(rc::check([&] {
    Coord shape(static_cast<std::size_t>(pick(1, 3)));
    for (std::int64_t& extent : shape) extent = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 8, 12);
    std::int64_t threads = *rc::gen::element<std::int64_t>(1, 2, 4, 6, 16);
    std::int64_t vector = *rc::gen::element<std::int64_t>(1, 2, 4);
    Fragment fragment;
    try {
      fragment = Fragment::linear(shape, threads, vector);
    } catch (const UserError& error) {
      RC_ASSERT(error.code() == "E0422");
      return;
    }
    ++made;
    test::for_each_coordinate(shape, [&](const Coord& c) {
      std::int64_t index = 0;
      for (std::size_t i = 0; i < c.size(); ++i) index = index * shape[i] + c[i];
      RC_ASSERT(fragment.thread_of(c) == index / vector % threads);
      RC_ASSERT(fragment.register_of(c) == index % vector + index / (vector * threads) * vector);
    });
    RC_ASSERT(fragment.is_injective());
    if (fragment.is_bijective()) expect_inverse(fragment);
  }));
  EXPECT_GT(made, 20);
}

TEST(Fragment, InjectivityAgreesWithEnumeration) {
  int injective = 0, not_injective = 0;
  EXPECT_TRUE(rc::check([&] {
    // 12 = (3,4) against (4,3) has no common digits; (2,6) against (4,3) has.
    auto mode = [] {
      return *rc::gen::element(IntTuple(12), IntTuple{3, 4}, IntTuple{4, 3}, IntTuple{2, 6});
    };
    auto part = [&] {
      std::vector<Layout> modes;
      for (int i = 0; i < 2; ++i) {
        IntTuple shape = mode();
        IntTuple stride = shape.is_int() ? IntTuple(pick(0, 12))
                                         : IntTuple{pick(0, 4), *rc::gen::element(0, 1, 3, 4, 12)};
        modes.push_back(Layout(shape, stride));
      }
      return make_layout(modes);
    };
    Fragment fragment({12, 12}, part(), part());
    bool expected = injective_by_enumeration(fragment);
    RC_ASSERT(fragment.is_injective() == expected);
    ++(expected ? injective : not_injective);
  }));
  EXPECT_GT(injective, 2);
  EXPECT_GT(not_injective, 2);
}

TEST(Fragment, InterleavedDigitsAreDecidedByEnumeration) {
  Layout thread({{3, 4}}, {{1, 3}}), reg({{4, 3}}, {{0, 1}});
  EXPECT_TRUE(Fragment({12}, thread, reg).is_injective());
  Layout coarse({{3, 4}}, {{1, 0}});
  EXPECT_FALSE(Fragment({12}, coarse, reg).is_injective());
  EXPECT_TRUE(Fragment({12}, coarse, Layout({{4, 3}}, {{1, 4}})).is_injective());
}

TEST(Fragment, ReplicatedRegistersAreNotInjective) {
  EXPECT_FALSE(Fragment({8}, Layout({8}, {0}), Layout({8}, {0})).is_injective());
  EXPECT_FALSE(Fragment({8}, Layout({8}, {0}), Layout({8}, {2})).is_bijective());
  EXPECT_TRUE(Fragment({8}, Layout({8}, {0}), Layout({8}, {2})).is_injective());
}

TEST(Fragment, EmptyShapeIsOneElement) {
  Fragment fragment;
  EXPECT_EQ(fragment.threads(), 1);
  EXPECT_EQ(fragment.registers(), 1);
  EXPECT_EQ(fragment.thread_of(IntTuple()), 0);
  EXPECT_TRUE(fragment.is_bijective());
  EXPECT_EQ(fragment.layout_tv()({0, 0}), 0);
}

TEST(Fragment, Errors) {
  auto make = [](Coord shape, Layout thread, Layout reg) {
    return error_code([&] { Fragment(shape, thread, reg); });
  };
  EXPECT_EQ(make({8, 4}, row_major({8, 4}), Layout({8, 4}, {0, 0})), "none");
  EXPECT_EQ(make({8, 4}, row_major({4, 8}), Layout({8, 4}, {0, 0})), "E0424");
  EXPECT_EQ(make({8, 4}, row_major({8, 4}), Layout(32, 0)), "E0424");
  EXPECT_EQ(make({8}, Layout(8, -1), Layout(8, 0)), "E0424");
  EXPECT_EQ(make({2}, Layout(2, max64 / 2), Layout(2, 3)), "E0410");
  EXPECT_EQ(error_code([] { Fragment::linear({8}, 0, 1); }), "E0424");
  EXPECT_EQ(error_code([] { Fragment::linear({8}, 1, -1); }), "E0424");
  EXPECT_EQ(error_code([] { Fragment::linear({0}, 1, 1); }), "E0424");
  EXPECT_EQ(error_code([] { Fragment::linear({8}, max64, 2); }), "E0410");
  EXPECT_EQ(error_code([] { Fragment::linear({8}, max64, 1); }), "none");
  EXPECT_EQ(error_code([] { Fragment::linear({4, 12}, 5, 2); }), "E0422");
  EXPECT_EQ(error_code([] { Fragment::raked(Layout(max64, 1), Layout(2, 1)); }), "E0410");
  Fragment fragment = Fragment::linear({8, 4}, 32, 1);
  EXPECT_EQ(error_code([&] { fragment.thread_of({8, 0}); }), "E0423");
  EXPECT_EQ(error_code([&] { fragment.register_of(3); }), "E0423");
}

}  // namespace
}  // namespace tilecopy
