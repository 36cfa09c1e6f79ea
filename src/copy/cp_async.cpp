// Copies from global to shared memory by cp.async: each thread asks for groups of 4, 8 or 16 bytes,
// which go past its registers and land later. Groups that reach past the source end in zeros.
#include <fmt/format.h>

#include <algorithm>

#include "copy/access_model.h"
#include "copy/cp_async_plan.h"
#include "copy/cuda_common.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

// What one cp.async moves. PTX ISA, cp.async: cp-size is 4, 8 or 16.
constexpr int least_bytes = 4;
constexpr int most_bytes = 16;
// Loops up to this many rounds are unrolled.
constexpr std::int64_t most_unrolled = 16;

class Planner {
 public:
  Planner(const Site& site, Rules& rules)
      : site_(site), rules_(rules), element_(bytes(site.dst.buffer.dtype())) {}

  std::unique_ptr<Plan> plan() {
    if (!operands() || !same_axis() || !policy_works()) return nullptr;
    plan_ = std::make_unique<CpAsyncPlan>();
    if (!by_loop_layout()) linear();
    int vector = plan_->partition.vector();
    plan_->bytes = vector * element_;
    if (!rules_.require("access", plan_->bytes >= least_bytes,
                        "4, 8 or 16 bytes in a row, aligned, on both sides",
                        fmt::format("{} bytes", plan_->bytes),
                        "give origins and strides that are multiples of 4 bytes")) {
      return nullptr;
    }
    plan_->policy = cache_policy(site_);
    plan_->zero_fill = all_bits_zero(site_.safe);
    plan_->src_grouped = grouped(true);
    plan_->dst_grouped = grouped(false);
    auto rounds = ir::const_int(site_.facts->simplify(plan_->partition.rounds()));
    plan_->unroll = rounds && *rounds <= most_unrolled;
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  bool operands() {
    Scope from = site_.src ? site_.src->buffer.scope() : Scope::local;
    Scope to = site_.dst.buffer.scope();
    if (!rules_.require(
            "scope", from == Scope::global && to == Scope::shared, "global to shared memory",
            fmt::format("{} to {}", site_.src ? to_string(from) : "a value", to_string(to)))) {
      return false;
    }
    DType src = site_.src->buffer.dtype();
    DType dst = site_.dst.buffer.dtype();
    return rules_.require("dtype", src == dst, "equal dtypes",
                          fmt::format("{} to {}", to_string(src), to_string(dst)),
                          "cast after the copy");
  }

  // NOTE: measured on an H200 (driver 580.159.04, ptxas 13.0): every cp.async with .L2::cache_hint
  // is an illegal instruction there, so the policy needs another method than this.
  bool policy_works() {
    bool given = site_.hints->eviction_policy.has_value();
    return rules_.require(
        "eviction_policy", !given || !target::has_tma(*site_.target),
        "no eviction_policy after sm_80, where cp.async takes none",
        given ? fmt::format("eviction_policy={} on {}", to_string(*site_.hints->eviction_policy),
                            site_.target->arch)
              : "none",
        "leave the hint out, or use prefer_instruction=tma or sync");
  }

  // The axes along which a side's elements are neighbours.
  std::vector<bool> runs(bool of_src) const {
    const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
    auto layout = site_.layouts->find(buffer.node());
    std::vector<bool> result;
    for (const Axis& axis : site_.axes) {
      const AxisSide& side = of_src ? *axis.src : axis.dst;
      bool unit = side.stride && ir::is_const_int(*side.stride, 1);
      if (layout != site_.layouts->end()) {
        std::vector<Mode> digits = coalesce(layout->second.layout().mode(side.dim)).flat();
        unit = !digits.empty() && digits[0].stride == 1;
      }
      result.push_back(unit);
    }
    return result;
  }

  // Where the sides run along different axes, threads in a row touch memory apart on one of them,
  // which registers turn round at no more cost than cp.async.
  bool same_axis() {
    std::vector<bool> src = runs(true), dst = runs(false);
    bool src_runs = false, dst_runs = false, both = false;
    for (std::size_t k = 0; k < src.size(); ++k) {
      src_runs |= src[k];
      dst_runs |= dst[k];
      both |= src[k] && dst[k];
    }
    return rules_.require("axis", both || !src_runs || !dst_runs,
                          "neighbours along the same axis on both sides",
                          both || !src_runs || !dst_runs ? "the same axis" : "different axes",
                          "transpose after the copy");
  }

  // Whether groups of p elements along an axis are neighbours and aligned on both sides.
  bool fits(std::size_t axis, int p) {
    Proof& proof = rules_.proof();
    return proof.attempt([&] {
      return proof.multiple(site_.axes[axis].extent, p) &&
             vector_elements(site_, false, axis, p, proof) == p &&
             vector_elements(site_, true, axis, p, proof) == p;
    });
  }

  // The most elements that the hint and the instruction allow. A hint for less than the instruction
  // moves is no reason to give it up.
  int most_elements() const {
    int most = most_bytes / element_;
    if (!site_.hints->coalesced_width) return most;
    auto wanted = static_cast<int>(*site_.hints->coalesced_width);
    return wanted * element_ < least_bytes ? most : std::min(most, wanted);
  }

  void check_width(int vector) {
    auto wanted = site_.hints->coalesced_width;
    if (!wanted || *wanted == vector) return;
    rules_.missed(
        *wanted < vector
            ? fmt::format("coalesced_width={}: not met, {} bytes are less than the 4 that "
                          "cp.async moves",
                          *wanted, *wanted * element_)
            : fmt::format("coalesced_width={}: not met, {} elements are proved contiguous "
                          "and aligned on both sides, 16 bytes at most",
                          *wanted, vector));
  }

  void linear() {
    std::size_t rank = site_.axes.size();
    std::size_t fastest = rank - 1;
    int vector = 1;
    for (int p = most_elements(); p > 1 && vector == 1; p /= 2) {
      for (std::size_t k = rank; k-- > 0;) {
        if (!fits(k, p)) continue;
        vector = p;
        fastest = k;
        break;
      }
    }
    if (vector == 1) fastest = contiguous_source(fastest);
    check_width(vector);
    std::vector<Expr> extents;
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < rank; ++k) {
      extents.push_back(site_.axes[k].extent);
      if (k != fastest) order.push_back(k);
    }
    if (rank > 0) order.push_back(fastest);
    plan_->partition =
        Partition::linear(std::move(extents), std::move(order), site_.simt->threads, vector);
  }

