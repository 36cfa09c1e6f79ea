// Copies, transposes and fills by the threads of a block: each moves groups of neighbours in
// registers, as wide as both sides are proved to allow. Takes every operation.
#include "copy/simt.h"

#include <fmt/format.h>

#include <algorithm>

#include "copy/access_model.h"
#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/partition.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

// Loops up to this many rounds are unrolled, so that their loads are under way together.
constexpr std::int64_t most_unrolled = 16;

struct SimtPlan : Plan {
  Partition partition;
  int src_access = 1;  ///< elements of one access
  int dst_access = 1;
  bool grouped = false;  ///< bounds fall between groups, so ragged tiles keep them whole
  bool unroll = false;
  Expr policy;
};

const Fragment* fragment_of(const Site& site, const Buffer& buffer) {
  auto it = site.simt->fragments.find(buffer.node());
  return buffer.scope() == Scope::fragment && it != site.simt->fragments.end() ? &it->second
                                                                               : nullptr;
}

bool is_global(const Site& site, bool of_src) {
  if (of_src && !site.src) return false;
  return (of_src ? site.src->buffer : site.dst.buffer).scope() == Scope::global;
}

// The axis for threads in a row: one along which they touch neighbours, in global memory first.
std::size_t fastest_axis(const Site& site) {
  for (bool global : {true, false}) {
    for (bool of_src : {false, true}) {
      if (global && !is_global(site, of_src)) continue;
      for (std::size_t k = site.axes.size(); k-- > 0;) {
        if (contiguous(site, of_src, k)) return k;
      }
    }
  }
  return site.axes.size() - 1;
}

int element_bytes(const Site& site, bool of_src) {
  return bytes((of_src ? site.src->buffer : site.dst.buffer).dtype());
}

// Elements of the widest access of a side that its memory, or registers beside it, take.
int widest_access(const Site& site, bool of_src) {
  const Buffer& buffer = of_src ? site.src->buffer : site.dst.buffer;
  bool wide = target::has_wide_access(*site.target) &&
              (is_global(site, of_src) || fragment_of(site, buffer));
  return (wide ? 32 : 16) / element_bytes(site, of_src);
}

// Widths of a plan while they are worked out.
class Planner {
 public:
  Planner(const Site& site, Rules& rules) : site_(site), rules_(rules) {}

  std::unique_ptr<Plan> plan() {
    plan_ = std::make_unique<SimtPlan>();
    plan_->policy = cache_policy(site_);
    if (!by_fragment() && !by_loop_layout()) linear();
    widths();
    plan_->grouped = bounds_grouped();
    unrolling();
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
  int most_elements() const {
    int most = widest_access(site_, false);
    if (site_.src) most = std::max(most, widest_access(site_, true));
    return std::min(most, 16);
  }

  int widest_bytes() const {
    int widest = 32;
    for (bool of_src : {false, true}) {
      if (of_src && !site_.src) continue;
      if (fragment_of(site_, of_src ? site_.src->buffer : site_.dst.buffer)) continue;
      widest = std::min(widest, widest_access(site_, of_src) * element_bytes(site_, of_src));
    }
    return widest;
  }

  // The widest group along `axis` that every side in memory moves in one access, so that threads in
  // a row touch memory without gaps.
  int group(std::size_t axis, int most) {
    Proof& proof = rules_.proof();
    int best = most;
    for (bool of_src : {false, true}) {
      if (of_src && !site_.src) continue;
      if (fragment_of(site_, of_src ? site_.src->buffer : site_.dst.buffer)) continue;
      int limit = std::min(best, widest_access(site_, of_src));
      best = vector_elements(site_, of_src, axis, limit, proof);
    }
    while (best > 1 && !proof.multiple(site_.axes[axis].extent, best)) best /= 2;
    return hinted(best);
  }

  int hinted(int best) {
    if (!site_.hints->coalesced_width) return best;
    auto wanted = static_cast<int>(*site_.hints->coalesced_width);
    if (wanted <= best) return wanted;
    rules_.missed(fmt::format(
        "coalesced_width={}: not met, {} elements are proved contiguous and aligned on a side, "
        "{} bytes at most",
        wanted, best, widest_bytes()));
    return best;
  }

  void linear() {
    std::vector<Expr> extents;
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) extents.push_back(site_.axes[k].extent);
    int vector = 1;
    if (!site_.axes.empty()) {
      std::size_t fastest = fastest_axis(site_);
      for (std::size_t k = 0; k < site_.axes.size(); ++k) {
        if (k != fastest) order.push_back(k);
      }
      order.push_back(fastest);
      // Where only one side runs along the axis, the other's accesses would be apart by whole
      // groups of rows: single elements keep a warp's in different banks.
      bool both =
          !site_.src || (contiguous(site_, true, fastest) && contiguous(site_, false, fastest));
      vector = both ? group(fastest, most_elements()) : hinted(1);
    }
    bool replicated = site_.dst.buffer.scope() == Scope::local;
    plan_->partition = Partition::linear(std::move(extents), std::move(order),
                                         replicated ? 1 : site_.simt->threads, vector);
  }

