// im2col by the TMA unit: boxes of pixels times channels, each of one filter tap, which the
// hardware gathers with padding, stride and dilation.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/tma_common.h"
#include "copy/tma_tile.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

// CUDA driver API, cuTensorMapEncodeIm2col with two spatial dimensions; all measured on an H200.
constexpr std::int64_t most_channels = 256;
constexpr std::int64_t most_pixels = 1024;
constexpr std::int64_t most_stride = 8;
constexpr std::int64_t least_corner = -128, most_corner = 127;
constexpr std::int64_t most_offset = 255;

struct Im2colPlan : Plan {
  std::int64_t rows = 0, columns = 0;  ///< of the tile
  Expr start;                          ///< of the tile in its buffer, in elements
  BoxPlan boxes;                       ///< of channels and pixels
};

// One direction of the window: corners of the box in which its first tap moves, from the image's
// first pixel and from its last.
std::int64_t lower_corner(std::int64_t pad) { return -pad; }
std::int64_t upper_corner(std::int64_t kernel, std::int64_t dilation, std::int64_t pad) {
  return pad - dilation * (kernel - 1);
}

class Planner {
 public:
  Planner(const Site& site, Rules& rules)
      : site_(site), rules_(rules), op_(*site.im2col()), strides_(ir::strides_of(op_.img)) {}

