// Boxes of a tile by brute force: whatever plan_boxes takes must put each element where the digits
// say, in boxes that the hardware takes.
#include "copy/tma_box.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tc = tilecopy;
using tc::planner::BoxFailure;
using tc::planner::BoxLimits;
using tc::planner::BoxPlan;
using tc::planner::TileDigit;

namespace {

using Ints = std::vector<std::int64_t>;
/// Bytes in shared memory, by the element's coordinates.
using Places = std::map<Ints, std::int64_t>;

// Measured on an H200: address bits 4.. change by bits 7.., as many as the span has.
std::int64_t swizzled(std::int64_t byte, int span) {
  std::int64_t mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
  return byte ^ (((byte >> 7) & mask) << 4);
}

// Where the layout has the elements.
Places by_digits(const std::vector<TileDigit>& digits, const BoxLimits& limits) {
  std::int64_t count = 1;
  for (const TileDigit& digit : digits) count *= digit.extent;
  Places places;
  for (std::int64_t i = 0; i < count; ++i) {
    Ints at(static_cast<std::size_t>(limits.rank), 0);
    std::int64_t offset = 0, rest = i;
    for (const TileDigit& digit : digits) {
      at[static_cast<std::size_t>(digit.dim)] += rest % digit.extent * digit.step;
      offset += rest % digit.extent * digit.stride;
      rest /= digit.extent;
    }
    places[at] = swizzled(offset * limits.element_bytes, limits.swizzle_bytes);
  }
  return places;
}

// Where the hardware writes them: box after box, row after row. With a swizzle, rows begin at
// multiples of its span.
Places by_boxes(const BoxPlan& plan, const BoxLimits& limits) {
  Places places;
  for (const auto& box : plan.boxes) {
    const Ints& shape = plan.shapes.at(box.shape);
    std::int64_t row = shape[0] * limits.element_bytes;
    std::int64_t pitch = limits.swizzle_bytes ? limits.swizzle_bytes : row;
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    for (std::int64_t i = 0; i < count; ++i) {
      Ints at = box.at;
      std::int64_t rest = i;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        at[d] += rest % shape[d];
        rest /= shape[d];
      }
      std::int64_t byte = (box.shared_offset + i % shape[0]) * limits.element_bytes;
      byte += i / shape[0] * pitch;
      EXPECT_TRUE(places.emplace(at, swizzled(byte, limits.swizzle_bytes)).second) << "twice";
    }
  }
  return places;
}

// CUDA driver API, cuTensorMapEncodeTiled; addresses as measured on an H200.
void check_limits(const BoxPlan& plan, const BoxLimits& limits) {
  EXPECT_LE(plan.boxes.size(), 64u);
  for (const Ints& shape : plan.shapes) {
    ASSERT_EQ(shape.size(), static_cast<std::size_t>(limits.rank));
    std::int64_t row = shape[0] * limits.element_bytes;
    EXPECT_EQ(row % 16, 0);
    EXPECT_TRUE(limits.swizzle_bytes == 0 || row <= limits.swizzle_bytes) << row;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      EXPECT_GE(shape[d], 1);
      EXPECT_LE(shape[d], d == 0 ? 256 : limits.most_outer);
    }
  }
  std::int64_t period = limits.swizzle_bytes ? limits.swizzle_bytes * 8 : 128;
  for (const auto& box : plan.boxes) {
    EXPECT_EQ(box.shared_offset * limits.element_bytes % period, 0);
  }
}

std::string text(const std::vector<TileDigit>& digits, const BoxLimits& limits) {
  std::string s = std::to_string(limits.element_bytes) + " bytes, swizzle " +
                  std::to_string(limits.swizzle_bytes);
  for (const TileDigit& d : digits) {
    s += "; dim " + std::to_string(d.dim) + ": " + std::to_string(d.extent) + " by " +
         std::to_string(d.stride) + ", step " + std::to_string(d.step);
  }
  return s;
}

// The rule that failed; empty when the boxes are right.
std::string check(const std::vector<TileDigit>& digits, const BoxLimits& limits) {
  SCOPED_TRACE(text(digits, limits));
  BoxFailure failure;
  auto plan = tc::planner::plan_boxes(digits, limits, failure);
  if (!plan) {
    EXPECT_NE(failure.found, "");
    return failure.rule;
  }
  check_limits(*plan, limits);
  EXPECT_TRUE(by_boxes(*plan, limits) == by_digits(digits, limits)) << "elements elsewhere";
  return "";
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(engine_);
  }
  std::int64_t one_of(const Ints& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::mt19937 engine_;
};