  bool by_fragment() {
    for (bool of_src : {false, true}) {
      if (of_src && !site_.src) continue;
      const ir::Region& region = of_src ? *site_.src : site_.dst;
      const Fragment* fragment = fragment_of(site_, region.buffer);
      if (!fragment) continue;
      std::vector<int> axes(region.extent.size(), -1);
      for (std::size_t k = 0; k < site_.axes.size(); ++k) {
        int dim = of_src ? site_.axes[k].src->dim : site_.axes[k].dst.dim;
        axes[static_cast<std::size_t>(dim)] = static_cast<int>(k);
      }
      share(*fragment, std::move(axes), region.origin);
      return true;
    }
    return false;
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
    share(layout, axes, std::vector<Expr>(axes.size(), make_int(0)));
    return true;
  }

  void share(const Fragment& fragment, std::vector<int> axes, std::vector<Expr> origin) {
    std::vector<Expr> extents;
    for (const Axis& axis : site_.axes) extents.push_back(axis.extent);
    int dim = -1;
    int vector = fragment_vector(fragment, most_elements(), &dim);
    int axis = dim < 0 ? -1 : axes[static_cast<std::size_t>(dim)];
    if (axis < 0) {
      vector = 1;
    } else {
      Proof& proof = rules_.proof();
      while (vector > 1 && !proof.multiple(origin[static_cast<std::size_t>(dim)], vector))
        vector /= 2;
      vector = std::min(vector, group(static_cast<std::size_t>(axis), vector));
    }
    plan_->partition = Partition::of_fragment(fragment, std::move(axes), std::move(origin),
                                              std::move(extents), vector, site_.simt->threads);
  }

  void widths() {
    int vector = plan_->partition.vector();
    if (vector == 1) return;
    auto axis = static_cast<std::size_t>(plan_->partition.axis());
    auto width = [&](bool of_src) {
      int most = std::min(vector, widest_access(site_, of_src));
      const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
      if (fragment_of(site_, buffer)) return most;
      return vector_elements(site_, of_src, axis, most, rules_.proof());
    };
    plan_->dst_access = width(false);
    if (site_.src) plan_->src_access = width(true);
    // Registers take an access as wide as the other side's.
    if (site_.src && fragment_of(site_, site_.src->buffer) && same_dtype()) {
      plan_->src_access = std::min(plan_->src_access, plan_->dst_access);
    }
    if (site_.src && fragment_of(site_, site_.dst.buffer) && same_dtype()) {
      plan_->dst_access = std::min(plan_->src_access, plan_->dst_access);
    }
  }

  bool same_dtype() const { return site_.src->buffer.dtype() == site_.dst.buffer.dtype(); }

  bool bounds_grouped() {
    int vector = plan_->partition.vector();
    if (vector == 1) return false;
    const Axis& axis = site_.axes[static_cast<std::size_t>(plan_->partition.axis())];
    return bounds_between_groups(axis.dst, vector, rules_.proof()) &&
           (!axis.src || bounds_between_groups(*axis.src, vector, rules_.proof()));
  }

  void unrolling() {
    auto rounds = ir::const_int(site_.facts->simplify(plan_->partition.rounds()));
    bool registers = fragment_of(site_, site_.dst.buffer) ||
                     (site_.src && fragment_of(site_, site_.src->buffer));
    plan_->unroll = rounds && (registers || *rounds <= most_unrolled);
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    std::string access;
    if (site_.src) access = fmt::format("{} in, ", plan_->src_access * element_bytes(site_, true));
    add("access_bytes",
        fmt::format("{}{} out", access, plan_->dst_access * element_bytes(site_, false)));
    add("group", fmt::format("{} elements of a thread", plan_->partition.vector()));
    add("rounds", site_.facts->simplify(plan_->partition.rounds()).to_string());
    if (site_.src && !same_dtype()) {
      add("cast", fmt::format("{} to {}", to_string(site_.src->buffer.dtype()),
                              to_string(site_.dst.buffer.dtype())));
    }
    add("bounds", always_in_bounds(site_) ? "proved, no checks"
                                          : "one test of the tile; checks in ragged tiles only");
    describe_accesses(site_, plan_->partition.group(site_.simt->thread, make_int(0), *site_.facts),
                      plan_->src_access, plan_->dst_access, *plan_);
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  std::unique_ptr<SimtPlan> plan_;
};

// Everything below executes a plan.
class Lowering {
 public:
  Lowering(const SimtPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    return whole_or_ragged(site_, [this](bool ragged) { return rounds(ragged); });
  }
  ir::Stmt lower_ragged() { return rounds(true); }

