// Copies between global and shared memory by cp.async.bulk: runs of bytes that are contiguous on
// both sides, asked for by one thread. Needs no tensor map. What a run has before its first and
// after its last multiple of 16 bytes is copied by the threads, as are tiles that are not whole.
#include <fmt/format.h>

#include <algorithm>

#include "copy/bulk_plan.h"
#include "copy/cuda_common.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

// Addresses and sizes are multiples of this. PTX ISA, cp.async.bulk; and measured: another size
// never completes its barrier (hardware reference, "Measured for us").
constexpr std::int64_t unit_bytes = 16;
// One thread asks for all runs: shorter ones, and more of them, cost more than a tensor copy or
// cp.async by all threads, and a barrier more than so few bytes by the threads.
constexpr std::int64_t least_run_bytes = 2048;
constexpr std::int64_t least_single_run_bytes = 1024;
constexpr std::int64_t most_runs = 64;
// The transaction count of an mbarrier phase is at most this. PTX ISA, mbarrier.
constexpr std::int64_t most_barrier_bytes = (std::int64_t{1} << 20) - 1;

class Planner {
 public:
  Planner(const Site& site, Rules& rules)
      : site_(site), rules_(rules), element_(bytes(site.dst.buffer.dtype())) {}

  std::unique_ptr<Plan> plan() {
    if (!require_tma_unit(site_, rules_) || !operands() || !sizes()) return nullptr;
    plan_ = std::make_unique<BulkPlan>();
    plan_->load = loads();
    merge();
    if (!worth_it() || !aligned() || !whole_units()) return nullptr;
    std::int64_t total = rows_ * plan_->body() * element_;
    if (!rules_.require("barrier_bytes", total <= most_barrier_bytes,
                        fmt::format("at most {} bytes", most_barrier_bytes),
                        fmt::format("{} bytes", total), "use a smaller tile")) {
      return nullptr;
    }
    if (loads()) plan_->barrier_bytes = total;
    plan_->policy = cache_policy(site_);
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  bool loads() const { return site_.dst.buffer.scope() == Scope::shared; }

  bool operands() {
    Scope from = site_.src ? site_.src->buffer.scope() : Scope::local;
    Scope to = site_.dst.buffer.scope();
    bool fits = (from == Scope::global && to == Scope::shared) ||
                (from == Scope::shared && to == Scope::global);
    if (!rules_.require(
            "scope", fits, "global to shared memory, or back",
            fmt::format("{} to {}", site_.src ? to_string(from) : "a value", to_string(to)))) {
      return false;
    }
    const Buffer& src = site_.src->buffer;
    DType dtype = site_.dst.buffer.dtype();
    return rules_.require("dtype", src.dtype() == dtype, "equal dtypes",
                          fmt::format("{} to {}", to_string(src.dtype()), to_string(dtype)),
                          "cast after the copy") &&
           // The async proxy need not see what threads of other blocks, or fences, do to a tensor.
           rules_.require("source_written", !loads() || !site_.simt->written.contains(src.node()),
                          "a source that this kernel only reads",
                          fmt::format("{}, which it writes", src.name()));
  }

  bool sizes() {
    auto extents = constant_extents(site_);
    if (!rules_.require("extents", extents.has_value(), "constant extents", "a symbolic extent",
                        "use tiles of constant shape")) {
      return false;
    }
    extents_ = std::move(*extents);
    for (bool of_src : {true, false}) {
      Expr whole = whole_condition(site_, of_src);
      if (!rules_.require("whole_tiles", !whole.defined() || !ir::is_const_int(whole, 0),
                          "tiles that lie in bounds as a whole", "none does")) {
        return false;
      }
    }
    return true;
  }

  // Takes axes into the run for as long as the next one continues it on both sides.
  void merge() {
    std::vector<bool> taken(site_.axes.size(), false);
    auto next = [&] {
      for (std::size_t k = site_.axes.size(); k-- > 0;) {
        if (!taken[k] && continues(site_.axes[k])) return static_cast<int>(k);
      }
      return -1;
    };
    for (int k = next(); k >= 0; k = next()) {
      auto axis = static_cast<std::size_t>(k);
      taken[axis] = true;
      plan_->run_axes.push_back(axis);
      plan_->run *= extents_[axis];
    }
    for (std::size_t k = 0; k < taken.size(); ++k) {
      if (taken[k]) continue;
      plan_->row_axes.push_back(k);
      rows_ *= extents_[k];
    }
  }

  bool continues(const Axis& axis) {
    Proof& proof = rules_.proof();
    return proof.attempt([&] {
      for (const AxisSide* side : {&axis.dst, &*axis.src}) {
        if (!side->stride) return false;
        Expr gap =
            site_.facts->simplify(make_binary(BinaryOp::sub, *side->stride, make_int(plan_->run)));
        // A stride of 1 is worth a guard; that a size is just the tile's is not usual.
        bool fits =
            plan_->run_axes.empty() ? proof.within(*side->stride, 1, 1) : ir::is_const_int(gap, 0);
        if (!fits) return false;
      }
      return true;
    });
  }

  bool worth_it() {
    if (!rules_.require(
            "contiguous", !plan_->run_axes.empty(),
            "an axis along which both sides have neighbours",
            fmt::format("strides of {} and {}", strides_text(true), strides_text(false)),
            "give both sides the same order of dimensions, and the tile no swizzle")) {
      return false;
    }
    bool single = plan_->row_axes.empty();
    std::int64_t size = plan_->run * element_;
    std::int64_t least = single ? least_single_run_bytes : least_run_bytes;
    // Of what the hint asks for, many short runs are the second choice.
    bool named = site_.method == bulk.name;
    bool second = is_asked_for(site_, bulk) && size < least && (single || !tma_takes_it());
    if (named || second) least = unit_bytes;
    return rules_.require("run_bytes", size >= least,
                          fmt::format("{} of {} bytes or more", single ? "one run" : "runs", least),
                          fmt::format("{} of {} bytes", runs_text(), size),
                          "use a larger tile, as wide as the tensor at best") &&
           rules_.require("runs", named || rows_ <= most_runs,
                          fmt::format("at most {} runs", most_runs), runs_text(),
                          "use a tile of fewer rows");
  }

  bool tma_takes_it() const {
    Rules rules(tma.name, site_);
    return tma.plan(site_, rules) != nullptr;
  }

  std::string runs_text() const { return rows_ == 1 ? "one run" : fmt::format("{} runs", rows_); }

  std::string strides_text(bool of_src) const {
    std::vector<std::string> strides;
    for (const Axis& axis : site_.axes) {
      const AxisSide& side = of_src ? *axis.src : axis.dst;
      strides.push_back(side.stride ? side.stride->to_string() : "one that varies");
    }
    return fmt::format("({})", fmt::join(strides, ", "));
  }

  // Elements by which the starts of both sides lie past a multiple of 16 bytes; empty unless that
  // is known and the same.
  std::optional<std::int64_t> misalignment(std::int64_t unit) {
    std::vector<Expr> first(site_.axes.size(), make_int(0));
    Proof& proof = rules_.proof();
    for (std::int64_t past = 0; past < unit; ++past) {
      bool fits = proof.attempt([&] {
        for (bool of_src : {true, false}) {
          Expr start = site_.facts->simplify(plus(site_.offset(of_src, first), make_int(-past)));
          if (!proof.multiple(start, unit)) return false;
          const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
          if (!proof.aligned(buffer, unit_bytes)) return false;
        }
        return true;
      });
      if (fits) return past;
    }
    return std::nullopt;
  }

  std::string start_text(bool of_src) const {
    const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
    Expr start = site_.offset(of_src, std::vector<Expr>(site_.axes.size(), make_int(0)));
    return fmt::format("{} bytes * ({}) into {}", element_,
                       site_.facts->simplify(start).to_string(), buffer.name());
  }

  bool aligned() {
    std::int64_t unit = unit_bytes / element_;
    auto past = misalignment(unit);
    const char* advice = "give origins and strides that are multiples of 16 bytes";
    if (!rules_.require("alignment", past.has_value(),
                        "starts at multiples of 16 bytes, or equally far past them, on both sides",
                        fmt::format("{} and {}", start_text(true), start_text(false)), advice)) {
      return false;
    }
    if (plan_->row_axes.empty()) {
      plan_->head = std::min((unit - *past) % unit, plan_->run);
      plan_->tail = (plan_->run - plan_->head) % unit;
      return true;
    }
    if (!rules_.require("alignment", *past == 0, "runs that start at multiples of 16 bytes",
                        fmt::format("{} bytes past one", *past * element_), advice) ||
        !rules_.require("run_bytes", plan_->run % unit == 0, "runs of a multiple of 16 bytes",
                        fmt::format("{} runs of {} bytes", rows_, plan_->run * element_),
                        "use a tile whose rows are multiples of 16 bytes")) {
      return false;
    }
    for (std::size_t k : plan_->row_axes) {
      for (const AxisSide* side : {&site_.axes[k].dst, &*site_.axes[k].src}) {
        bool fits = side->stride && rules_.proof().multiple(*side->stride, unit);
        if (!rules_.require("row_stride", fits, "strides that are multiples of 16 bytes",
                            side->stride ? fmt::format("{} elements of {} bytes",
                                                       side->stride->to_string(), element_)
                                         : "one that varies",
                            advice)) {
          return false;
        }
      }
    }
    return true;
  }

  // Peeling may leave nothing of a short run.
  bool whole_units() {
    std::int64_t size = std::max<std::int64_t>(plan_->body(), 0) * element_;
    return rules_.require("run_bytes", size >= unit_bytes,
                          fmt::format("{} bytes or more that start at a multiple", unit_bytes),
                          fmt::format("{} bytes", size), "use a larger tile");
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    add("runs", fmt::format("{}", rows_));
    add("run_bytes", fmt::format("{}", plan_->body() * element_));
    if (plan_->head + plan_->tail > 0) {
      add("peeled",
          fmt::format("{} elements before and {} after, by threads", plan_->head, plan_->tail));
    }
    if (loads()) add("barrier_bytes", fmt::format("{}", plan_->barrier_bytes));
    add("bounds", always_in_bounds(site_) ? "proved, no checks"
                                          : "one test of the tile; ragged tiles by threads");
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  int element_;
  std::vector<std::int64_t> extents_;
  std::int64_t rows_ = 1;
  std::unique_ptr<BulkPlan> plan_;
};

std::unique_ptr<Plan> plan_bulk(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

}  // namespace

const Method bulk = {"bulk", plan_bulk, lower_bulk};

}  // namespace tilecopy::planner
