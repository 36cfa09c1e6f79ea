// Proofs about addresses and sizes. What only the arguments of a launch decide is taken for granted
// where the site allows it, and noted as a guard.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "copy/site.h"

namespace tilecopy::planner {

/// A fact that is checked at launch.
struct Guard {
  std::string text;               ///< "A is 16-byte aligned", "n is a multiple of 8"
  std::optional<Buffer> pointer;  ///< the tensor whose address is the value ...
  Expr value;                     ///< ... or a size
  std::int64_t multiple_of = 1;
  std::int64_t least = INT64_MIN;
  std::int64_t most = INT64_MAX;
};

/// Whether the arguments of a launch alone decide the value: no block index, loop or element does.
bool known_at_launch(const Expr& e);

class Proof {
 public:
  explicit Proof(const Site& site) : site_(&site) {}

  /// Whether every value of `e` is a multiple of `k`.
  bool multiple(const Expr& e, std::int64_t k);
  /// Whether element 0 of the buffer lies at a multiple of `bytes`.
  bool aligned(const Buffer& buffer, std::int64_t bytes);
  /// Whether least <= e <= most always. A guard takes only sizes, not values of loops.
  bool within(const Expr& e, std::int64_t least, std::int64_t most);

  /// Runs `question`; when the answer is no, guards that it noted are forgotten.
  bool attempt(const std::function<bool()>& question);

  const std::vector<Guard>& guards() const { return guards_; }

 private:
  void note(Guard guard);

  const Site* site_;
  std::vector<Guard> guards_;
};

/// Shared tiles start at multiples of this many bytes, or of the period of their swizzle.
inline constexpr std::int64_t shared_alignment = 128;
/// Registers, as arrays of a thread, start at multiples of this.
inline constexpr std::int64_t register_alignment = 16;

/// The largest power of two p <= `most` such that, on one side of the site, the p elements along
/// `axis` from every index that is a multiple of p are neighbours in memory, at a multiple of p
/// elements' bytes. 1 at least. Not for fragments.
int vector_elements(const Site& site, bool of_src, std::size_t axis, int most, Proof& proof);

/// Whether bounds of the side fall between groups of `group` loop indices.
bool bounds_between_groups(const AxisSide& side, int group, Proof& proof);

}  // namespace tilecopy::planner