 private:
  ir::Stmt rounds(bool guarded) {
    facts_ = *site_.facts;
    Expr count = facts_.simplify(plan_.partition.rounds());
    if (ir::is_const_int(count, 1)) return round(make_int(0), guarded);
    Var r("r", int64);
    facts_.bind_loop(r, make_int(0), count);
    ir::Stmt body = round(r, guarded);
    auto kind = plan_.unroll ? ir::LoopKind::unrolled : ir::LoopKind::serial;
    return ir::make_for(kind, r, make_int(0), count, body, where_);
  }

  ir::Stmt round(const Expr& r, bool guarded) {
    group_ = plan_.partition.group(site_.simt->thread, r, facts_);
    NamedBlock block(facts_, where_);
    for (Expr& loop : group_.loops) loop = block.name("i", loop);
    ir::Stmt body = guarded ? guarded_group() : whole_group();
    block.add(group_.exists.defined() ? ir::make_if(group_.exists, body, nullptr, where_) : body);
    return block.take();
  }

  std::vector<Expr> loops_at(const Expr& v) const {
    std::vector<Expr> loops = group_.loops;
    if (plan_.partition.axis() >= 0) {
      auto axis = static_cast<std::size_t>(plan_.partition.axis());
      loops[axis] = plus(loops[axis], v);
    }
    return loops;
  }

  // Where element v of the group is.
  ir::Address address(bool of_src, const Expr& v) const {
    const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
    if (fragment_of(site_, buffer)) {
      return {site_.simt->registers.at(buffer.node()), facts_.simplify(plus(group_.reg, v))};
    }
    return {buffer, facts_.simplify(site_.offset(of_src, loops_at(v)))};
  }

  Expr load(const Expr& v) const {
    ir::Address from = address(true, v);
    return ir::make_load(from.buffer, {from.offset});
  }

  ir::Stmt store(const Expr& v, const Expr& value) const {
    ir::Address to = address(false, v);
    return ir::make_store(to.buffer, {to.offset}, ir::make_cast(value, to.buffer.dtype()), where_);
  }

