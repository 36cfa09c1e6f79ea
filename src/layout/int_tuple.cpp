// IntTuple: construction, measures, and walking by leaves.
#include "layout/int_tuple.h"

#include <algorithm>

#include "layout/checked.h"

namespace tilecopy {

IntTuple::IntTuple(std::initializer_list<IntTuple> modes) : modes_(modes) { set_depth(); }

IntTuple::IntTuple(const std::vector<std::int64_t>& modes) : modes_(modes.begin(), modes.end()) {}

IntTuple::IntTuple(std::vector<IntTuple> modes) : modes_(std::move(modes)) { set_depth(); }

// NOTE: every walk over a tuple is recursive, so this bound is what keeps the stack safe.
void IntTuple::set_depth() {
  for (const IntTuple& mode : modes_) depth_ = std::max(depth_, mode.depth_ + 1);
  if (depth_ > max_depth) {
    raise(ErrorCode::E0424, {},
          {.needed = fmt::format("at most {} levels of nesting", max_depth),
           .found = fmt::format("{} levels", depth_)});
  }
}

std::int64_t IntTuple::value() const {
  if (!is_int_) {
    raise(ErrorCode::E0424, {}, {.needed = "an integer", .found = to_string(*this)});
  }
  return value_;
}

const IntTuple& IntTuple::operator[](int i) const {
  if (i < 0 || i >= rank(*this)) {
    raise(ErrorCode::E0423, {},
          {.needed = fmt::format("an entry of {}", to_string(*this)),
           .found = fmt::format("entry {}", i)});
  }
  return is_int_ ? *this : modes_[static_cast<std::size_t>(i)];
}

bool operator==(const IntTuple& a, const IntTuple& b) {
  return a.is_int_ == b.is_int_ && a.value_ == b.value_ && a.modes_ == b.modes_;
}

std::int64_t size(const IntTuple& tuple, Location where) {
  if (tuple.is_int()) return tuple.value();
  std::int64_t product = 1;
  for (const IntTuple& mode : tuple.modes()) {
    product = layout::checked_mul(product, size(mode, where), where);
  }
  return product;
}

int rank(const IntTuple& tuple) {
  return tuple.is_int() ? 1 : static_cast<int>(tuple.modes().size());
}

int depth(const IntTuple& tuple) { return tuple.depth(); }

bool congruent(const IntTuple& a, const IntTuple& b) {
  if (a.is_int() || b.is_int()) return a.is_int() && b.is_int();
  return std::equal(a.modes().begin(), a.modes().end(), b.modes().begin(), b.modes().end(),
                    [](const IntTuple& x, const IntTuple& y) { return congruent(x, y); });
}

namespace layout {
namespace {

void append_leaves(const IntTuple& tuple, std::vector<std::int64_t>& out) {
  if (tuple.is_int()) out.push_back(tuple.value());
  for (const IntTuple& mode : tuple.modes()) append_leaves(mode, out);
}

IntTuple take_leaves(const IntTuple& profile, std::span<const std::int64_t>& rest) {
  if (profile.is_int()) {
    std::int64_t leaf = rest.front();
    rest = rest.subspan(1);
    return IntTuple(leaf);
  }
  std::vector<IntTuple> modes;
  modes.reserve(profile.modes().size());
  for (const IntTuple& mode : profile.modes()) modes.push_back(take_leaves(mode, rest));
  return IntTuple(std::move(modes));
}

}  // namespace

std::vector<std::int64_t> leaves(const IntTuple& tuple) {
  std::vector<std::int64_t> out;
  append_leaves(tuple, out);
  return out;
}

IntTuple rebuild(const IntTuple& profile, std::span<const std::int64_t> leaves) {
  return take_leaves(profile, leaves);
}

void check_extents(const IntTuple& shape, Location where) {
  for (std::int64_t extent : leaves(shape)) {
    if (extent >= 1) continue;
    raise(ErrorCode::E0424, where,
          {.needed = "extents of at least 1",
           .found = fmt::format("extent {} in {}", extent, to_string(shape))});
  }
}

}  // namespace layout
}  // namespace tilecopy
