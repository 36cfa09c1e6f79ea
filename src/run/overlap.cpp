// Two views share a byte when some choice of indices makes the distance of their elements smaller
// than an element. The distance is a sum of stride * index over all dimensions of both; a search
// over the indices, largest stride first, cuts every branch that the rest cannot bring to zero: it
// reaches not far enough, or all that it adds are multiples of too large a number.
#include "run/overlap.h"

#include <algorithm>
#include <vector>

#include "run/strides.h"

namespace tilecopy::run {
namespace {

// distance(x) = base + sum of step * x over x in [0, count)
struct Term {
  __int128 step;
  __int128 count;
};

constexpr int most_visits = 100000;

class Search {
 public:
  Search(std::vector<Term> terms, __int128 low, __int128 high)
      : terms_(merged(std::move(terms))), low_(low), high_(high) {
    reach_.assign(terms_.size() + 1, 0);
    divisor_.assign(terms_.size() + 1, 0);
    for (std::size_t i = terms_.size(); i-- > 0;) {
      reach_[i] = reach_[i + 1] + terms_[i].step * (terms_[i].count - 1);
      divisor_[i] = gcd(terms_[i].step, divisor_[i + 1]);
    }
  }

  /// Whether a sum of terms lies in [low, high]; steps are positive.
  bool any(std::size_t at, __int128 sum) {
    if (sum > high_ || sum + reach_[at] < low_) return false;
    if (at == terms_.size()) return true;
    if ((high_ - sum) / divisor_[at] * divisor_[at] < low_ - sum) return false;
    if (++visits_ > most_visits) return true;
    const Term& term = terms_[at];
    // Only these indices leave the rest within reach.
    __int128 first = std::max<__int128>(0, ceil_div(low_ - sum - reach_[at + 1], term.step));
    __int128 last = std::min<__int128>(term.count - 1, (high_ - sum) / term.step);
    for (__int128 x = first; x <= last; ++x) {
      if (any(at + 1, sum + term.step * x)) return true;
    }
    return false;
  }

 private:
  // Largest step first. Terms of one step are one term: 0 to a and 0 to b add up to 0 to a + b.
  static std::vector<Term> merged(std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return a.step > b.step; });
    std::vector<Term> result;
    for (const Term& term : terms) {
      if (!result.empty() && result.back().step == term.step) {
        result.back().count += term.count - 1;
      } else {
        result.push_back(term);
      }
    }
    return result;
  }

  static __int128 gcd(__int128 a, __int128 b) { return b == 0 ? a : gcd(b, a % b); }
  static __int128 ceil_div(__int128 a, __int128 b) { return a <= 0 ? a / b : (a + b - 1) / b; }

  std::vector<Term> terms_;
  std::vector<__int128> reach_;    // of the sum of the terms from here on
  std::vector<__int128> divisor_;  // of that sum
  __int128 low_, high_;
  int visits_ = 0;
};

// Adds the terms of a view, made positive, and returns the lowest byte offset of an element.
__int128 add_terms(const TensorView& view, bool negated, std::vector<Term>& terms) {
  __int128 base = 0;
  std::vector<std::int64_t> strides = view.full_strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    __int128 step = static_cast<__int128>(strides[d]) * bytes(view.dtype);
    if (negated) step = -step;
    std::int64_t count = view.shape[d];
    if (step == 0 || count <= 1) continue;
    if (step < 0) {
      base += step * (count - 1);
      step = -step;
    }
    terms.push_back({step, count});
  }
  return base;
}

// Whether each stride, from the last, reaches past all that the dimensions after it do.
bool is_nested(const TensorView& view) {
  bool nested = true;
  __int128 reach = 0;
  for_each_stride(view, [&](std::size_t d, std::int64_t stride) {
    const std::int64_t extent = view.shape[d];
    if (extent <= 1) return;
    const __int128 step = stride < 0 ? -static_cast<__int128>(stride) : stride;
    nested = nested && step > reach;
    reach += step * (extent - 1);
  });
  return nested;
}

}  // namespace

ByteRange byte_range(const TensorView& view) {
  const auto address = reinterpret_cast<std::intptr_t>(view.data);
  if (view.size() == 0) return {address, address};
  ByteRange range{address, address + bytes(view.dtype)};
  for_each_stride(view, [&](std::size_t d, std::int64_t stride) {
    const __int128 reach = static_cast<__int128>(stride) * (view.shape[d] - 1) * bytes(view.dtype);
    (reach < 0 ? range.begin : range.end) += reach;
  });
  return range;
}

bool may_share_memory(const TensorView& a, const TensorView& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  std::vector<Term> terms;
  __int128 distance = reinterpret_cast<std::intptr_t>(b.data);
  distance -= reinterpret_cast<std::intptr_t>(a.data);
  distance += add_terms(b, false, terms);
  distance += add_terms(a, true, terms);
  // Element b at `d` from element a shares a byte when -size(b) < d < size(a).
  return Search(std::move(terms), 1 - bytes(b.dtype) - distance, bytes(a.dtype) - 1 - distance)
      .any(0, 0);
}

bool overlaps_itself(const TensorView& view) {
  if (view.size() <= 1 || is_nested(view)) return false;
  std::vector<std::int64_t> strides = view.full_strides();
  // Two elements that differ first in dimension d: their index differs by 1 to extent - 1 there,
  // and by anything in the dimensions after it.
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (view.shape[d] <= 1) continue;
    std::vector<Term> terms;
    __int128 base = strides[d];
    std::int64_t step = strides[d];
    std::int64_t more = view.shape[d] - 1;
    if (step < 0) base = static_cast<__int128>(step) * more;
    if (step != 0 && more > 1)
      terms.push_back({step < 0 ? -static_cast<__int128>(step) : step, more});
    for (std::size_t e = d + 1; e < strides.size(); ++e) {
      if (strides[e] == 0 || view.shape[e] <= 1) {
        continue;
      }
      __int128 inner = strides[e] < 0 ? -static_cast<__int128>(strides[e]) : strides[e];
      base -= inner * (view.shape[e] - 1);
      terms.push_back({inner, 2 * view.shape[e] - 1});
    }
    if (Search(std::move(terms), -base, -base).any(0, 0)) return true;
  }
  return false;
}

}  // namespace tilecopy::run