  // The conditions under which element v is in bounds on a side; undefined when it is always.
  Expr inside(bool of_src, const Expr& v) const {
    std::vector<Expr> conditions = of_src ? site_.src_conditions : site_.dst_conditions;
    std::vector<Expr> loops = loops_at(v);
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const AxisSide& side = of_src ? *site_.axes[k].src : site_.axes[k].dst;
      if (side.inside.whole) continue;
      conditions.push_back(make_binary(BinaryOp::ge, loops[k], side.inside.begin));
      conditions.push_back(make_binary(BinaryOp::lt, loops[k], side.inside.end));
    }
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      Expr simple = facts_.simplify(condition);
      if (!ir::is_const_int(simple, 1)) open.push_back(simple);
    }
    return all_of(open);
  }

  ir::Stmt guarded_group() {
    if (plan_.grouped) {
      ir::Stmt body = whole_group();
      if (Expr src = site_.src ? inside(true, make_int(0)) : Expr(); src.defined()) {
        body = ir::make_if(src, body, constant_group(site_.safe), where_);
      }
      Expr dst = inside(false, make_int(0));
      return dst.defined() ? ir::make_if(dst, body, nullptr, where_) : body;
    }
    return each_element([&](const Expr& v) {
      Expr value = site_.value;
      if (site_.src) {
        Expr src = inside(true, v);
        value = src.defined() ? ir::make_select(src, load(v), site_.safe) : load(v);
      }
      ir::Stmt body = store(v, value);
      Expr dst = inside(false, v);
      return dst.defined() ? ir::make_if(dst, body, nullptr, where_) : body;
    });
  }

  ir::Stmt each_element(const std::function<ir::Stmt(const Expr&)>& body) const {
    std::vector<ir::Stmt> statements;
    for (int v = 0; v < plan_.partition.vector(); ++v) statements.push_back(body(make_int(v)));
    return statements.size() == 1 ? statements[0] : ir::make_block(std::move(statements), where_);
  }

  // All elements of the group are in bounds on both sides.
  ir::Stmt whole_group() const {
    int vector = plan_.partition.vector();
    if (!site_.src) return constant_group(site_.value);
    bool cast = site_.src->buffer.dtype() != site_.dst.buffer.dtype();
    bool hinted = plan_.policy.defined() && (is_global(site_, true) || is_global(site_, false));
    if (vector == 1 && !hinted) return store(make_int(0), load(make_int(0)));
    if (!cast && !hinted && plan_.src_access == plan_.dst_access) return moves();

    std::vector<ir::Stmt> body;
    Buffer in = staging("in", site_.src->buffer.dtype(), body);
    transfer(body, true, in);
    if (!cast) {
      transfer(body, false, in);
      return ir::make_block(std::move(body), where_);
    }
    Buffer out = staging("out", site_.dst.buffer.dtype(), body);
    for (int v = 0; v < vector; ++v) {
      body.push_back(ir::make_store(out, {make_int(v)},
                                    ir::make_cast(ir::make_load(in, {make_int(v)}), out.dtype()),
                                    where_));
    }
    transfer(body, false, out);
    return ir::make_block(std::move(body), where_);
  }

  ir::Stmt constant_group(const Expr& value) const {
    if (plan_.partition.vector() == 1 && !(plan_.policy.defined() && is_global(site_, false))) {
      return store(make_int(0), value);
    }
    std::vector<ir::Stmt> body;
    Buffer out = staging("out", site_.dst.buffer.dtype(), body);
    for (int v = 0; v < plan_.partition.vector(); ++v) {
      body.push_back(ir::make_store(out, {make_int(v)}, ir::make_cast(value, out.dtype()), where_));
    }
    transfer(body, false, out);
    return ir::make_block(std::move(body), where_);
  }

  Buffer staging(const char* name, DType dtype, std::vector<ir::Stmt>& body) const {
    auto node = std::make_shared<ir::BufferNode>();
    node->name = name;
    node->dtype = dtype;
    node->scope = Scope::local;
    node->shape = {make_int(plan_.partition.vector())};
    node->where = where_;
    Buffer buffer(std::move(node));
    auto alloc = ir::make_stmt<ir::Alloc>(where_);
    alloc->buffer = buffer;
    body.push_back(alloc);
    return buffer;
  }

  // Straight from one side to the other.
  ir::Stmt moves() const {
    std::vector<ir::Stmt> body;
    int step = plan_.src_access;
    for (int v = 0; v < plan_.partition.vector(); v += step) {
      body.push_back(ir::make_instr("cuda.move",
                                    {address(false, make_int(v)), address(true, make_int(v)),
                                     make_int(step * element_bytes(site_, false))},
                                    where_));
    }
    return body.size() == 1 ? body[0] : ir::make_block(std::move(body), where_);
  }

  // Between one side and registers.
  void transfer(std::vector<ir::Stmt>& body, bool of_src, const Buffer& regs) const {
    int step = of_src ? plan_.src_access : plan_.dst_access;
    bool hinted = plan_.policy.defined() && is_global(site_, of_src);
    for (int v = 0; v < plan_.partition.vector(); v += step) {
      ir::InstrOperand memory = address(of_src, make_int(v));
      ir::InstrOperand reg = ir::Address{regs, make_int(v)};
      std::vector<ir::InstrOperand> operands = {of_src ? reg : memory, of_src ? memory : reg,
                                                make_int(step * element_bytes(site_, of_src))};
      if (hinted) operands.emplace_back(plan_.policy);
      std::string_view name = !hinted ? "cuda.move" : of_src ? "cuda.load_hint" : "cuda.store_hint";
      body.push_back(ir::make_instr(name, std::move(operands), where_));
    }
  }

  const SimtPlan& plan_;
  const Site& site_;
  ir::Facts facts_;
  Location where_;
  Group group_;
};

std::unique_ptr<Plan> plan_simt(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

ir::Stmt lower_simt(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const SimtPlan&>(plan), site).lower();
}

}  // namespace

ir::Stmt lower_ragged_simt(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const SimtPlan&>(plan), site).lower_ragged();
}

const Method simt = {"simt", plan_simt, lower_simt};

}  // namespace tilecopy::planner
