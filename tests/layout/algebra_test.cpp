// The laws of coalesce, composition, complement, the inverses, division and products, checked on
// every coordinate.
#include <algorithm>

#include "layout/support.h"

namespace tilecopy {
namespace {

using test::error_code;
using test::offsets;
using test::pick;

constexpr std::int64_t max64 = INT64_MAX;

// Whether some layout of one mode maps 0, 1, ... to these values: decided by its coalesced form,
// which is unique.
bool is_linear_in_digits(const std::vector<std::int64_t>& values) {
  std::size_t n = values.size();
  if (n == 1) return values[0] == 0;
  std::int64_t step = values[1];
  std::size_t run = 1;
  while (run < n && values[run] == static_cast<std::int64_t>(run) * step) ++run;
  if (run == n) return true;
  if (n % run != 0 || values[0] != 0) return false;
  std::vector<std::int64_t> outer;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % run == 0) outer.push_back(values[i]);
    if (values[i] != outer.back() + static_cast<std::int64_t>(i % run) * step) return false;
  }
  return is_linear_in_digits(outer);
}

TEST(Coalesce, KeepsTheMapWithFewestModes) {
  EXPECT_EQ(coalesce(Layout({2, {1, 6}}, {1, {7, 2}})), Layout(12, 1));
  EXPECT_EQ(coalesce(Layout({4, 2}, {0, 0})), Layout(8, 0));
  EXPECT_EQ(coalesce(Layout({1, 1}, {5, 6})), Layout(1, 0));
  EXPECT_EQ(coalesce(Layout({2, 3}, {3, 1})), Layout({2, 3}, {3, 1}));
  EXPECT_EQ(coalesce_modes(Layout({{2, 2}, {1, 6}}, {{1, 2}, {7, 4}})), Layout({4, 6}, {1, 4}));
  // The first mode ends at 2^63, which no stride can be.
  Layout wide({2, 2}, {max64 / 2 + 1, 1});
  EXPECT_EQ(coalesce(wide), wide);
}

TEST(Coalesce, LawOverRandomLayouts) {
  EXPECT_TRUE(rc::check([] {
    Layout layout =
        *rc::gen::arbitrary<bool>() ? test::any_layout() : test::tidy_layout(true, true);
    Layout joined = coalesce(layout);
    RC_ASSERT(offsets(joined) == offsets(layout));
    RC_ASSERT(depth(joined) <= 1);
    RC_ASSERT(coalesce(joined) == joined);
    RC_ASSERT(offsets(flatten(layout)) == offsets(layout));
    RC_ASSERT(offsets(coalesce_modes(layout)) == offsets(layout));
    RC_ASSERT(rank(coalesce_modes(layout)) == rank(layout));
    RC_ASSERT(depth(flatten(layout)) <= 1);
  }));
}

TEST(Filter, KeepsTheSetOfOffsets) {
  EXPECT_EQ(filter(Layout({4, 2, 3}, {1, 0, 4})), Layout(12, 1));
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::tidy_layout(true, true);
    std::vector<std::int64_t> a = offsets(layout), b = offsets(filter(layout));
    RC_ASSERT(std::set(a.begin(), a.end()) == std::set(b.begin(), b.end()));
    RC_ASSERT(is_injective(filter(layout)));
  }));
}

TEST(Composition, KnownCases) {
  EXPECT_EQ(composition(Layout({6, 2}, {8, 2}), Layout({4, 3}, {3, 1})),
            Layout({{2, 2}, 3}, {{24, 2}, 8}));
  EXPECT_EQ(composition(Layout(20, 2), Layout({5, 4}, {4, 1})), Layout({5, 4}, {8, 2}));
  EXPECT_EQ(composition(Layout({10, 2}, {16, 4}), Layout({5, 4}, {1, 5})),
            Layout({5, {2, 2}}, {16, {80, 4}}));
  EXPECT_EQ(composition(Layout(7, 3), Layout(1, 100)), Layout(1, 0));
  EXPECT_EQ(composition(Layout(7, 3), Layout(1, -5)), Layout(1, 0));
  EXPECT_EQ(composition(Layout(7, 3), Layout(9, 0)), Layout(9, 0));
}