  std::unique_ptr<Plan> plan() {
    if (!require_tma_unit(site_, rules_) || !image() || !window() || !positions()) return nullptr;
    std::size_t rank = op_.col.extent.size();
    auto rows = ir::const_int(op_.col.extent[rank - 2]);
    auto columns = ir::const_int(op_.col.extent[rank - 1]);
    if (!rules_.require("extents", rows && columns, "constant extents", "a symbolic extent",
                        "give the tile's extents as numbers")) {
      return nullptr;
    }
    plan_->rows = *rows;
    plan_->columns = *columns;
    std::int64_t tile_bytes = *rows * *columns * bytes(op_.img.dtype());
    if (!require_barrier_bytes(tile_bytes, rules_) || !boxes()) return nullptr;
    plan_->barrier_bytes = tile_bytes;
    const auto& box = plan_->boxes.shapes[0];
    describe_boxes(site_, fmt::format("{} pixels x {} channels", box[1], box[0]),
                   plan_->boxes.boxes.size(), tile_bytes, *plan_);
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  bool image() {
    const Buffer& img = op_.img;
    auto channels = ir::const_int(img.shape()[3]);
    if (!require_sides(img, op_.col.buffer, rules_) ||
        !rules_.require("image", img.scope() == Scope::global, "an image in global memory",
                        std::string(to_string(img.scope()))) ||
        !require_only_read(site_, img, rules_) ||
        !rules_.require("channels", channels && *channels > 0, "a constant number of channels",
                        img.shape()[3].to_string(), "give C as a number")) {
      return false;
    }
    channels_ = *channels;
    for (std::size_t d = 0; d < 4; ++d) {
      if (!require_size(img.shape()[d], strides_[d], rules_)) return false;
    }
    if (!require_inner_stride(strides_[3], rules_)) return false;
    for (std::size_t d = 3; d-- > 0;) {
      if (!require_outer_stride(img, strides_[d], img.shape(), rules_)) return false;
    }
    return require_aligned(img, rules_);
  }

  bool window() {
    const ir::Im2colWindow& w = op_.window;
    std::int64_t corners[] = {lower_corner(w.pad.w), lower_corner(w.pad.h),
                              upper_corner(w.kernel.w, w.dilation.w, w.pad.w),
                              upper_corner(w.kernel.h, w.dilation.h, w.pad.h)};
    auto [least, most] = std::minmax_element(std::begin(corners), std::end(corners));
    std::int64_t stride = std::max(w.stride.h, w.stride.w);
    std::int64_t offset =
        std::max(w.dilation.h * (w.kernel.h - 1), w.dilation.w * (w.kernel.w - 1));
    return rules_.require("stride", stride <= most_stride,
                          fmt::format("strides up to {}", most_stride),
                          fmt::format("{}", stride)) &&
           rules_.require("corners", *least >= least_corner && *most <= most_corner,
                          fmt::format("-pad and pad - dilation * (kernel - 1) from {} to {}",
                                      least_corner, most_corner),
                          fmt::format("{} to {}", *least, *most)) &&
           rules_.require("offset", offset <= most_offset,
                          fmt::format("dilation * (kernel - 1) up to {}", most_offset),
                          fmt::format("{}", offset));
  }

  // The hardware steps (size + upper - lower - 1) / stride + 1 times, which is the output's extent,
  // when that is positive: an empty box is refused.
  bool positions() {
    const ir::Im2colWindow& w = op_.window;
    return fits("H", op_.img.shape()[1], w.kernel.h, w.dilation.h, w.pad.h) &&
           fits("W", op_.img.shape()[2], w.kernel.w, w.dilation.w, w.pad.w);
  }

  bool fits(const char* what, const Expr& size, std::int64_t kernel, std::int64_t dilation,
            std::int64_t pad) {
    std::int64_t least = std::max<std::int64_t>(dilation * (kernel - 1) + 1 - 2 * pad, 1);
    return rules_.require("window", rules_.proof().within(size, least, most_coordinate),
                          fmt::format("an image that the window fits into, {} >= {}", what, least),
                          fmt::format("{} = {}", what, size.to_string()));
  }

  bool boxes() {
    if (!rules_.require("destination_bounds", !whole_condition(site_, false).defined(),
                        "a destination tile that is always inside",
                        "a region that may leave " + op_.col.buffer.name(),
                        "write to regions inside")) {
      return false;
    }
    auto tile = plan_shared_tile(site_, rules_);
    if (!tile) return false;
    std::size_t rank = op_.col.extent.size();
    for (TileDigit& digit : tile->digits) {
      auto dim = static_cast<std::size_t>(site_.axes[static_cast<std::size_t>(digit.dim)].dst.dim);
      bool matrix = dim + 2 >= rank;
      if (!rules_.require("stages", matrix, "one matrix of columns", "a region of several",
                          "give leading dimensions an extent of 1")) {
        return false;
      }
      digit.dim = dim + 1 == rank ? 0 : 1;
    }
    BoxFailure failure;
    auto boxes = plan_boxes(std::move(tile->digits),
                            {bytes(op_.img.dtype()), 2, tile->swizzle_bytes, most_pixels}, failure);
    if (!boxes) {
      return rules_.require(failure.rule, false, failure.needed, failure.found, failure.advice);
    }
    plan_->boxes = std::move(*boxes);
    plan_->start = tile->start;
    if (!taps()) return false;
    for (const auto& shape : plan_->boxes.shapes) {
      plan_->tensor_maps.push_back(make_map(shape, tile->swizzle_bytes));
    }
    return true;
  }

  // A box is of one tap. Columns begin at multiples of the tile's, so in a tap at multiples of what
  // that and C have in common, and a box must not cross such a multiple.
  bool taps() {
    std::int64_t common = std::gcd(channels_, plan_->columns);
    for (const TmaBox& box : plan_->boxes.boxes) {
      std::int64_t width = plan_->boxes.shapes[box.shape][0];
      bool one = box.at[0] % common + width <= common;
      if (one) continue;
      return rules_.require(
          "taps", false, fmt::format("boxes of one filter tap, in blocks of {} columns", common),
          fmt::format("{} columns from {}, with C = {}", width, box.at[0], channels_),
          "choose a block_k with a large common divisor with C, and leave the layout out");
    }
    return true;
  }

  std::shared_ptr<ir::TensorMap> make_map(const std::vector<std::int64_t>& shape, int swizzle) {
    const ir::Im2colWindow& w = op_.window;
    auto map = make_tensor_map(site_, op_.img, shape, swizzle);
    for (std::size_t d = 4; d-- > 0;) add_dimension(*map, op_.img.shape()[d], strides_[d]);
    map->element_strides = {1, w.stride.w, w.stride.h, 1};
    map->lower = {lower_corner(w.pad.w), lower_corner(w.pad.h)};
    map->upper = {upper_corner(w.kernel.w, w.dilation.w, w.pad.w),
                  upper_corner(w.kernel.h, w.dilation.h, w.pad.h)};
    return map;
  }

  const Site& site_;
  Rules& rules_;
  const ir::Im2col& op_;
  std::vector<Expr> strides_;
  std::int64_t channels_ = 0;
  std::unique_ptr<Im2colPlan> plan_ = std::make_unique<Im2colPlan>();
};

std::unique_ptr<Plan> plan_tma_im2col(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

class Lowering {
 public:
  Lowering(const Im2colPlan& plan, const Site& site)
      : plan_(plan),
        site_(site),
        op_(*site.im2col()),
        facts_(*site.facts),
        block_(facts_, site.op->where) {}

  ir::Stmt lower() {
    ir::Address mbarrier{site_.simt->mbarriers, plan_.mbarrier};
    block_.add(
        ir::make_instr("cuda.expect_tx", {mbarrier, make_int(plan_.barrier_bytes)}, op_.where));
    const ir::Im2colWindow& w = op_.window;
    const std::vector<Expr>& shape = op_.img.shape();
    Expr out_h = conv_extent(shape[1], w.kernel.h, w.stride.h, w.dilation.h, w.pad.h);
    Expr out_w = conv_extent(shape[2], w.kernel.w, w.stride.w, w.dilation.w, w.pad.w);
    out_w_ = block_.name("out_w", out_w);
    area_ = block_.name("area", times(block_.name("out_h", out_h), out_w_));
    for (const TmaBox& box : plan_.boxes.boxes) issue(box);
    return by_one_thread(site_, block_.take());
  }

 private:
  static Expr div(const Expr& a, const Expr& b) { return make_binary(BinaryOp::div, a, b); }
  static Expr mod(const Expr& a, const Expr& b) { return make_binary(BinaryOp::mod, a, b); }
  static Expr both(const Expr& a, const Expr& b) {
    return make_binary(BinaryOp::logical_and, a, b);
  }
  static Expr in_range(const Expr& value, const Expr& end) {
    return both(make_binary(BinaryOp::ge, value, make_int(0)),
                make_binary(BinaryOp::lt, value, end));
  }

  // Where the walk of a box over pixels begins.
  struct Pixel {
    Expr n, h, w;
    Expr inside;  ///< false past the last image
  };
  // Where the columns of a box begin.
  struct Column {
    Expr c, tap_w, tap_h;
    Expr inside;  ///< false past the last tap
  };

  const Pixel& pixel(std::int64_t row) {
    auto known = pixels_.find(row);
    if (known != pixels_.end()) return known->second;
    const ir::Im2colWindow& window = op_.window;
    Expr m = block_.name("m", plus(times(op_.nhw_step, make_int(plan_.rows)), make_int(row)));
    Expr rest = block_.name("rest", mod(m, area_));
    auto place = [&](const char* name, const Expr& index, std::int64_t stride, std::int64_t pad) {
      return block_.name(name, plus(times(index, make_int(stride)), make_int(-pad)));
    };
    Pixel pixel;
    pixel.n = block_.name("n", div(m, area_));
    pixel.h = place("h", div(rest, out_w_), window.stride.h, window.pad.h);
    pixel.w = place("w", mod(rest, out_w_), window.stride.w, window.pad.w);
    pixel.inside = in_range(m, times(op_.img.shape()[0], area_));
    return pixels_[row] = pixel;
  }

  const Column& column(std::int64_t first) {
    auto known = columns_.find(first);
    if (known != columns_.end()) return known->second;
    const ir::Im2colWindow& window = op_.window;
    const Expr& channels = op_.img.shape()[3];
    Expr k = block_.name("k", plus(times(op_.c_step, make_int(plan_.columns)), make_int(first)));
    Expr tap = block_.name("tap", div(k, channels));
    Expr width = make_int(window.kernel.w);
    Column column;
    column.c = block_.name("c", mod(k, channels));
    column.tap_w = block_.name("tap_w", times(mod(tap, width), make_int(window.dilation.w)));
    column.tap_h = block_.name("tap_h", times(div(tap, width), make_int(window.dilation.h)));
    column.inside = in_range(k, times(channels, make_int(window.kernel.h * window.kernel.w)));
    return columns_[first] = column;
  }

  // Rows and columns past the matrix are zero: a box there begins past the last channel. One that
  // only ends past the last row walks past the last image, which the hardware fills with zeros.
  void issue(const TmaBox& box) {
    const Pixel& pixel = this->pixel(box.at[1]);
    const Column& column = this->column(box.at[0]);
    Expr valid = block_.name("valid", both(pixel.inside, column.inside));
    auto or_else = [&](const Expr& value, const Expr& outside) {
      return ir::make_select(valid, value, outside);
    };
    Expr zero = make_int(0);
    Expr to = facts_.simplify(plus(plan_.start, make_int(box.shared_offset)));
    std::vector<ir::InstrOperand> operands = {ir::Address{op_.col.buffer, to},
                                              plan_.tensor_maps[box.shape]->var,
                                              ir::Address{site_.simt->mbarriers, plan_.mbarrier},
                                              or_else(column.c, op_.img.shape()[3]),
                                              or_else(pixel.w, zero),
                                              or_else(pixel.h, zero),
                                              or_else(pixel.n, zero),
                                              or_else(column.tap_w, zero),
                                              or_else(column.tap_h, zero)};
    Expr policy = cache_policy(site_);
    if (policy.defined()) operands.emplace_back(policy);
    block_.add(ir::make_instr(policy.defined() ? "cuda.tma_im2col_hint" : "cuda.tma_im2col",
                              std::move(operands), op_.where));
  }

  const Im2colPlan& plan_;
  const Site& site_;
  const ir::Im2col& op_;
  ir::Facts facts_;
  NamedBlock block_;
  Expr out_w_, area_;
  std::map<std::int64_t, Pixel> pixels_;    // by row of the tile
  std::map<std::int64_t, Column> columns_;  // by column of the tile
};

ir::Stmt lower_tma_im2col(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const Im2colPlan&>(plan), site).lower();
}

}  // namespace

