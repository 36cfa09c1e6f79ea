// Copies between tensors whose rows begin at any address, but at the same one on both sides modulo
// an access: threads take the widest accesses from the first aligned address of each row on, and
// single elements before and after. Dense tensors with odd rows are like that.
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

constexpr int access_bytes = 16;
constexpr std::int64_t most_unrolled = 4;

struct RealignedPlan : Plan {
  Partition partition;   ///< along rows it counts accesses, one more than a row has
  std::size_t axis = 0;  ///< of rows
  int vector = 1;        ///< elements of an access
  bool unroll = false;
  Expr policy;
};

bool same_span(const Span& a, const Span& b) {
  if (a.whole || b.whole) return a.whole && b.whole;
  return ir::equal(a.begin, b.begin) && ir::equal(a.end, b.end);
}

class Planner {
 public:
  Planner(const Site& site, Rules& rules) : site_(site), rules_(rules) {}

  std::unique_ptr<Plan> plan() {
    if (!between_tensors() || !along_rows() || !alike()) return nullptr;
    plan_->policy = cache_policy(site_);
    plan_->guards = rules_.proof().guards();
    share();
    describe();
    return std::move(plan_);
  }

 private:
  bool between_tensors() {
    const Buffer &src = site_.src->buffer, &dst = site_.dst.buffer;
    auto global = [](const Buffer& buffer) { return buffer.scope() == Scope::global; };
    return rules_.require("memory", global(src) && global(dst), "both sides in global memory",
                          fmt::format("{} in {} and {} in {}", src.name(), to_string(src.scope()),
                                      dst.name(), to_string(dst.scope())),
                          "copy from tensor to tensor, without a tile between") &&
           rules_.require(
               "dtype", src.dtype() == dst.dtype(), "one dtype on both sides",
               fmt::format("{} and {}", to_string(src.dtype()), to_string(dst.dtype()))) &&
           rules_.require(
               "coalesced_width", !site_.hints->coalesced_width, "coalesced_width not set",
               fmt::format("coalesced_width={}", site_.hints->coalesced_width.value_or(0)),
               "leave coalesced_width out") &&
           rules_.require("loop_layout", !site_.hints->loop_layout, "loop_layout not set",
                          "a loop_layout", "leave loop_layout out");
  }

  bool along_rows() {
    plan_->vector = access_bytes / bytes(site_.dst.buffer.dtype());
    std::size_t axis = site_.axes.size();
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      if (contiguous(site_, true, k) && contiguous(site_, false, k)) axis = k;
    }
    if (!rules_.require("rows", axis < site_.axes.size(),
                        "an axis along which both sides have neighbours",
                        fmt::format("{} axes, none of them such", site_.axes.size()))) {
      return false;
    }
    plan_->axis = axis;
    const auto extent = ir::const_int(site_.axes[axis].extent);
    return rules_.require("extent", extent && *extent >= 2 * plan_->vector,
                          fmt::format("rows of {} elements and more", 2 * plan_->vector),
                          extent ? std::to_string(*extent) : "an extent known at launch only");
  }

  // Whether both sides are at the same place of an access, and in bounds for the same elements.
  bool alike() {
    Proof& proof = rules_.proof();
    const int vector = plan_->vector;
    Proof unused(site_);
    const bool aligned = vector_elements(site_, true, plan_->axis, vector, unused) == vector &&
                         vector_elements(site_, false, plan_->axis, vector, unused) == vector;
    if (!rules_.require("misaligned", !aligned,
                        fmt::format("rows that begin between multiples of {} bytes", access_bytes),
                        "rows that begin at them")) {
      return false;
    }
    ir::Facts facts = *site_.facts;
    std::vector<Expr> loops;
    for (const Axis& axis : site_.axes) {
      Var loop("loop", int64);
      facts.bind_loop(loop, make_int(0), axis.extent);
      loops.push_back(loop);
    }
    const Expr distance = facts.simplify(
        make_binary(BinaryOp::sub, site_.offset(true, loops), site_.offset(false, loops)));
    const bool same = proof.attempt([&] {
      return proof.multiple(distance, vector) && proof.aligned(site_.src->buffer, access_bytes) &&
             proof.aligned(site_.dst.buffer, access_bytes);
    });
    if (!rules_.require(
            "distance", same,
            fmt::format("elements at the same place modulo {} bytes on both sides", access_bytes),
            fmt::format("elements {} apart", distance.to_string()),
            "give both tensors the same pitch")) {
      return false;
    }
    bool bounds = site_.src_conditions.size() == site_.dst_conditions.size();
    for (std::size_t i = 0; bounds && i < site_.src_conditions.size(); ++i) {
      bounds = ir::equal(site_.src_conditions[i], site_.dst_conditions[i]);
    }
    for (const Axis& axis : site_.axes) bounds &= same_span(axis.src->inside, axis.dst.inside);
    return rules_.require("bounds", bounds, "the same elements in bounds on both sides",
                          "sides that end at different elements");
  }

  void share() {
    std::vector<Expr> extents;
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const Expr& extent = site_.axes[k].extent;
      if (k != plan_->axis) order.push_back(k);
      extents.push_back(
          k != plan_->axis
              ? extent
              : make_int((*ir::const_int(extent) + plan_->vector - 1) / plan_->vector + 1));
    }
    order.push_back(plan_->axis);
    plan_->partition =
        Partition::linear(std::move(extents), std::move(order), site_.simt->threads, 1);
    const auto rounds = ir::const_int(site_.facts->simplify(plan_->partition.rounds()));
    plan_->unroll = rounds && *rounds <= most_unrolled;
  }

  void describe() {
    auto add = [&](const char* name, std::string text) {
      plan_->parameters.emplace_back(name, std::move(text));
    };
    add("access_bytes",
        fmt::format("{} in, {} out; elements at the ends of rows", access_bytes, access_bytes));
    add("rounds", site_.facts->simplify(plan_->partition.rounds()).to_string());
    describe_policy(site_, *plan_);
  }

  const Site& site_;
  Rules& rules_;
  std::unique_ptr<RealignedPlan> plan_ = std::make_unique<RealignedPlan>();
};

