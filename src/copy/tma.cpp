// Tiled copies by the TMA unit between global and shared memory: a tensor map describes the tensor,
// and one thread issues a box for each dense part of the tile.
#include <fmt/format.h>

#include <algorithm>

#include "copy/cuda_common.h"
#include "copy/tma_common.h"
#include "copy/tma_map.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

// Setting up a barrier and an asynchronous copy takes longer than so few bytes by the threads.
constexpr std::int64_t least_tile_bytes = 1024;

struct TmaPlan : Plan {
  bool load = false;
  std::vector<MapDim> dims;  ///< the innermost first
  Expr start;                ///< of the region in the shared tile, in elements
  BoxPlan boxes;
};

class Planner {
 public:
  Planner(const Site& site, Rules& rules) : site_(site), rules_(rules) {}

  std::unique_ptr<Plan> plan() {
    if (!require_tma_unit(site_, rules_) || !operands()) return nullptr;
    plan_ = std::make_unique<TmaPlan>();
    plan_->load = site_.dst.buffer.scope() == Scope::shared;
    if (!extents() || !(plan_->load ? load_bounds() : store_source())) return nullptr;
    auto tile = plan_shared_tile(site_, rules_);
    if (!tile) return nullptr;
    auto dims = plan_map_dims(site_, *tile, rules_);
    if (!dims) return nullptr;
    plan_->dims = std::move(*dims);
    plan_->start = tile->start;
    if (!starts() || !(plan_->load || store_ends()) || !boxes(*tile)) return nullptr;
    make_maps(tile->swizzle_bytes);
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  bool require(std::string_view name, bool ok, std::string needed, std::string found,
               std::string advice) {
    return rules_.require(name, ok, std::move(needed), std::move(found), std::move(advice));
  }

  const Buffer& tensor() const { return plan_->load ? site_.src->buffer : site_.dst.buffer; }
  const Buffer& shared() const { return plan_->load ? site_.dst.buffer : site_.src->buffer; }

  bool operands() {
    bool moves = site_.src.has_value();
    return require("operation", moves, "a copy or a transpose", "a fill", "") &&
           require_sides(site_.src->buffer, site_.dst.buffer, rules_);
  }

  bool extents() {
    auto extents = constant_extents(site_);
    if (!require("extents", extents.has_value(), "constant extents", "a symbolic extent",
                 "give the tile's extents as numbers")) {
      return false;
    }
    tile_bytes_ = bytes(tensor().dtype());
    for (std::int64_t extent : *extents) tile_bytes_ *= extent;
    bool large = is_asked_for(site_, tma) || tile_bytes_ >= least_tile_bytes;
    return require("tile_bytes", large, fmt::format("a tile of {} bytes or more", least_tile_bytes),
                   fmt::format("{} bytes", tile_bytes_),
                   "use a larger tile, or prefer_instruction=tma");
  }

  // ---- Bounds: the hardware fills with zeros, and drops what a store would write outside ----

  bool load_bounds() {
    bool zero = all_bits_zero(site_.safe) || !whole_condition(site_, true).defined();
    return require_barrier_bytes(tile_bytes_, rules_) &&
           require_only_read(site_, tensor(), rules_) &&
           require("destination_bounds", !whole_condition(site_, false).defined(),
                   "a destination tile that is always inside",
                   "a region that may leave " + shared().name(), "copy to regions inside") &&
           require("safe_value", zero, "a safe value of zero, or a tile that is always inside",
                   fmt::format("safe value {}", site_.safe.to_string()),
                   "annotate a safe value of zero, or none");
  }

  bool store_source() {
    return require("source_bounds", !whole_condition(site_, true).defined(),
                   "a source tile that is always inside",
                   "a region that may leave " + shared().name(), "copy from regions inside");
  }

  // NOTE: measured on an H200: a start inside of a granule is an illegal instruction, and so is a
  // store that starts before 0 in any dimension.
  bool starts() {
    const MapDim& inner = plan_->dims[0];
    int element = bytes(tensor().dtype());
    auto constant = ir::const_int(inner.origin);
    if (!require("inner_start", rules_.proof().multiple(inner.origin, granule_elements(tensor())),
                 "tiles that start at multiples of 16 bytes in their rows",
                 constant
                     ? fmt::format("{} bytes", *constant * element)
                     : fmt::format("element {} of {} bytes", inner.origin.to_string(), element),
                 "choose tile widths and offsets that are multiples of 16 bytes")) {
      return false;
    }
    for (const MapDim& dim : plan_->dims) {
      bool from_zero = site_.facts->proves(make_binary(BinaryOp::ge, dim.origin, make_int(0)));
      if (plan_->load || from_zero) continue;
      return require("store_start", false, "stores that start at 0 or later in every dimension",
                     fmt::format("a start at {}", dim.origin.to_string()),
                     "give tiles origins that cannot be negative");
    }
    return true;
  }

  // NOTE: measured on an H200: a store whose box passes the end of a row writes its last granule
  // whole.
  bool store_ends() {
    const MapDim& inner = plan_->dims[0];
    bool inside =
        inner.axis >= 0 && site_.axes[static_cast<std::size_t>(inner.axis)].dst.inside.whole;
    int element = bytes(tensor().dtype());
    auto constant = ir::const_int(inner.size);
    return require(
        "store_granule", inside || rules_.proof().multiple(inner.size, granule_elements(tensor())),
        "rows of the tensor that are multiples of 16 bytes: a store writes whole ones",
        constant ? fmt::format("{} bytes", *constant * element)
                 : fmt::format("{} elements of {} bytes", inner.size.to_string(), element),
        "pad the rows, or store whole tiles");
  }

  // ---- Boxes ----

  bool boxes(SharedTile& tile) {
    for (TileDigit& digit : tile.digits) {
      auto dim = std::find_if(plan_->dims.begin(), plan_->dims.end(),
                              [&](const MapDim& d) { return d.axis == digit.dim; });
      digit.dim = static_cast<int>(dim - plan_->dims.begin());
    }
    BoxLimits limits{bytes(tensor().dtype()), static_cast<int>(plan_->dims.size()),
                     tile.swizzle_bytes};
    BoxFailure failure;
    auto boxes = plan_boxes(std::move(tile.digits), limits, failure);
    if (!boxes) {
      return require(failure.rule, false, failure.needed, failure.found, failure.advice);
    }
    plan_->boxes = std::move(*boxes);
    return true;
  }

  void make_maps(int swizzle_bytes) {
    for (const auto& shape : plan_->boxes.shapes) {
      auto map = make_tensor_map(site_, tensor(), shape, swizzle_bytes);
      for (const MapDim& dim : plan_->dims) add_dimension(*map, dim.size, dim.stride);
      plan_->tensor_maps.push_back(std::move(map));
    }
    if (plan_->load) plan_->barrier_bytes = tile_bytes_;
  }

  void describe() {
    std::string shapes;
    for (const auto& shape : plan_->boxes.shapes) {
      if (!shapes.empty()) shapes += " and ";
      for (std::size_t d = shape.size(); d-- > 0;) {
        shapes += fmt::format("{}{}", shape[d], d > 0 ? "x" : "");
      }
    }
    describe_boxes(site_, shapes, plan_->boxes.boxes.size(), tile_bytes_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  std::unique_ptr<TmaPlan> plan_;
  std::int64_t tile_bytes_ = 0;
};

ir::Stmt lower_tma(const Plan& base, const Site& site) {
  const auto& plan = static_cast<const TmaPlan&>(base);
  Location where = site.op->where;
  const Buffer& shared = plan.load ? site.dst.buffer : site.src->buffer;
  ir::Address mbarrier{site.simt->mbarriers, plan.mbarrier};
  Expr policy = cache_policy(site);
  std::string name = fmt::format("cuda.tma_{}_{}d{}", plan.load ? "load" : "store",
                                 plan.dims.size(), policy.defined() ? "_hint" : "");
  std::vector<ir::Stmt> body;
  if (plan.load) {
    body.push_back(
        ir::make_instr("cuda.expect_tx", {mbarrier, make_int(plan.barrier_bytes)}, where));
  }
  for (const TmaBox& box : plan.boxes.boxes) {
    ir::InstrOperand map = plan.tensor_maps[box.shape]->var;
    ir::InstrOperand tile =
        ir::Address{shared, site.facts->simplify(plus(plan.start, make_int(box.shared_offset)))};
    std::vector<ir::InstrOperand> operands = {plan.load ? tile : map, plan.load ? map : tile};
    if (plan.load) operands.emplace_back(mbarrier);
    for (std::size_t d = 0; d < plan.dims.size(); ++d) {
      operands.emplace_back(
          tma_coordinate(plus(plan.dims[d].origin, make_int(box.at[d])), *site.facts));
    }
    if (policy.defined()) operands.emplace_back(policy);
    body.push_back(ir::make_instr(name, std::move(operands), where));
  }
  if (!plan.load) body.push_back(ir::make_instr("cuda.bulk_commit", {}, where));
  return by_one_thread(site, ir::make_block(std::move(body), where));
}

std::unique_ptr<Plan> plan_tma(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

}  // namespace

const Method tma = {"tma", plan_tma, lower_tma};

}  // namespace tilecopy::planner
