// Random copies: where the TMA unit takes one, each element must lie where the layout says.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tma_case.h"

namespace tc = tilecopy;
using tc::test::Ints;
using tc::test::TmaCase;

namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(engine_);
  }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }

 private:
  std::mt19937 engine_;
};

// A dimension's fast and slow digit.
struct Digit {
  std::int64_t extent = 1, stride = 0;
};

// Up to two digits of each dimension, in an order in memory that favours row-major.
tc::TileLayout random_layout(const Ints& tile, Random& r) {
  std::vector<std::array<Digit, 2>> dims(tile.size());
  std::vector<Digit*> order;  // the slowest first
  for (std::size_t d = 0; d < tile.size(); ++d) {
    std::int64_t fast = r.once_in(3) ? r.one_of<std::int64_t>({8, 16, 32, 64}) : tile[d];
    if (tile[d] % fast != 0) fast = tile[d];
    dims[d] = {Digit{fast}, Digit{tile[d] / fast}};
    order.push_back(&dims[d][1]);
    order.push_back(&dims[d][0]);
  }
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (r.once_in(4)) std::swap(order[i], order[i - 1]);
  }
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    order[i]->stride = stride;
    stride = stride * order[i]->extent + (r.once_in(12) ? 8 : 0);
  }
  std::vector<tc::IntTuple> extents, strides;
  for (const auto& [fast, slow] : dims) {
    extents.push_back(tc::IntTuple{fast.extent, slow.extent});
    strides.push_back(tc::IntTuple{fast.stride, slow.stride});
  }
  return tc::TileLayout(tc::Layout(tc::IntTuple(extents), tc::IntTuple(strides)));
}

std::optional<tc::TileLayout> some_layout(const Ints& tile, int element, Random& r) {
  if (r.once_in(3)) return std::nullopt;
  if (r.once_in(2)) return random_layout(tile, r);
  int span = r.one_of({32, 64, 128});
  std::int64_t rows = tile.size() > 1 ? tile[tile.size() - 2] : 1;
  std::int64_t row_bytes = tile.back() * element;
  if (tile.size() > 1 && row_bytes % span == 0 && rows % 8 == 0) {
    return tc::swizzled_row_major(tile, element, span);
  }
  // Rows padded to a multiple of the span, or not, under some swizzle.
  std::int64_t pad = r.once_in(2) ? 0 : (span - row_bytes % span) % span / element;
  int log = element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : 3;
  int bits = span == 32 ? 1 : span == 64 ? 2 : 3;
  return tc::TileLayout(tc::padded_row_major(tile, pad), tc::Swizzle(bits, 4 - log, 3));
}

TmaCase random_case(Random& r) {
  TmaCase c;
  c.dtype = r.one_of({tc::float16, tc::float32, tc::uint8, tc::int64});
  const int element = tc::bytes(c.dtype);
  const std::int64_t granule = 16 / element;
  const auto rank = static_cast<std::size_t>(1 + r.below(4));
  c.store = r.once_in(3);
  for (std::size_t d = 0; d < rank; ++d) {
    bool inner = d + 1 == rank;
    std::int64_t unit = inner && !r.once_in(8) ? granule : 1;
    std::int64_t part = inner ? unit * (1 + r.below(12)) : 1 + r.below(rank > 2 ? 6 : 40);
    if (!inner && r.once_in(4)) part = r.one_of<std::int64_t>({1, 1, 8, 16});
    c.tile.push_back(part + (r.once_in(4) ? unit * r.below(4) : 0));
    std::int64_t first = c.tile[d] == part ? 0 : unit * r.below((c.tile[d] - part) / unit + 1);
    c.tile_origin.push_back(first);
    c.tile_extent.push_back(part);
    c.extent.push_back(part);
    c.shape.push_back(unit * (1 + r.below(24)) + (r.once_in(6) ? part : 0));
    c.origin.push_back(unit * (r.below(20) - (r.once_in(3) ? 6 : 0)));
  }
  std::int64_t stride = 1;
  for (std::size_t d = rank; d-- > 0;) {
    c.strides.insert(c.strides.begin(), stride);
    stride *= c.shape[d];
    if (!r.once_in(8)) stride = (stride + granule - 1) / granule * granule;
  }
  c.layout = some_layout(c.tile, element, r);
  c.transpose = !c.store && rank > 1 && r.once_in(8);
  if (c.transpose) {
    for (Ints* list : {&c.tile_origin, &c.tile_extent, &c.tile}) {
      std::swap((*list)[rank - 1], (*list)[rank - 2]);
    }
    c.layout.reset();
    if (r.once_in(2)) c.layout = tc::TileLayout(tc::column_major(tc::IntTuple(c.tile)));
  }
  return c;
}

TEST(TmaRandom, EveryElementLiesWhereTheLayoutSays) {
  int taken = 0, swizzled = 0, several = 0;
  std::map<std::string, int> rules;
  for (unsigned seed = 0; seed < 4000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random r(seed);
    const TmaCase c = random_case(r).completed();
    const tc::test::Planned planned(c.function());
    ++rules[planned.rule()];
    if (!planned.plan) continue;
    ++taken;
    swizzled += planned.parameter("swizzle") != "none";
    several += planned.parameter("boxes") != "1";
    tc::test::check_moves(c, planned);
  }
  EXPECT_GT(taken, 400);
  EXPECT_GT(swizzled, 50);
  EXPECT_GT(several, 50);
  for (const auto& [rule, count] : rules) RecordProperty(rule.substr(rule.find('.') + 1), count);
}

}  // namespace