// Everything below executes a plan.
class Lowering {
 public:
  Lowering(const RealignedPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    const Expr count = facts_.simplify(plan_.partition.rounds());
    if (ir::is_const_int(count, 1)) return round(make_int(0));
    Var r("r", int64);
    facts_.bind_loop(r, make_int(0), count);
    ir::Stmt body = round(r);
    auto kind = plan_.unroll ? ir::LoopKind::unrolled : ir::LoopKind::serial;
    return ir::make_for(kind, r, make_int(0), count, body, where_);
  }

 private:
  ir::Stmt round(const Expr& r) {
    Group group = plan_.partition.group(site_.simt->thread, r, facts_);
    NamedBlock block(facts_, where_);
    for (Expr& loop : group.loops) loop = block.name("i", loop);
    const Expr access = group.loops[plan_.axis];
    loops_ = group.loops;
    loops_[plan_.axis] = make_int(0);
    // Elements of the row's first access that lie before the row.
    const Expr before =
        block.name("before", facts_.simplify(make_binary(BinaryOp::mod, site_.offset(true, loops_),
                                                         make_int(plan_.vector))));
    const Expr first = block.name(
        "first", make_binary(BinaryOp::sub, times(access, make_int(plan_.vector)), before));
    ir::Stmt body = take(first);
    if (Expr rows = rows_in_bounds(); rows.defined()) {
      body = ir::make_if(rows, body, nullptr, where_);
    }
    block.add(group.exists.defined() ? ir::make_if(group.exists, body, nullptr, where_) : body);
    return block.take();
  }

  // [begin, end) of the row.
  Expr begin() const {
    const Span& inside = site_.axes[plan_.axis].dst.inside;
    return inside.whole ? make_int(0) : make_binary(BinaryOp::max, inside.begin, make_int(0));
  }
  Expr end() const {
    const Axis& axis = site_.axes[plan_.axis];
    return axis.dst.inside.whole ? axis.extent
                                 : make_binary(BinaryOp::min, axis.dst.inside.end, axis.extent);
  }

  ir::Stmt take(const Expr& first) const {
    const Expr last = plus(first, make_int(plan_.vector));
    const Expr whole =
        all_of({make_binary(BinaryOp::ge, first, begin()), make_binary(BinaryOp::le, last, end())});
    std::vector<ir::Stmt> elements;
    for (int v = 0; v < plan_.vector; ++v) {
      const Expr at = plus(first, make_int(v));
      const Expr inside =
          all_of({make_binary(BinaryOp::ge, at, begin()), make_binary(BinaryOp::lt, at, end())});
      const ir::Address from = address(true, at), to = address(false, at);
      ir::Stmt store =
          ir::make_store(to.buffer, {to.offset}, ir::make_load(from.buffer, {from.offset}), where_);
      elements.push_back(ir::make_if(inside, store, nullptr, where_));
    }
    return ir::make_if(whole, move(first), ir::make_block(std::move(elements), where_), where_);
  }

  // One access on each side.
  ir::Stmt move(const Expr& first) const {
    const Expr width = make_int(access_bytes);
    if (!plan_.policy.defined()) {
      return ir::make_instr("cuda.move", {address(false, first), address(true, first), width},
                            where_);
    }
    auto node = std::make_shared<ir::BufferNode>();
    node->name = "in";
    node->dtype = site_.dst.buffer.dtype();
    node->scope = Scope::local;
    node->shape = {make_int(plan_.vector)};
    node->where = where_;
    auto alloc = ir::make_stmt<ir::Alloc>(where_);
    alloc->buffer = Buffer(std::move(node));
    const ir::Address regs{alloc->buffer, make_int(0)};
    return ir::make_block(
        {alloc,
         ir::make_instr("cuda.load_hint", {regs, address(true, first), width, plan_.policy},
                        where_),
         ir::make_instr("cuda.store_hint", {address(false, first), regs, width, plan_.policy},
                        where_)},
        where_);
  }

  ir::Address address(bool of_src, const Expr& at) const {
    std::vector<Expr> loops = loops_;
    loops[plan_.axis] = at;
    return {of_src ? site_.src->buffer : site_.dst.buffer,
            facts_.simplify(site_.offset(of_src, loops))};
  }

  // Whether the row exists; undefined when all do.
  Expr rows_in_bounds() const {
    std::vector<Expr> conditions = site_.dst_conditions;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const Span& inside = site_.axes[k].dst.inside;
      if (k == plan_.axis || inside.whole) continue;
      conditions.push_back(make_binary(BinaryOp::ge, loops_[k], inside.begin));
      conditions.push_back(make_binary(BinaryOp::lt, loops_[k], inside.end));
    }
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      Expr simple = facts_.simplify(condition);
      if (!ir::is_const_int(simple, 1)) open.push_back(simple);
    }
    return all_of(open);
  }

  const RealignedPlan& plan_;
  const Site& site_;
  ir::Facts facts_;
  Location where_;
  std::vector<Expr> loops_;  ///< of the row's first element
};

std::unique_ptr<Plan> plan_realigned(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

ir::Stmt lower_realigned(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const RealignedPlan&>(plan), site).lower();
}

}  // namespace

const Method realigned = {"realigned", plan_realigned, lower_realigned};

}  // namespace tilecopy::planner