// Up to three digits of each dimension, laid out one after the other in an order that favours the
// innermost dimension's, sometimes with gaps.
std::vector<TileDigit> random_digits(const BoxLimits& limits, Random& r) {
  const std::int64_t granule = 16 / limits.element_bytes;
  std::vector<TileDigit> digits;
  for (int dim = 0; dim < limits.rank; ++dim) {
    std::int64_t step = 1;
    for (std::int64_t k = r.below(6) ? 1 + r.below(2) : 3; k-- > 0;) {
      std::int64_t extent = 1 + r.below(9);
      bool first = step == 1;
      if (dim == 0 && first) extent = granule * r.one_of({1, 2, 3, 4, 4, 8, 8, 8, 16, 40});
      if (dim == 1 && first) extent = r.one_of({1, 3, 7, 8, 16, 32, 64, 100, 257, 300});
      digits.push_back({dim, extent, 0, step});
      step *= extent;
    }
  }
  for (std::size_t i = 1; i < digits.size(); ++i) {
    if (r.below(5) == 0) std::swap(digits[i], digits[i - 1]);
  }
  const std::int64_t span = limits.swizzle_bytes / limits.element_bytes;
  std::int64_t stride = 1;
  for (TileDigit& digit : digits) {
    digit.stride = stride;
    stride *= digit.extent;
    if (span > 0 && stride < span && r.below(2)) stride = span;
    if (r.below(12) == 0) stride += granule * r.below(9);
  }
  return digits;
}

TEST(TmaBox, RandomDigits) {
  std::map<std::string, int> rules;
  std::map<int, int> taken;  // by swizzle
  for (unsigned seed = 0; seed < 20000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random r(seed);
    BoxLimits limits;
    limits.element_bytes = static_cast<int>(r.one_of({1, 2, 4, 8}));
    limits.rank = static_cast<int>(1 + r.below(4));
    limits.swizzle_bytes = static_cast<int>(r.one_of({0, 32, 64, 128}));
    if (r.below(4) == 0) limits.most_outer = 1024;
    std::vector<TileDigit> digits = random_digits(limits, r);
    std::int64_t count = 1;
    for (const TileDigit& digit : digits) count *= digit.extent;
    if (count > 20000) continue;
    std::string rule = check(digits, limits);
    ++rules[rule];
    if (rule.empty()) ++taken[limits.swizzle_bytes];
  }
  for (int swizzle : {0, 32, 64, 128}) EXPECT_GT(taken[swizzle], 100) << swizzle;
  for (const char* rule : {"inner_box", "boxes", "shared_alignment"}) EXPECT_GT(rules[rule], 100);
  EXPECT_EQ(rules.size(), 4u);
}

struct Case {
  std::vector<TileDigit> digits;
  BoxLimits limits;
  std::vector<Ints> shapes;  // none where `rule` fails
  std::size_t boxes;
  std::string rule = "";
};

TEST(TmaBox, Table) {
  const std::vector<Case> cases = {
      {{{0, 64, 1}, {1, 64, 64}}, {2, 2}, {{64, 64}}, 1},
      // Dimensions of one element take no part.
      {{{1, 1, 7}, {0, 64, 1}}, {2, 2}, {{64, 1}}, 1},
      // The order of the digits is that of their strides.
      {{{1, 64, 64}, {0, 64, 1}}, {2, 2}, {{64, 64}}, 1},
      // Two panels, 64 columns each.
      {{{0, 64, 1}, {1, 8, 64}, {0, 2, 512, 64}}, {2, 2, 128}, {{64, 8}}, 2},
      // A dimension further in cannot follow one further out.
      {{{0, 64, 1}, {2, 4, 64}, {1, 4, 256}}, {2, 3}, {{64, 1, 4}}, 4},
      // Neither can a dimension's second digit follow its first.
      {{{0, 64, 1}, {0, 2, 64, 64}, {1, 4, 128}}, {2, 2}, {{64, 1}}, 8},
      // What is above the limit comes in parts, and nothing joins a box after it.
      {{{0, 64, 1}, {1, 512, 64}, {2, 2, 32768}}, {2, 3}, {{64, 256, 1}}, 4},
      {{{0, 64, 1}, {1, 512, 64}, {2, 2, 32768}}, {2, 3, 0, 1024}, {{64, 512, 2}}, 1},
      {{{0, 64, 1}, {1, 257, 64}}, {2, 2}, {{64, 256}, {64, 1}}, 2},
      {{{0, 512, 1}}, {1, 1, 128}, {}, 0, "shared_alignment"},
      {{{0, 63, 1}, {1, 64, 63}}, {2, 2}, {}, 0, "inner_box"},
      {{{1, 64, 1}, {0, 64, 64}}, {2, 2}, {}, 0, "inner_box"},
      {{{0, 64, 1}, {1, 65, 128}}, {2, 2}, {}, 0, "boxes"},
      {{{0, 64, 1}, {1, 64, 72}}, {2, 2}, {}, 0, "shared_alignment"},
      {{}, {2, 1}, {}, 0, "inner_box"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(text(c.digits, c.limits));
    EXPECT_EQ(check(c.digits, c.limits), c.rule);
    BoxFailure failure;
    auto plan = tc::planner::plan_boxes(c.digits, c.limits, failure);
    if (!plan) continue;
    EXPECT_EQ(plan->shapes, c.shapes);
    EXPECT_EQ(plan->boxes.size(), c.boxes);
  }
}

}  // namespace
