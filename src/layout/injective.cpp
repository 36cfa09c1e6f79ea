// Whether a layout is one-to-one.
#include <algorithm>

#include "tilecopy/layout.h"

namespace tilecopy {
namespace {

// Two coordinates share an offset iff their difference x, not all zero with |x_i| < extent_i, has
// sum(x_i * stride_i) == 0. Strides are tried from the largest: a partial sum must lie within the
// reach of the smaller ones, which leaves one choice for each digit of an ordinary layout.
class Collision {
 public:
  explicit Collision(std::vector<Mode> descending) : modes_(std::move(descending)) {
    std::size_t n = modes_.size();
    reach_.assign(n + 1, 0);
    for (std::size_t i = n; i-- > 0;) {
      reach_[i] = reach_[i + 1] + (modes_[i].extent - 1) * modes_[i].stride;
    }
  }

  // Each stride is larger than all that the smaller ones reach.
  bool excluded_by_nesting() const {
    for (std::size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i].stride <= reach_[i + 1]) return false;
    }
    return true;
  }

  /// Also true when the budget runs out.
  bool possible() { return search(0, 0, false); }

 private:
  bool search(std::size_t i, std::int64_t sum, bool nonzero) {
    if (i == modes_.size()) return nonzero && sum == 0;
    const auto [extent, stride] = modes_[i];
    std::int64_t low = std::max(1 - extent, -((reach_[i + 1] + sum) / stride));
    std::int64_t high = std::min(extent - 1, (reach_[i + 1] - sum) / stride);
    // By symmetry the first digit that differs may be taken as positive.
    for (std::int64_t x = nonzero ? low : 0; x <= high; ++x) {
      if (--budget_ < 0) return true;
      if (search(i + 1, sum + x * stride, nonzero || x != 0)) return true;
    }
    return false;
  }

  std::vector<Mode> modes_;
  std::vector<std::int64_t> reach_;
  int budget_ = 1 << 20;
};

}  // namespace

bool is_injective(const Layout& layout) {
  // Sums of two offsets stay within 64 bits below this cosize.
  constexpr std::int64_t max_searched = std::int64_t{1} << 61;
  if (size(layout) > cosize(layout)) return false;
  std::vector<Mode> modes;
  for (Mode mode : layout.flat()) {
    if (mode.extent == 1) continue;
    if (mode.stride == 0) return false;
    mode.stride = mode.stride < 0 ? -mode.stride : mode.stride;
    modes.push_back(mode);
  }
  std::sort(modes.begin(), modes.end(),
            [](const Mode& a, const Mode& b) { return a.stride > b.stride; });
  Collision collision(std::move(modes));
  if (collision.excluded_by_nesting()) return true;
  return cosize(layout) <= max_searched && !collision.possible();
}

}  // namespace tilecopy
