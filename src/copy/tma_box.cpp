#include "copy/tma_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tilecopy::planner {
namespace {

constexpr std::int64_t most_inner = 256;

// Consecutive parts of a digit.
struct Part {
  std::int64_t begin, extent;
};

// Equal parts if a divisor of at least half the limit exists, else full ones and a rest; all but
// the rest are multiples of `unit`.
std::vector<Part> split(std::int64_t extent, std::int64_t limit, std::int64_t unit) {
  if (extent <= limit) return {{0, extent}};
  std::int64_t size = limit / unit * unit;
  for (std::int64_t part = size; part * 2 >= size && part > 0; part -= unit) {
    if (extent % part == 0) {
      size = part;
      break;
    }
  }
  std::vector<Part> parts;
  for (std::int64_t begin = 0; begin < extent; begin += size) {
    parts.push_back({begin, std::min(size, extent - begin)});
  }
  return parts;
}

class BoxPlanner {
 public:
  BoxPlanner(std::vector<TileDigit> digits, const BoxLimits& limits, BoxFailure& failure)
      : digits_(std::move(digits)), limits_(limits), failure_(failure) {
    std::erase_if(digits_, [](const TileDigit& d) { return d.extent == 1; });
    std::stable_sort(digits_.begin(), digits_.end(),
                     [](const TileDigit& a, const TileDigit& b) { return a.stride < b.stride; });
  }

  std::optional<BoxPlan> plan() {
    used_ = dense_prefix();
    if (used_ > 0) parts_ = split(digits_[used_ - 1].extent, limit(used_ - 1), unit(used_ - 1));
    if (!check_rows() || !check_count()) return std::nullopt;
    // The digits of a box, of which the last may be in parts, then the others one by one.
    Box box{std::vector<std::int64_t>(rank(), 1), 0, std::vector<std::int64_t>(rank(), 0)};
    for (std::size_t i = 0; i + 1 < used_; ++i) box.shape[dim(i)] = digits_[i].extent;
    if (used_ == 0) enumerate(box, 0);
    for (const Part& part : parts_) {
      Box next = moved(box, used_ - 1, part.begin);
      next.shape[dim(used_ - 1)] = part.extent;
      enumerate(next, used_);
    }
    return check_starts() ? std::optional(std::move(result_)) : std::nullopt;
  }

 private:
  struct Box {
    std::vector<std::int64_t> shape;
    std::int64_t offset;
    std::vector<std::int64_t> at;
  };

  std::size_t rank() const { return static_cast<std::size_t>(limits_.rank); }
  std::size_t dim(std::size_t i) const { return static_cast<std::size_t>(digits_[i].dim); }
  std::int64_t element() const { return limits_.element_bytes; }
  std::int64_t span_elements() const { return limits_.swizzle_bytes / element(); }

  std::int64_t limit(std::size_t i) const {
    if (digits_[i].dim > 0) return limits_.most_outer;
    return limits_.swizzle_bytes ? std::min(most_inner, span_elements()) : most_inner;
  }

  // Parts of a digit begin where boxes may; where no part does, check_starts says so.
  std::int64_t unit(std::size_t i) const {
    std::int64_t alignment = box_alignment(limits_.swizzle_bytes);
    std::int64_t aligned = alignment / std::gcd(alignment, digits_[i].stride * element());
    return aligned <= limit(i) ? aligned : 1;
  }

  // How many digits, the densest first, one box can hold: each begins where the one before ends,
  // and belongs to a dimension further out. A digit above the limit is the last.
  // NOTE: measured on an H200: with a swizzle, rows of a box begin at multiples of its span, and
  // what lies between is left alone.
  std::size_t dense_prefix() const {
    std::int64_t dense = 1;
    int last = -1;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const TileDigit& digit = digits_[i];
      if (digit.stride != dense || digit.dim <= last || digit.step != 1) return i;
      if (digit.extent > limit(i)) return i + 1;
      bool in_span = digit.dim == 0 && limits_.swizzle_bytes > 0;
      dense = in_span ? span_elements() : dense * digit.extent;
      last = digit.dim;
    }
    return digits_.size();
  }

  static Box moved(Box box, const TileDigit& digit, std::int64_t index) {
    box.offset += index * digit.stride;
    box.at[static_cast<std::size_t>(digit.dim)] += index * digit.step;
    return box;
  }
  Box moved(const Box& box, std::size_t i, std::int64_t index) const {
    return moved(box, digits_[i], index);
  }

  void enumerate(const Box& box, std::size_t i) {
    if (i == digits_.size()) return add(box);
    for (std::int64_t k = 0; k < digits_[i].extent; ++k) enumerate(moved(box, i, k), i + 1);
  }

  void add(const Box& box) {
    auto known = std::find(result_.shapes.begin(), result_.shapes.end(), box.shape);
    auto index = static_cast<std::size_t>(known - result_.shapes.begin());
    if (known == result_.shapes.end()) result_.shapes.push_back(box.shape);
    result_.boxes.push_back({index, box.offset, box.at});
  }

  // ---- Rules ----

  bool fail(std::string rule, std::string needed, std::string found, std::string advice) {
    failure_ = {std::move(rule), std::move(needed), std::move(found), std::move(advice)};
    return false;
  }

  bool check_rows() {
    bool inner = used_ > 0 && digits_[0].dim == 0;
    std::vector<std::int64_t> rows = {inner ? digits_[0].extent : 1};
    if (inner && used_ == 1) {
      rows.clear();
      for (const Part& part : parts_) rows.push_back(part.extent);
    }
    for (std::int64_t row : rows) {
      if (row * element() % tma_granule_bytes == 0) continue;
      return fail("inner_box", "rows of boxes that are multiples of 16 bytes",
                  fmt::format("{} bytes", row * element()),
                  inner ? "make the tile's rows, and its layout's runs, multiples of 16 bytes"
                        : "let the tile's rows run along the tensor's");
    }
    return true;
  }

  bool check_count() {
    auto count = static_cast<std::int64_t>(std::max<std::size_t>(parts_.size(), 1));
    for (std::size_t i = used_; i < digits_.size(); ++i) count *= digits_[i].extent;
    return count <= most_boxes ||
           fail("boxes", fmt::format("at most {} boxes for a tile", most_boxes),
                fmt::format("{}", count), "make the tile dense in shared memory, or smaller");
  }

  bool check_starts() {
    std::int64_t alignment = box_alignment(limits_.swizzle_bytes);
    for (const TmaBox& box : result_.boxes) {
      std::int64_t at = box.shared_offset * element();
      if (at % alignment == 0) continue;
      return fail("shared_alignment",
                  fmt::format("boxes that start at multiples of {} bytes", alignment),
                  fmt::format("a box at byte {}", at),
                  limits_.swizzle_bytes ? "let panels fill whole periods of the swizzle"
                                        : "make the tile's rows multiples of 128 bytes, or dense");
    }
    return true;
  }

  std::vector<TileDigit> digits_;
  BoxLimits limits_;
  BoxFailure& failure_;
  std::size_t used_ = 0;     // digits of a box
  std::vector<Part> parts_;  // of the last of them
  BoxPlan result_;
};

}  // namespace

std::optional<BoxPlan> plan_boxes(std::vector<TileDigit> digits, const BoxLimits& limits,
                                  BoxFailure& failure) {
  return BoxPlanner(std::move(digits), limits, failure).plan();
}

}  // namespace tilecopy::planner
