// im2col by the threads of a block: each works out where elements of col lie in the image and loads
// them. Where the channels allow it, an access moves several of one tap.
#include <fmt/format.h>

#include <algorithm>

#include "copy/cuda_common.h"
#include "copy/im2col_gather_plan.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::make_int;

constexpr int most_bytes = 16;
// Loops up to this many rounds are unrolled, so that their loads are under way together.
constexpr std::int64_t most_unrolled = 8;

class Planner {
 public:
  Planner(const Site& site, Rules& rules)
      : site_(site), rules_(rules), op_(*site.im2col()), element_(bytes(op_.img.dtype())) {}

  std::unique_ptr<Plan> plan() {
    plan_ = std::make_unique<GatherPlan>();
    if (fragment_of_col(site_)) {
      by_fragment(*fragment_of_col(site_), site_.dst.origin);
    } else if (!by_loop_layout()) {
      linear();
    }
    int vector = plan_->partition.vector();
    if (auto wanted = site_.hints->coalesced_width; wanted && *wanted > vector) {
      rules_.missed(fmt::format(
          "coalesced_width={}: not met, {} channels are proved contiguous and aligned on both "
          "sides, 16 bytes at most",
          *wanted, vector));
    }
    plan_->policy = cache_policy(site_);
    auto rounds = ir::const_int(site_.facts->simplify(plan_->partition.rounds()));
    plan_->unroll = rounds && (fragment_of_col(site_) || *rounds <= most_unrolled);
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  int most_elements() const {
    int most = most_bytes / element_;
    auto wanted = site_.hints->coalesced_width;
    return wanted ? static_cast<int>(std::min<std::int64_t>(most, *wanted)) : most;
  }

  // Whether p columns from each multiple of p are channels of one tap, side by side in the image
  // and aligned.
  bool image_takes(int p) {
    Proof& proof = rules_.proof();
    for (int d = 0; d < 4; ++d) {
      std::optional<Expr> stride = element_stride(op_.img, d, *site_.layouts);
      if (!stride) return false;
      if (d == 3 ? !proof.within(*stride, 1, 1) : !proof.multiple(*stride, p)) return false;
    }
    return proof.multiple(op_.img.shape()[3], p) &&
           proof.multiple(times(op_.c_step, op_.col.extent.back()), p) &&
           proof.aligned(op_.img, std::int64_t{p} * element_);
  }

  // The most columns, up to `most`, of one access. `col_takes` answers for addresses in col; its
  // bounds must fall between accesses.
  int vector(int most, const std::function<bool(int)>& col_takes) {
    Proof& proof = rules_.proof();
    for (int p = most; p > 1; p /= 2) {
      bool fits = proof.attempt([&] {
        const AxisSide& columns = site_.axes[static_cast<std::size_t>(axis_of_col(site_, 0))].dst;
        return proof.multiple(op_.col.extent.back(), p) && col_takes(p) && image_takes(p) &&
               bounds_between_groups(columns, p, proof);
      });
      if (fits) return p;
    }
    return 1;
  }

  bool memory_takes(int columns, int p) {
    return vector_elements(site_, false, static_cast<std::size_t>(columns), p, rules_.proof()) == p;
  }

  void linear() {
    int columns = axis_of_col(site_, 0);
    int width =
        columns < 0 ? 1 : vector(most_elements(), [&](int p) { return memory_takes(columns, p); });
    std::vector<Expr> extents;
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      extents.push_back(site_.axes[k].extent);
      order.push_back(k);
    }
    bool replicated = site_.dst.buffer.scope() == Scope::local;
    plan_->partition = Partition::linear(std::move(extents), std::move(order),
                                         replicated ? 1 : site_.simt->threads, width);
  }

  void by_fragment(const Fragment& fragment, const std::vector<Expr>& origin) {
    std::vector<int> axes(origin.size(), -1);
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      axes[static_cast<std::size_t>(site_.axes[k].dst.dim)] = static_cast<int>(k);
    }
    share(fragment, std::move(axes), origin,
          [this, &origin](int p) { return rules_.proof().multiple(origin.back(), p); });
  }

  bool by_loop_layout() {
    if (!site_.hints->loop_layout) return false;
    const Fragment& layout = *site_.hints->loop_layout;
    std::string reason;
    if (!layout.is_bijective()) reason = "some registers of some threads hold no element";
    if (site_.dst.buffer.scope() == Scope::local) reason = "every thread has the tile";
    if (!reason.empty()) {
      rules_.missed(fmt::format("loop_layout={}: not met, {}", to_string(layout), reason));
      return false;
    }
    std::vector<int> axes;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) axes.push_back(static_cast<int>(k));
    int columns = axis_of_col(site_, 0);
    share(layout, axes, std::vector<Expr>(axes.size(), make_int(0)),
          [this, columns](int p) { return memory_takes(columns, p); });
    return true;
  }

  void share(const Fragment& fragment, std::vector<int> axes, std::vector<Expr> origin,
             const std::function<bool(int)>& col_takes) {
    int dim = -1;
    int most = fragment_vector(fragment, most_elements(), &dim);
    bool columns = dim >= 0 && axes[static_cast<std::size_t>(dim)] >= 0 &&
                   axes[static_cast<std::size_t>(dim)] == axis_of_col(site_, 0);
    int width = columns ? vector(most, col_takes) : 1;
    std::vector<Expr> extents;
    for (const Axis& axis : site_.axes) extents.push_back(axis.extent);
    plan_->partition = Partition::of_fragment(fragment, std::move(axes), std::move(origin),
                                              std::move(extents), width, site_.simt->threads);
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    int vector = plan_->partition.vector();
    add("access_bytes", fmt::format("{}", vector * element_));
    add("group", vector == 1 ? "1 element of a thread"
                             : fmt::format("{} channels of a tap of a thread", vector));
    add("rounds", site_.facts->simplify(plan_->partition.rounds()).to_string());
    const ir::Im2colWindow& w = op_.window;
    add("taps", fmt::format("{} x {} of {} channels", w.kernel.h, w.kernel.w,
                            op_.img.shape()[3].to_string()));
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  const ir::Im2col& op_;
  int element_;
  std::unique_ptr<GatherPlan> plan_;
};

std::unique_ptr<Plan> plan_gather(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

}  // namespace

const Method im2col_gather = {"im2col_gather", plan_gather, lower_gather};

}  // namespace tilecopy::planner
