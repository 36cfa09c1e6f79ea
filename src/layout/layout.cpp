// Layout: construction, coordinates and measures.
#include "tilecopy/layout.h"

#include <algorithm>

#include "layout/checked.h"
#include "layout/int_tuple.h"

namespace tilecopy {

using layout::check_extents;
using layout::checked_add;
using layout::checked_mul;

namespace {

// The lowest and the highest offset.
struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Bounds bounds(const std::vector<Mode>& modes, Location where) {
  Bounds out;
  for (const Mode& mode : modes) {
    std::int64_t last = checked_mul(mode.extent - 1, mode.stride, where);
    std::int64_t& end = last < 0 ? out.low : out.high;
    end = checked_add(end, last, where);
  }
  return out;
}

std::int64_t length(const Bounds& range, Location where) {
  std::int64_t span = 0;
  if (__builtin_sub_overflow(range.high, range.low, &span)) span = INT64_MAX;
  return checked_add(span, 1, where);
}

[[noreturn]] void raise_coordinate(const IntTuple& coord, const IntTuple& shape, Location where) {
  raise(ErrorCode::E0423, where,
        {.needed = "a coordinate of " + to_string(shape), .found = to_string(coord)});
}

std::int64_t checked_index(std::int64_t index, const IntTuple& shape, Location where) {
  if (index < 0 || index >= size(shape, where)) raise_coordinate(index, shape, where);
  return index;
}

// The offset of a linear index that is known to lie inside of `shape`.
std::int64_t offset_of(std::int64_t index, const IntTuple& shape, const IntTuple& stride) {
  if (shape.is_int()) return index * stride.value();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.modes().size(); ++i) {
    std::int64_t extent = size(shape.modes()[i]);
    offset += offset_of(index % extent, shape.modes()[i], stride.modes()[i]);
    index /= extent;
  }
  return offset;
}

std::int64_t offset_of(const IntTuple& coord, const IntTuple& shape, const IntTuple& stride,
                       Location where) {
  if (coord.is_int()) return offset_of(checked_index(coord.value(), shape, where), shape, stride);
  if (rank(coord) != rank(shape)) raise_coordinate(coord, shape, where);
  std::int64_t offset = 0;
  for (int i = 0; i < rank(shape); ++i) {
    offset += offset_of(coord[i], shape[i], stride[i], where);
  }
  return offset;
}

IntTuple coordinate_of(std::int64_t index, const IntTuple& shape) {
  if (shape.is_int()) return IntTuple(index);
  std::vector<IntTuple> modes;
  for (const IntTuple& mode : shape.modes()) {
    std::int64_t extent = size(mode);
    modes.push_back(coordinate_of(index % extent, mode));
    index /= extent;
  }
  return IntTuple(std::move(modes));
}

std::vector<Mode> flat_modes(const IntTuple& shape, const IntTuple& stride) {
  std::vector<std::int64_t> extents = layout::leaves(shape);
  std::vector<std::int64_t> strides = layout::leaves(stride);
  std::vector<Mode> out;
  out.reserve(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) out.push_back({extents[i], strides[i]});
  return out;
}

}  // namespace

Layout::Layout(IntTuple shape, IntTuple stride, Location where)
    : shape_(std::move(shape)), stride_(std::move(stride)) {
  if (!congruent(shape_, stride_)) {
    raise(ErrorCode::E0424, where,
          {.needed = "a stride that nests like the shape " + to_string(shape_),
           .found = to_string(stride_)});
  }
  check_extents(shape_, where);
  tilecopy::size(shape_, where);
  length(bounds(flat(), where), where);
}

Layout Layout::mode(int i, Location where) const {
  if (i < 0 || i >= tilecopy::rank(shape_)) {
    raise(ErrorCode::E0423, where,
          {.needed = "a mode of " + to_string(*this), .found = fmt::format("mode {}", i)});
  }
  return Layout(shape_[i], stride_[i], where);
}

std::vector<Layout> Layout::modes() const {
  std::vector<Layout> out;
  for (int i = 0; i < tilecopy::rank(shape_); ++i) out.push_back(mode(i));
  return out;
}

std::vector<Mode> Layout::flat() const { return flat_modes(shape_, stride_); }

std::vector<Mode> Layout::flat(int i, Location where) const { return mode(i, where).flat(); }

std::int64_t Layout::operator()(std::int64_t index, Location where) const {
  return offset_of(checked_index(index, shape_, where), shape_, stride_);
}

std::int64_t Layout::operator()(const IntTuple& coord, Location where) const {
  return offset_of(coord, shape_, stride_, where);
}

std::int64_t size(const Layout& layout) { return size(layout.shape()); }
int rank(const Layout& layout) { return rank(layout.shape()); }
int depth(const Layout& layout) { return depth(layout.shape()); }
std::int64_t cosize(const Layout& layout) { return length(bounds(layout.flat(), {}), {}); }

bool equivalent(const Layout& a, const Layout& b) {
  if (rank(a) != rank(b)) return false;
  for (int i = 0; i < rank(a); ++i) {
    if (coalesce(a.mode(i)) != coalesce(b.mode(i))) return false;
  }
  return true;
}

Layout row_major(const IntTuple& shape, Location where) {
  check_extents(shape, where);
  std::vector<std::int64_t> strides = layout::leaves(shape);
  std::int64_t next = 1;
  for (auto it = strides.rbegin(); it != strides.rend(); ++it) {
    std::int64_t extent = *it;
    *it = next;
    next = checked_mul(next, extent, where);
  }
  return Layout(shape, layout::rebuild(shape, strides), where);
}

Layout column_major(const IntTuple& shape, Location where) {
  check_extents(shape, where);
  std::vector<std::int64_t> strides = layout::leaves(shape);
  std::int64_t next = 1;
  for (std::int64_t& stride : strides) {
    std::int64_t extent = stride;
    stride = next;
    next = checked_mul(next, extent, where);
  }
  return Layout(shape, layout::rebuild(shape, strides), where);
}

Layout make_layout(const std::vector<Layout>& modes, Location where) {
  std::vector<IntTuple> shape;
  std::vector<IntTuple> stride;
  for (const Layout& mode : modes) {
    shape.push_back(mode.shape());
    stride.push_back(mode.stride());
  }
  return Layout(IntTuple(std::move(shape)), IntTuple(std::move(stride)), where);
}

std::int64_t crd2idx(const IntTuple& coord, const IntTuple& shape, const IntTuple& stride,
                     Location where) {
  return Layout(shape, stride, where)(coord, where);
}

std::int64_t crd2idx(const IntTuple& coord, const IntTuple& shape, Location where) {
  return column_major(shape, where)(coord, where);
}

IntTuple idx2crd(std::int64_t index, const IntTuple& shape, Location where) {
  check_extents(shape, where);
  return coordinate_of(checked_index(index, shape, where), shape);
}

}  // namespace tilecopy
