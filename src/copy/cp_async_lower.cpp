// The device code of copies by cp.async: a fast path for tiles that are all in bounds, and one with
// a check of each group.
#include "copy/cp_async_plan.h"
#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

class Lowering {
 public:
  Lowering(const CpAsyncPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  // The commit is outside of all conditions: a wait counts the groups of each thread.
  ir::Stmt lower() {
    ir::Stmt copies = whole_or_ragged(site_, [this](bool ragged) { return rounds(ragged); });
    return ir::make_block({copies, ir::make_instr("cuda.cp_async_commit", {}, where_)}, where_);
  }

 private:
  ir::Stmt rounds(bool guarded) {
    facts_ = *site_.facts;
    Expr count = facts_.simplify(plan_.partition.rounds());
    if (ir::is_const_int(count, 1)) return round(make_int(0), guarded);
    Var r("r", int64);
    facts_.bind_loop(r, make_int(0), count);
    ir::Stmt body = round(r, guarded);
    auto kind = plan_.unroll && !guarded ? ir::LoopKind::unrolled : ir::LoopKind::serial;
    return ir::make_for(kind, r, make_int(0), count, body, where_);
  }

  ir::Stmt round(const Expr& r, bool guarded) {
    group_ = plan_.partition.group(site_.simt->thread, r, facts_);
    NamedBlock block(facts_, where_);
    for (Expr& loop : group_.loops) loop = block.name("i", loop);
    ir::Stmt body = guarded ? guarded_group() : copy(offset(true, make_int(0)), full());
    block.add(group_.exists.defined() ? ir::make_if(group_.exists, body, nullptr, where_) : body);
    return block.take();
  }

  // ---- Places and conditions ----

  Expr full() const { return make_int(plan_.bytes); }

  std::vector<Expr> loops_at(const Expr& v) const {
    std::vector<Expr> loops = group_.loops;
    int axis = plan_.partition.axis();
    if (axis >= 0) loops[static_cast<std::size_t>(axis)] = plus(group_along(), v);
    return loops;
  }

  // The index of the group's first element along the group's axis.
  const Expr& group_along() const {
    return group_.loops[static_cast<std::size_t>(plan_.partition.axis())];
  }

  const AxisSide& side(bool of_src, std::size_t axis) const {
    return of_src ? *site_.axes[axis].src : site_.axes[axis].dst;
  }

  Expr offset(bool of_src, const Expr& v) const {
    return facts_.simplify(site_.offset(of_src, loops_at(v)));
  }

  // When the axes other than the group's are in bounds.
  std::vector<Expr> across(bool of_src) const {
    std::vector<Expr> conditions = of_src ? site_.src_conditions : site_.dst_conditions;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      if (static_cast<int>(k) == plan_.partition.axis()) continue;
      const Span& span = side(of_src, k).inside;
      if (span.whole) continue;
      conditions.push_back(make_binary(BinaryOp::ge, group_.loops[k], span.begin));
      conditions.push_back(make_binary(BinaryOp::lt, group_.loops[k], span.end));
    }
    return conditions;
  }

  // When elements first .. last of the group are in bounds.
  std::vector<Expr> inside(bool of_src, const Expr& first, const Expr& last) const {
    std::vector<Expr> conditions = across(of_src);
    if (plan_.partition.axis() < 0) return conditions;
    const Span& span = side(of_src, static_cast<std::size_t>(plan_.partition.axis())).inside;
    if (span.whole) return conditions;
    conditions.push_back(make_binary(BinaryOp::ge, plus(group_along(), first), span.begin));
    conditions.push_back(make_binary(BinaryOp::lt, plus(group_along(), last), span.end));
    return conditions;
  }

