// What the layout tests share: enumeration, expected errors, and random layouts for RapidCheck.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tilecopy/error.h"
#include "tilecopy/layout.h"

namespace tilecopy {

/// Lets gtest and RapidCheck print what they compare.
inline std::ostream& operator<<(std::ostream& out, const IntTuple& t) {
  return out << to_string(t);
}
inline std::ostream& operator<<(std::ostream& out, const Layout& l) { return out << to_string(l); }
inline std::ostream& operator<<(std::ostream& out, const TileLayout& l) {
  return out << to_string(l);
}
inline std::ostream& operator<<(std::ostream& out, const Fragment& f) {
  return out << to_string(f);
}

namespace test {

/// The code of the error that `run` raises, or "none".
inline std::string error_code(const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.code();
  }
  return "none";
}

/// All offsets in order of the linear index.
inline std::vector<std::int64_t> offsets(const Layout& layout) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < size(layout); ++i) out.push_back(layout(i));
  return out;
}

inline bool has_duplicates(const std::vector<std::int64_t>& values) {
  return std::set<std::int64_t>(values.begin(), values.end()).size() != values.size();
}

/// Calls `visit` with every coordinate of a shape, first entry fastest.
inline void for_each_coordinate(
    const std::vector<std::int64_t>& shape,
    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::int64_t total =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  for (std::int64_t index = 0; index < total; ++index) {
    std::vector<std::int64_t> coord;
    std::int64_t rest = index;
    for (std::int64_t extent : shape) {
      coord.push_back(rest % extent);
      rest /= extent;
    }
    visit(coord);
  }
}

inline std::int64_t pick(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange(low, high + 1);
}

/// A random nested tuple of `leaves`, in order.
inline IntTuple nest(const std::vector<std::int64_t>& leaves, std::vector<IntTuple>& strides,
                     const std::vector<std::int64_t>& stride_leaves, std::size_t begin,
                     std::size_t end, int levels) {
  std::vector<IntTuple> shape;
  std::vector<IntTuple> stride;
  while (begin < end) {
    std::size_t next =
        levels == 0
            ? begin + 1
            : begin + static_cast<std::size_t>(pick(1, static_cast<std::int64_t>(end - begin)));
    if (next == begin + 1) {
      shape.push_back(leaves[begin]);
      stride.push_back(stride_leaves[begin]);
    } else {
      std::vector<IntTuple> inner;
      shape.push_back(nest(leaves, inner, stride_leaves, begin, next, levels - 1));
      stride.push_back(inner.front());
    }
    begin = next;
  }
  strides.assign(1, IntTuple(std::move(stride)));
  return IntTuple(std::move(shape));
}

inline Layout nested_layout(const std::vector<std::int64_t>& shape,
                            const std::vector<std::int64_t>& stride) {
  std::vector<IntTuple> strides;
  IntTuple nested = nest(shape, strides, stride, 0, shape.size(), 2);
  return Layout(nested, strides.front());
}

/// 1 to 4 digits of 1 to 4 (5 if `odd`), nested at random.
inline std::vector<std::int64_t> any_extents() {
  std::vector<std::int64_t> out(static_cast<std::size_t>(pick(1, 4)));
  for (std::int64_t& extent : out) extent = *rc::gen::element<std::int64_t>(1, 2, 2, 3, 4, 4, 6);
  return out;
}

/// Any strides, so mostly neither one-to-one nor divisible.
inline Layout any_layout() {
  std::vector<std::int64_t> shape = any_extents();
  std::vector<std::int64_t> stride;
  for (std::size_t i = 0; i < shape.size(); ++i) stride.push_back(pick(-4, 16));
  return nested_layout(shape, stride);
}

/// Strides that are products of the extents before them in a random order, with random gaps and
/// some zeros: the layouts that programs are made of.
inline Layout tidy_layout(bool gaps, bool zeros) {
  std::vector<std::int64_t> shape = any_extents();
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(pick(0, static_cast<int>(i) - 1))]);
  }
  std::vector<std::int64_t> stride(shape.size());
  std::int64_t next = 1;
  for (std::size_t i : order) {
    if (gaps) next *= *rc::gen::element<std::int64_t>(1, 1, 2, 3);
    stride[i] = next;
    if (zeros && pick(0, 4) == 0) {
      stride[i] = 0;
    } else {
      next *= shape[i];
    }
  }
  return nested_layout(shape, stride);
}

}  // namespace test
}  // namespace tilecopy