  // Threads in a row read neighbours, where there is an axis of such.
  std::size_t contiguous_source(std::size_t otherwise) const {
    for (std::size_t k = site_.axes.size(); k-- > 0;) {
      const std::optional<Expr>& stride = site_.axes[k].src->stride;
      if (stride && ir::is_const_int(*stride, 1)) return k;
    }
    return otherwise;
  }

  bool by_loop_layout() {
    if (!site_.hints->loop_layout) return false;
    const Fragment& layout = *site_.hints->loop_layout;
    if (!layout.is_bijective()) {
      rules_.missed(
          fmt::format("loop_layout={}: not met, some registers of some threads hold no element",
                      to_string(layout)));
      return false;
    }
    int dim = -1;
    int vector = fragment_vector(layout, most_elements(), &dim);
    while (vector > 1 && !fits(static_cast<std::size_t>(dim), vector)) vector /= 2;
    check_width(vector);
    std::vector<int> axes;
    std::vector<Expr> origin, extents;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      axes.push_back(static_cast<int>(k));
      origin.push_back(make_int(0));
      extents.push_back(site_.axes[k].extent);
    }
    plan_->partition = Partition::of_fragment(layout, std::move(axes), std::move(origin),
                                              std::move(extents), vector, site_.simt->threads);
    return true;
  }

  // Groups that are split by the end of the source cost no more than others, so this is worth no
  // guard.
  bool grouped(bool of_src) {
    if (plan_->partition.vector() == 1) return true;
    const Axis& axis = site_.axes[static_cast<std::size_t>(plan_->partition.axis())];
    Proof& proof = rules_.proof();
    return proof.attempt([&] {
      std::size_t guards = proof.guards().size();
      return bounds_between_groups(of_src ? *axis.src : axis.dst, plan_->partition.vector(),
                                   proof) &&
             proof.guards().size() == guards;
    });
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    add("access_bytes", fmt::format("{}", plan_->bytes));
    add("group", fmt::format("{} elements of a thread", plan_->partition.vector()));
    add("rounds", site_.facts->simplify(plan_->partition.rounds()).to_string());
    add("bounds", always_in_bounds(site_) ? "proved, no checks"
                                          : "one test of the tile; checks in ragged tiles only");
    if (whole_condition(site_, true).defined()) {
      add("out_of_bounds", plan_->zero_fill ? "zeros by cp.async" : "the safe value by stores");
    }
    int vector = plan_->partition.vector();
    describe_accesses(site_, plan_->partition.group(site_.simt->thread, make_int(0), *site_.facts),
                      vector, vector, *plan_);
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  int element_;
  std::unique_ptr<CpAsyncPlan> plan_;
};

std::unique_ptr<Plan> plan_cp_async(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

}  // namespace

const Method cp_async = {"cp_async", plan_cp_async, lower_cp_async};

}  // namespace tilecopy::planner
