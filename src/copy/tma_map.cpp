#include "copy/tma_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "copy/cuda_common.h"
#include "copy/tma_common.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

constexpr std::size_t most_rank = 5;

class MapPlanner {
 public:
  MapPlanner(const Site& site, const SharedTile& tile, Rules& rules)
      : site_(site),
        tile_(tile),
        rules_(rules),
        facts_(*site.facts),
        of_src_(site.dst.buffer.scope() != Scope::global),
        region_(of_src_ ? *site.src : site.dst) {}

  std::optional<std::vector<MapDim>> plan() {
    collect();
    order();
    fold();
    if (!rules_.require("rank", dims_.size() <= most_rank, "at most 5 dimensions after folding",
                        fmt::format("{}", dims_.size()),
                        "merge dimensions of the tensor that lie next to each other in memory")) {
      return std::nullopt;
    }
    return require_dims() ? std::optional(std::move(dims_)) : std::nullopt;
  }

 private:
  // A dimension of one element at index 0 adds nothing.
  void collect() {
    const std::vector<Expr> strides = ir::strides_of(region_.buffer);
    for (std::size_t d = strides.size(); d-- > 0;) {
      MapDim dim{region_.buffer.shape()[d], strides[d], region_.origin[d], axis_of(d)};
      bool unit = dim.axis < 0 && ir::is_const_int(dim.size, 1) &&
                  facts_.proves_equal(dim.origin, make_int(0));
      if (!unit) dims_.push_back(dim);
    }
    if (dims_.empty()) dims_.push_back({make_int(1), make_int(1), make_int(0), -1});
  }

  int axis_of(std::size_t d) const {
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const AxisSide& side = of_src_ ? *site_.axes[k].src : site_.axes[k].dst;
      if (side.dim == static_cast<int>(d)) return static_cast<int>(k);
    }
    return -1;
  }

  // The distance in shared memory of neighbours along a dimension; single indices come last.
  std::int64_t shared_stride(const MapDim& dim) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const TileDigit& digit : tile_.digits) {
      if (digit.dim == dim.axis) least = std::min(least, digit.stride);
    }
    return least;
  }

  // First the dimension whose elements are neighbours, which the tile should go along; the hardware
  // takes strides in any order.
  void order() {
    auto is_inner = [](const MapDim& dim) { return ir::is_const_int(dim.stride, 1); };
    auto inner = std::find_if(dims_.begin(), dims_.end(),
                              [&](const MapDim& dim) { return is_inner(dim) && dim.axis >= 0; });
    if (inner == dims_.end()) inner = std::find_if(dims_.begin(), dims_.end(), is_inner);
    if (inner == dims_.end()) inner = dims_.begin();
    std::rotate(dims_.begin(), inner, inner + 1);
    std::stable_sort(dims_.begin() + 1, dims_.end(), [&](const MapDim& a, const MapDim& b) {
      return shared_stride(a) < shared_stride(b);
    });
  }

  // The whole extent of a region in a dimension lies inside of the tensor.
  bool inside(const MapDim& dim) const {
    if (dim.axis >= 0) {
      const Axis& axis = site_.axes[static_cast<std::size_t>(dim.axis)];
      return (of_src_ ? *axis.src : axis.dst).inside.whole;
    }
    return facts_.proves(make_binary(BinaryOp::ge, dim.origin, make_int(0))) &&
           facts_.proves(make_binary(BinaryOp::lt, dim.origin, dim.size));
  }

  // Makes one dimension of two, of which the outer one, a single index, goes on right after the
  // inner one. What is outside of the outer one stays outside, as the region is inside of the
  // inner.
  void fold() {
    while (dims_.size() > most_rank && fold_once()) {
    }
  }

  bool fold_once() {
    for (std::size_t o = dims_.size(); o-- > 1;) {
      const MapDim outer = dims_[o];
      if (outer.axis >= 0) continue;
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        MapDim& inner = dims_[i];
        bool next = i != o && facts_.proves_equal(outer.stride, times(inner.stride, inner.size));
        if (!next || !inside(inner)) continue;
        inner.origin = facts_.simplify(plus(times(outer.origin, inner.size), inner.origin));
        inner.size = facts_.simplify(times(outer.size, inner.size));
        dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(o));
        return true;
      }
    }
    return false;
  }

  bool require_dims() {
    const Buffer& tensor = region_.buffer;
    std::vector<Expr> sizes;
    for (const MapDim& dim : dims_) {
      if (!require_size(dim.size, dim.stride, rules_)) return false;
      sizes.push_back(dim.size);
    }
    if (!require_inner_stride(dims_[0].stride, rules_)) return false;
    for (std::size_t d = 1; d < dims_.size(); ++d) {
      Expr& stride = dims_[d].stride;
      // No step is ever taken in a dimension of one element, but the driver checks its stride.
      if (ir::is_const_int(dims_[d].size, 1)) stride = make_int(granule_elements(tensor));
      if (!require_outer_stride(tensor, stride, sizes, rules_)) return false;
    }
    return require_aligned(tensor, rules_);
  }

  const Site& site_;
  const SharedTile& tile_;
  Rules& rules_;
  const ir::Facts& facts_;
  bool of_src_;
  const ir::Region& region_;
  std::vector<MapDim> dims_;
};

}  // namespace

std::optional<std::vector<MapDim>> plan_map_dims(const Site& site, const SharedTile& tile,
                                                 Rules& rules) {
  return MapPlanner(site, tile, rules).plan();
}

// NOTE: both limits are multiples of 16 bytes of any element, which innermost coordinates must be.
Expr tma_coordinate(const Expr& value, const ir::Facts& facts) {
  constexpr std::int64_t least_coordinate = -(std::int64_t{1} << 30);
  Expr simple = facts.simplify(value);
  ir::Interval bounds = facts.bounds(simple);
  if (bounds.lo < std::numeric_limits<std::int32_t>::min()) {
    simple = make_binary(BinaryOp::max, simple, make_int(least_coordinate));
  }
  if (bounds.hi > most_coordinate) {
    simple = make_binary(BinaryOp::min, simple, make_int(most_coordinate));
  }
  return simple;
}

}  // namespace tilecopy::planner
