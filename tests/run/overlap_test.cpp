// Whether views share memory, against enumeration of every byte that they cover.
#include "run/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tilecopy::run {
namespace {

std::string text_of(const TensorView& view) {
  std::string text = "offset " + std::to_string(reinterpret_cast<std::intptr_t>(view.data)) + ", " +
                     std::to_string(bytes(view.dtype)) + " bytes:";
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    text += " " + std::to_string(view.shape[d]);
    if (!view.strides.empty()) text += ":" + std::to_string(view.strides[d]);
  }
  return text;
}

// The address of each element, in row-major order of the indices.
std::vector<std::intptr_t> addresses(const TensorView& view) {
  std::vector<std::intptr_t> all = {reinterpret_cast<std::intptr_t>(view.data)};
  const std::vector<std::int64_t> strides = view.full_strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    std::vector<std::intptr_t> next;
    for (std::intptr_t start : all) {
      for (std::int64_t i = 0; i < view.shape[d]; ++i) {
        next.push_back(start + static_cast<std::intptr_t>(i * strides[d] * bytes(view.dtype)));
      }
    }
    all = std::move(next);
  }
  return all;
}

bool share_a_byte(const TensorView& a, const TensorView& b) {
  std::set<std::intptr_t> taken;
  for (std::intptr_t at : addresses(a)) {
    for (int i = 0; i < bytes(a.dtype); ++i) taken.insert(at + i);
  }
  for (std::intptr_t at : addresses(b)) {
    for (int i = 0; i < bytes(b.dtype); ++i) {
      if (taken.contains(at + i)) return true;
    }
  }
  return false;
}

bool element_meets_another(const TensorView& view) {
  std::set<std::intptr_t> taken;
  for (std::intptr_t at : addresses(view)) {
    for (int i = 0; i < bytes(view.dtype); ++i) {
      if (!taken.insert(at + i).second) return true;
    }
  }
  return false;
}

class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : random_(seed) {}

  TensorView operator()() {
    constexpr DType dtypes[] = {uint8, float16, float32, float64};
    TensorView view;
    view.dtype = dtypes[pick(0, 3)];
    // Nothing is read, so the addresses may be any numbers.
    view.data = reinterpret_cast<void*>(pick(10000, 10160));
    const std::int64_t rank = pick(0, 4);
    const bool row_major = pick(0, 4) == 0;
    // Multiples of a common step leave gaps for other views to lie in.
    const std::int64_t step = pick(0, 1) ? 1 : pick(2, 4);
    for (std::int64_t d = 0; d < rank; ++d) {
      view.shape.push_back(pick(0, 12) == 0 ? 0 : pick(1, 5));
      if (!row_major) view.strides.push_back(step * pick(-8, 12));
    }
    return view;
  }

 private:
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  std::mt19937 random_;
};

TEST(Overlap, OfTwoViewsAgreesWithEnumeration) {
  RandomViews next(1);
  int shared = 0;
  constexpr int trials = 20000;
  for (int trial = 0; trial < trials; ++trial) {
    const TensorView a = next();
    const TensorView b = next();
    const bool expected = share_a_byte(a, b);
    shared += expected ? 1 : 0;
    ASSERT_EQ(may_share_memory(a, b), expected) << text_of(a) << "\n" << text_of(b);
    ASSERT_EQ(may_share_memory(b, a), expected) << text_of(a) << "\n" << text_of(b);
  }
  EXPECT_GT(shared, trials / 10);
  EXPECT_LT(shared, trials * 9 / 10);
}

TEST(Overlap, OfOneViewAgreesWithEnumeration) {
  RandomViews next(2);
  int overlapping = 0;
  constexpr int trials = 20000;
  for (int trial = 0; trial < trials; ++trial) {
    const TensorView view = next();
    const bool expected = element_meets_another(view);
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(overlaps_itself(view), expected) << text_of(view);
  }
  EXPECT_GT(overlapping, trials / 10);
  EXPECT_LT(overlapping, trials * 9 / 10);
}

TensorView view_at(std::intptr_t address, std::vector<std::int64_t> shape,
                   std::vector<std::int64_t> strides = {}) {
  return {reinterpret_cast<void*>(address), float32, std::move(shape), std::move(strides)};
}

TEST(Overlap, OfLargeInterleavedViewsIsExact) {
  // Each takes every second column of the same matrix, then they meet in a single element.
  const std::vector<std::int64_t> shape = {1 << 20, 1 << 10};
  const std::vector<std::int64_t> strides = {1 << 11, 2};
  EXPECT_FALSE(may_share_memory(view_at(4096, shape, strides), view_at(4100, shape, strides)));
  EXPECT_TRUE(may_share_memory(view_at(4096, shape, strides), view_at(4104, shape, strides)));
  EXPECT_FALSE(may_share_memory(view_at(4096, shape, strides),
                                view_at(4100, {1 << 19, 1 << 9}, {1 << 12, 4})));
  EXPECT_FALSE(overlaps_itself(view_at(4096, shape, strides)));
  EXPECT_TRUE(overlaps_itself(view_at(4096, shape, {(1 << 11) - 2, 2})));
}

TEST(Overlap, OfBroadcastViews) {
  EXPECT_TRUE(overlaps_itself(view_at(4096, {4, 4}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(view_at(4096, {1, 4}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(view_at(4096, {4, 0}, {0, 0})));
}

TEST(Overlap, OfReversedViews) {
  EXPECT_TRUE(may_share_memory(view_at(4096, {8}), view_at(4096 + 32, {9}, {-1})));
  EXPECT_FALSE(may_share_memory(view_at(4096, {8}), view_at(4096 + 60, {8}, {-1})));
}

TEST(Overlap, AtTheEndsOfTheAddressSpace) {
  const std::intptr_t high = std::intptr_t{1} << 46;
  const std::int64_t far = (std::int64_t{1} << 45) / 4;
  EXPECT_TRUE(may_share_memory(view_at(0, {3}, {far}), view_at(high, {2}, {far})));
  EXPECT_FALSE(may_share_memory(view_at(4, {3}, {far}), view_at(high, {2}, {far})));
}

}  // namespace
}  // namespace tilecopy::run