// Panels of columns as wide as the largest box of one tap, each with all rows, one after the other.
std::optional<TileLayout> tma_im2col_layout(const ir::Im2col& op) {
  const std::vector<Expr>& shape = op.col.buffer.shape();
  std::size_t rank = shape.size();
  auto channels = ir::const_int(op.img.shape()[3]);
  auto rows = ir::const_int(op.col.extent[rank - 2]);
  auto columns = ir::const_int(op.col.extent[rank - 1]);
  bool whole = rows && columns && ir::is_const_int(shape[rank - 2], *rows) &&
               ir::is_const_int(shape[rank - 1], *columns);
  if (!whole || !channels || *channels < 1) return std::nullopt;
  int element = bytes(op.col.buffer.dtype());
  std::int64_t common = std::gcd(*channels, *columns);
  std::int64_t width = 0;
  for (std::int64_t w = std::min(common, most_channels); w > 0 && width == 0; --w) {
    bool aligned = *rows * w * element % box_alignment(0) == 0 || w == *columns;
    if (common % w == 0 && w * element % tma_granule_bytes == 0 && aligned) width = w;
  }
  if (width == 0 || width == *columns || *columns / width > most_boxes) return std::nullopt;
  std::vector<IntTuple> extents, strides;
  std::int64_t stride = *rows * *columns;
  for (std::size_t d = rank - 2; d-- > 0; stride *= *ir::const_int(shape[d])) {
    extents.insert(extents.begin(), IntTuple(*ir::const_int(shape[d])));
    strides.insert(strides.begin(), IntTuple(stride));
  }
  extents.emplace_back(*rows);
  strides.emplace_back(width);
  extents.push_back(IntTuple{width, *columns / width});
  strides.push_back(IntTuple{1, *rows * width});
  return TileLayout(Layout(IntTuple(extents), IntTuple(strides)));
}

const Method tma_im2col = {"tma_im2col", plan_tma_im2col, lower_tma_im2col};

}  // namespace tilecopy::planner