  // Undefined when always true.
  Expr all(const std::vector<Expr>& conditions) const {
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      Expr simple = facts_.simplify(condition);
      if (!ir::is_const_int(simple, 1)) open.push_back(simple);
    }
    return all_of(open);
  }

  // ---- Statements ----

  ir::Stmt copy(const Expr& src_offset, const Expr& src_bytes) const {
    std::vector<ir::InstrOperand> operands = {
        ir::Address{site_.dst.buffer, offset(false, make_int(0))},
        ir::Address{site_.src->buffer, src_offset}, full(), src_bytes};
    if (plan_.policy.defined()) operands.emplace_back(plan_.policy);
    return ir::make_instr(plan_.policy.defined() ? "cuda.cp_async_hint" : "cuda.cp_async",
                          std::move(operands), where_);
  }

  // A group whose source begins in bounds, or is out of bounds altogether.
  ir::Stmt zero_filled() {
    std::vector<Expr> conditions =
        plan_.src_grouped ? inside(true, make_int(0), make_int(0)) : across(true);
    Expr count = full();
    if (!plan_.src_grouped) {
      const Span& span = side(true, static_cast<std::size_t>(plan_.partition.axis())).inside;
      conditions.push_back(make_binary(BinaryOp::ge, group_along(), span.begin));
      Expr rest = make_binary(BinaryOp::max, make_binary(BinaryOp::sub, span.end, group_along()),
                              make_int(0));
      rest = make_binary(BinaryOp::min, rest, make_int(plan_.partition.vector()));
      count = times(rest, make_int(bytes(site_.src->buffer.dtype())));
    }
    Expr starts = all(conditions);
    NamedBlock block(facts_, where_);
    Expr src_bytes =
        block.name("bytes", starts.defined() ? ir::make_select(starts, count, make_int(0)) : count);
    // Nothing is read then, but the address must be one of the tensor's.
    Expr some = all({make_binary(BinaryOp::gt, src_bytes, make_int(0))});
    Expr from = offset(true, make_int(0));
    block.add(copy(some.defined() ? ir::make_select(some, from, make_int(0)) : from, src_bytes));
    return block.take();
  }

  // Ordinary stores of what is in bounds, and of the safe value.
  ir::Stmt elements() {
    if (plan_.partition.vector() == 1) return element(make_int(0));
    Var v("v", int64);
    facts_.bind_loop(v, make_int(0), make_int(plan_.partition.vector()));
    return ir::make_for(ir::LoopKind::serial, v, make_int(0), make_int(plan_.partition.vector()),
                        element(v), where_);
  }

  ir::Stmt element(const Expr& v) const {
    Expr value = ir::make_load(site_.src->buffer, {offset(true, v)});
    Expr src = all(inside(true, v, v));
    if (src.defined()) value = ir::make_select(src, value, site_.safe);
    // Where no bounds split groups, there are elements to store only if the source has none.
    if (plan_.src_grouped && plan_.dst_grouped) value = site_.safe;
    ir::Stmt store = ir::make_store(site_.dst.buffer, {offset(false, v)}, value, where_);
    Expr dst = all(inside(false, v, v));
    return dst.defined() ? ir::make_if(dst, store, nullptr, where_) : store;
  }

  ir::Stmt guarded_group() {
    Expr first = make_int(0);
    Expr last = make_int(plan_.partition.vector() - 1);
    // The group goes by one cp.async if these hold.
    std::vector<Expr> conditions;
    if (!plan_.zero_fill) {
      conditions = inside(true, first, last);
    } else if (!plan_.src_grouped) {
      // A size cannot leave out the first elements.
      const Span& span = side(true, static_cast<std::size_t>(plan_.partition.axis())).inside;
      Expr past = plus(group_along(), make_int(plan_.partition.vector()));
      conditions = {make_binary(BinaryOp::logical_or,
                                make_binary(BinaryOp::ge, group_along(), span.begin),
                                make_binary(BinaryOp::le, past, span.begin))};
    }
    Expr dst = all(inside(false, first, last));
    if (!plan_.dst_grouped && dst.defined()) conditions.push_back(dst);
    ir::Stmt body = plan_.zero_fill ? zero_filled() : copy(offset(true, make_int(0)), full());
    if (Expr whole = all(conditions); whole.defined()) {
      body = ir::make_if(whole, body, elements(), where_);
    }
    bool skip = plan_.dst_grouped && dst.defined();
    return skip ? ir::make_if(dst, body, nullptr, where_) : body;
  }

  const CpAsyncPlan& plan_;
  const Site& site_;
  ir::Facts facts_;  ///< the site's, and those of our loops and names
  Location where_;
  Group group_;
};

}  // namespace

ir::Stmt lower_cp_async(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const CpAsyncPlan&>(plan), site).lower();
}

}  // namespace tilecopy::planner