TEST(Composition, WhereModesCarryThereIsNoLayout) {
  // Each mode alone composes; together they step over the digit of 2.
  EXPECT_EQ(error_code([] {
              composition(Layout({2, 4}, {10, 1}), Layout({2, 2}, {1, 1}));
            }),
            "E0422");
  EXPECT_EQ(error_code([] { composition(Layout({4, 4}, {1, 100}), Layout(6, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { composition(Layout({4, 4}, {1, 100}), Layout(5, 3)); }), "E0422");
}

TEST(Composition, LeavingTheDomainIsAnError) {
  EXPECT_EQ(error_code([] { composition(Layout(4, 2), Layout(8, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { composition(Layout(4, 2), Layout(2, 4)); }), "E0422");
  EXPECT_EQ(error_code([] { composition(Layout(4, 2), Layout(2, -1)); }), "E0422");
  EXPECT_EQ(error_code([] { composition(Layout(1, 2), Layout(2, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { composition(Layout(4, 2), Layout(2, max64 - 1)); }), "E0422");
  EXPECT_EQ(error_code([] {
              composition(Layout(max64, 1), Layout({2, 2}, {1, max64 - 2}));
            }),
            "none");
}

TEST(Composition, LawOverRandomLayouts) {
  int composed = 0;
  EXPECT_TRUE(rc::check([&] {
    Layout a = test::tidy_layout(true, true);
    Layout b = *rc::gen::arbitrary<bool>() ? test::tidy_layout(false, true) : test::any_layout();
    Layout r;
    try {
      r = composition(a, b);
    } catch (const UserError& error) {
      RC_ASSERT(error.code() == "E0422");
      return;
    }
    ++composed;
    RC_ASSERT(size(r) == size(b));
    for (std::int64_t c = 0; c < size(b); ++c) {
      RC_ASSERT(r(c) == a(b(c)));
      IntTuple coord = idx2crd(c, b.shape());
      RC_ASSERT(r(coord) == a(b(coord)));
    }
  }));
  EXPECT_GT(composed, 10);
}

// One mode composes exactly when the composed map is a layout at all.
TEST(Composition, OfOneModeIsComplete) {
  int composed = 0, refused = 0;
  test::for_each_coordinate({5, 5, 4, 12, 12}, [&](const std::vector<std::int64_t>& c) {
    Layout a({c[0] + 1, c[1] + 1, c[2] + 1}, {1, 10, 100});
    Layout b(c[3] + 1, c[4]);
    bool inside = b(size(b) - 1) < size(a);
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; inside && i < size(b); ++i) values.push_back(a(b(i)));
    bool expected = inside && is_linear_in_digits(values);
    std::string code = error_code([&] { EXPECT_EQ(offsets(composition(a, b)), values); });
    EXPECT_EQ(code, expected ? "none" : "E0422") << a << " o " << b;
    ++(expected ? composed : refused);
  });
  EXPECT_GT(composed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Composition, ByModes) {
  Layout a = row_major({8, 12});
  EXPECT_EQ(composition(a, Tiler{Layout(4, 2)}), Layout({4, 12}, {24, 1}));
  EXPECT_EQ(error_code([&] { composition(a, Tiler(3, Layout(1, 0))); }), "E0422");
}

TEST(Complement, KnownCases) {
  EXPECT_EQ(complement(Layout(4, 1), 24), Layout(6, 4));
  EXPECT_EQ(complement(Layout(6, 4), 24), Layout(4, 1));
  EXPECT_EQ(complement(Layout({4, 6}, {1, 4}), 24), Layout(1, 0));
  EXPECT_EQ(complement(Layout(4, 2), 24), Layout({2, 3}, {1, 8}));
  EXPECT_EQ(complement(Layout({2, 4}, {1, 6}), 24), Layout(3, 2));
  EXPECT_EQ(complement(Layout({2, 2}, {1, 6}), 24), Layout({3, 2}, {2, 12}));
  EXPECT_EQ(complement(Layout(4, 1), 10), Layout(3, 4));
}

TEST(Complement, LawOverRandomLayouts) {
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::tidy_layout(true, true);
    std::int64_t cotarget = pick(1, 200);
    Layout rest = complement(layout, cotarget);
    std::vector<std::int64_t> steps = offsets(rest);
    RC_ASSERT(std::is_sorted(steps.begin(), steps.end()));
    // Every offset below the cotarget is the sum of one of each, in one way only.
    std::vector<std::int64_t> sums = offsets(make_layout({filter(layout), rest}));
    RC_ASSERT(!test::has_duplicates(sums));
    std::set<std::int64_t> all(sums.begin(), sums.end());
    for (std::int64_t i = 0; i < cotarget; ++i) RC_ASSERT(all.count(i) == 1u);
    RC_ASSERT(static_cast<std::int64_t>(sums.size()) == *all.rbegin() + 1);
  }));
}

TEST(Complement, Errors) {
  EXPECT_EQ(error_code([] { complement(Layout({2, 2}, {1, 1}), 8); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout({2, 2}, {2, 3}), 8); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout({2, 2}, {1, 3}), 8); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout(2, -1), 8); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout(2, 1), 0); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout(2, 1), INT64_MIN); }), "E0422");
  EXPECT_EQ(error_code([] { complement(Layout(2, max64 - 1), 8); }), "E0410");
  EXPECT_EQ(size(complement(Layout(2, 1), max64 - 1)), max64 / 2);
}

TEST(RightInverse, KnownCases) {
  EXPECT_EQ(right_inverse(Layout({4, 8}, {8, 1})), Layout({8, 4}, {4, 1}));
  EXPECT_EQ(right_inverse(Layout(4, 2)), Layout(1, 0));
  EXPECT_EQ(right_inverse(Layout({4, 2}, {1, 8})), Layout(4, 1));
}

TEST(RightInverse, LawOverRandomLayouts) {
  EXPECT_TRUE(rc::check([] {
    Layout layout =
        *rc::gen::arbitrary<bool>() ? test::any_layout() : test::tidy_layout(true, true);
    Layout inverse = right_inverse(layout);
    for (std::int64_t i = 0; i < size(inverse); ++i) RC_ASSERT(layout(inverse(i)) == i);
    Layout compact = test::tidy_layout(false, false);
    RC_ASSERT(size(right_inverse(compact)) == size(compact));
  }));
}

TEST(LeftInverse, KnownCases) {
  EXPECT_EQ(left_inverse(Layout({4, 8}, {8, 1})), Layout({8, 4}, {4, 1}));
  EXPECT_EQ(left_inverse(Layout(4, 2)), Layout({2, 4}, {0, 1}));
  // Rows of 32 in a pitch of 33.
  EXPECT_EQ(left_inverse(Layout({32, 8}, {1, 33})), Layout({33, 8}, {1, 32}));
}

TEST(LeftInverse, LawOverRandomLayouts) {
  EXPECT_TRUE(rc::check([] {
    Layout layout = test::tidy_layout(true, false);
    Layout inverse = left_inverse(layout);
    RC_ASSERT(size(inverse) >= cosize(layout));
    for (std::int64_t i = 0; i < size(layout); ++i) RC_ASSERT(inverse(layout(i)) == i);
  }));
}

TEST(LeftInverse, Errors) {
  EXPECT_EQ(error_code([] { left_inverse(Layout({2, 2}, {1, 0})); }), "E0422");
  EXPECT_EQ(error_code([] { left_inverse(Layout({2, 2}, {2, 5})); }), "E0422");
  EXPECT_EQ(error_code([] { left_inverse(Layout(2, -1)); }), "E0422");
  EXPECT_EQ(error_code([] { left_inverse(Layout({4, 2}, {1, 2})); }), "E0422");
  EXPECT_EQ(error_code([] { left_inverse(Layout({2, 3}, {3, 2})); }), "E0422");
  EXPECT_EQ(error_code([] { left_inverse(Layout(2, max64 - 1)); }), "E0410");
}

TEST(Divide, KnownCases) {
  EXPECT_EQ(logical_divide(Layout({4, 2, 3}, {2, 1, 8}), Layout(4, 2)),
            Layout({{2, 2}, {2, 3}}, {{4, 1}, {2, 8}}));
  Layout matrix = row_major({8, 12});
  Tiler tiler{Layout(4, 1), Layout(3, 4)};
  EXPECT_EQ(logical_divide(matrix, tiler), Layout({{4, 2}, {3, 4}}, {{12, 48}, {4, 1}}));
  EXPECT_EQ(zipped_divide(matrix, tiler), Layout({{4, 3}, {2, 4}}, {{12, 4}, {48, 1}}));
  EXPECT_EQ(tiled_divide(matrix, tiler), Layout({{4, 3}, 2, 4}, {{12, 4}, 48, 1}));
  EXPECT_EQ(zipped_divide(matrix, Tiler{Layout(4, 1)}), Layout({{4}, {2, 12}}, {{12}, {48, 1}}));
  EXPECT_EQ(logical_divide(matrix, Tiler{}), matrix);
}

TEST(Divide, TilesAreTheTilersElements) {
  int divided = 0;
  EXPECT_TRUE(rc::check([&] {
    Layout layout = test::tidy_layout(true, false);
    Layout tiler = test::tidy_layout(true, false);
    Layout parts;
    try {
      parts = logical_divide(layout, tiler);
    } catch (const UserError& error) {
      RC_ASSERT(error.code() == "E0422");
      return;
    }
    ++divided;
    RC_ASSERT(size(parts) == size(layout));
    for (std::int64_t i = 0; i < size(tiler); ++i) RC_ASSERT(parts({i, 0}) == layout(tiler(i)));
    std::vector<std::int64_t> a = offsets(parts), b = offsets(layout);
    RC_ASSERT(std::set(a.begin(), a.end()) == std::set(b.begin(), b.end()));
  }));
  EXPECT_GT(divided, 0);
}

TEST(Divide, Errors) {
  EXPECT_EQ(error_code([] { logical_divide(Layout(10, 1), Layout(4, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { logical_divide(Layout(10, 1), Layout(20, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { logical_divide(Layout(8, 1), Layout({2, 2}, {1, 1})); }), "E0422");
  EXPECT_EQ(error_code([] { logical_divide(row_major({8, 8}), Layout(12, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { zipped_divide(Layout(8, 1), Tiler(2, Layout(2, 1))); }), "E0422");
  EXPECT_EQ(error_code([] { tiled_divide(row_major({8, 8}), Tiler{Layout(3, 1)}); }), "E0422");
}

TEST(Divide, ATileThatDoesNotFitIsNamed) {
  try {
    logical_divide(Layout(10, 1), Layout(4, 1));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().needed, "a tile that divides the 10 elements of 10:1");
    EXPECT_EQ(error.report().found, "4:1, which takes up 12 elements");
    EXPECT_STREQ(error.where().file, __FILE__);
  }
}

TEST(Product, KnownCases) {
  EXPECT_EQ(logical_product(Layout({2, 2}, {4, 1}), Layout(6, 1)),
            Layout({{2, 2}, {2, 3}}, {{4, 1}, {2, 8}}));
  Layout block({2, 5}, {5, 1});
  Layout tiler({3, 4}, {1, 3});
  EXPECT_EQ(blocked_product(block, tiler), Layout({6, {5, 4}}, {5, {1, 30}}));
  EXPECT_EQ(raked_product(block, tiler), Layout({{3, 2}, {4, 5}}, {{10, 5}, {30, 1}}));
  EXPECT_EQ(blocked_product(Layout(4, 1), row_major({2, 3})), Layout({{4, 2}, 3}, {{1, 12}, 4}));
}

TEST(Product, BlocksDoNotOverlap) {
  EXPECT_TRUE(rc::check([] {
    Layout block = test::tidy_layout(true, false);
    Layout tiler = test::tidy_layout(false, false);
    RC_PRE(size(block) * size(tiler) <= 4096);
    Layout product;
    try {
      product = logical_product(block, tiler);
    } catch (const UserError& error) {
      RC_ASSERT(error.code() == "E0422");
      RC_DISCARD();
    }
    std::int64_t steps = size(tiler);
    for (std::int64_t i = 0; i < size(block); ++i) RC_ASSERT(product({i, 0}) == block(i));
    RC_ASSERT(size(product) == size(block) * steps);
    RC_ASSERT(!test::has_duplicates(offsets(product)));
    // The repetitions are the tiler's, in the space that the block leaves.
    Layout space = complement(block, size(block) * cosize(tiler));
    for (std::int64_t i = 0; i < steps; ++i) RC_ASSERT(product({0, i}) == space(tiler(i)));
  }));
}

TEST(Product, BlockedAndRakedOrderTheSameElements) {
  Layout block = column_major({2, 3});
  Layout tiler = row_major({4, 5});
  Layout blocked = blocked_product(block, tiler);
  Layout raked = raked_product(block, tiler);
  test::for_each_coordinate({2, 3, 4, 5}, [&](const std::vector<std::int64_t>& c) {
    std::int64_t expected = block({c[0], c[1]}) + 6 * tiler({c[2], c[3]});
    EXPECT_EQ(blocked({c[0] + 2 * c[2], c[1] + 3 * c[3]}), expected);
    EXPECT_EQ(raked({c[2] + 4 * c[0], c[3] + 5 * c[1]}), expected);
  });
}

TEST(Product, Errors) {
  EXPECT_EQ(error_code([] { logical_product(Layout(max64, 1), Layout(2, 1)); }), "E0410");
  EXPECT_EQ(error_code([] { logical_product(Layout({2, 2}, {1, 1}), Layout(2, 1)); }), "E0422");
  EXPECT_EQ(error_code([] { blocked_product(Layout(2, 1), Layout(2, -1)); }), "E0422");
}

}  // namespace
}  // namespace tilecopy
