// The device code of copies by cp.async.bulk: one thread asks for the runs of whole tiles; all
// threads copy the ends of a run, and tiles of which a part is out of bounds.
#include <fmt/format.h>

#include "copy/bulk_plan.h"
#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/partition.h"
#include "ir/make.h"

namespace tilecopy::planner {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

class Lowering {
 public:
  Lowering(const BulkPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    return whole_or_ragged(site_,
                           [this](bool ragged) { return ragged ? ragged_tile() : whole_tile(); });
  }

 private:
  // ---- Whole tiles ----

  ir::Stmt whole_tile() {
    std::vector<ir::Stmt> issue;
    if (plan_.load) issue.push_back(expect(plan_.barrier_bytes));
    issue.push_back(runs());
    if (!plan_.load) issue.push_back(ir::make_instr("cuda.bulk_commit", {}, where_));
    std::vector<ir::Stmt> body = {by_one_thread(site_, ir::make_block(std::move(issue), where_))};
    if (plan_.head > 0) body.push_back(peeled(0, plan_.head));
    if (plan_.tail > 0) body.push_back(peeled(plan_.run - plan_.tail, plan_.run));
    return body.size() == 1 ? body[0] : ir::make_block(std::move(body), where_);
  }

  // A wait for the mbarrier needs one arrival on every path, also where nothing is to come.
  ir::Stmt expect(std::int64_t bytes) const {
    return ir::make_instr("cuda.expect_tx", {mbarrier(), make_int(bytes)}, where_);
  }

  ir::Address mbarrier() const { return {site_.simt->mbarriers, plan_.mbarrier}; }

  ir::Stmt runs() {
    std::vector<Expr> loops(site_.axes.size(), make_int(0));
    std::vector<Var> vars;
    for (std::size_t k : plan_.row_axes) {
      Var var(fmt::format("i{}", k), int64);
      facts_.bind_loop(var, make_int(0), site_.axes[k].extent);
      loops[k] = var;
      vars.push_back(var);
    }
    ir::Stmt body = one_run(loops);
    for (std::size_t i = plan_.row_axes.size(); i-- > 0;) {
      body = ir::make_for(ir::LoopKind::serial, vars[i], make_int(0),
                          site_.axes[plan_.row_axes[i]].extent, body, where_);
    }
    return body;
  }

  ir::Stmt one_run(const std::vector<Expr>& loops) const {
    auto place = [&](bool of_src) {
      const Buffer& buffer = of_src ? site_.src->buffer : site_.dst.buffer;
      Expr offset = plus(site_.offset(of_src, loops), make_int(plan_.head));
      return ir::Address{buffer, facts_.simplify(offset)};
    };
    std::int64_t size = plan_.body() * bytes(site_.dst.buffer.dtype());
    std::vector<ir::InstrOperand> operands = {place(false), place(true), make_int(size)};
    if (plan_.load) operands.emplace_back(mbarrier());
    if (plan_.policy.defined()) operands.emplace_back(plan_.policy);
    std::string name = plan_.load ? "cuda.bulk_load" : "cuda.bulk_store";
    if (plan_.policy.defined()) name += "_hint";
    return ir::make_instr(name, std::move(operands), where_);
  }

  // Elements [from, to) of the only run, fewer than 16: one for each of the first threads.
  ir::Stmt peeled(std::int64_t from, std::int64_t to) {
    Partition partition = Partition::linear({make_int(to - from)}, {0}, site_.simt->threads, 1);
    return dealt(partition, [&](const Group& group, NamedBlock& block) {
      std::vector<Expr> loops(site_.axes.size(), make_int(0));
      Expr rest = plus(group.loops[0], make_int(from));
      for (std::size_t k : plan_.run_axes) {
        const Expr& extent = site_.axes[k].extent;
        loops[k] = facts_.simplify(make_binary(BinaryOp::mod, rest, extent));
        rest = make_binary(BinaryOp::div, rest, extent);
      }
      block.add(element(loops, false));
    });
  }

  // ---- Tiles of which a part is out of bounds ----

  ir::Stmt ragged_tile() {
    ir::Stmt control = plan_.load ? expect(0) : ir::make_instr("cuda.bulk_commit", {}, where_);
    std::vector<Expr> extents;
    for (const Axis& axis : site_.axes) extents.push_back(axis.extent);
    std::vector<std::size_t> order = plan_.row_axes;
    order.insert(order.end(), plan_.run_axes.rbegin(), plan_.run_axes.rend());
    Partition partition =
        Partition::linear(std::move(extents), std::move(order), site_.simt->threads, 1);
    ir::Stmt elements = dealt(partition, [&](const Group& group, NamedBlock& block) {
      std::vector<Expr> loops = group.loops;
      for (Expr& loop : loops) loop = block.name("i", loop);
      block.add(element(loops, true));
    });
    return ir::make_block({by_one_thread(site_, control), elements}, where_);
  }

  // Rounds of the threads; `body` adds the statements for one group.
  ir::Stmt dealt(const Partition& partition,
                 const std::function<void(const Group&, NamedBlock&)>& body) {
    facts_ = *site_.facts;
    Expr count = facts_.simplify(partition.rounds());
    bool once = ir::is_const_int(count, 1);
    Var r("r", int64);
    if (!once) facts_.bind_loop(r, make_int(0), count);
    Group group = partition.group(site_.simt->thread, once ? make_int(0) : Expr(r), facts_);
    NamedBlock block(facts_, where_);
    body(group, block);
    ir::Stmt round = block.take();
    if (group.exists.defined()) round = ir::make_if(group.exists, round, nullptr, where_);
    if (once) return round;
    return ir::make_for(ir::LoopKind::serial, r, make_int(0), count, round, where_);
  }

  ir::Stmt element(const std::vector<Expr>& loops, bool guarded) const {
    auto offset = [&](bool of_src) { return facts_.simplify(site_.offset(of_src, loops)); };
    Expr value = ir::make_load(site_.src->buffer, {offset(true)});
    if (Expr src = guarded ? inside(true, loops) : Expr(); src.defined()) {
      value = ir::make_select(src, value, site_.safe);
    }
    ir::Stmt store = ir::make_store(site_.dst.buffer, {offset(false)}, value, where_);
    Expr dst = guarded ? inside(false, loops) : Expr();
    return dst.defined() ? ir::make_if(dst, store, nullptr, where_) : store;
  }

  // Undefined when always true.
  Expr inside(bool of_src, const std::vector<Expr>& loops) const {
    std::vector<Expr> conditions = of_src ? site_.src_conditions : site_.dst_conditions;
    for (std::size_t k = 0; k < site_.axes.size(); ++k) {
      const Span& span = (of_src ? *site_.axes[k].src : site_.axes[k].dst).inside;
      if (span.whole) continue;
      conditions.push_back(make_binary(BinaryOp::ge, loops[k], span.begin));
      conditions.push_back(make_binary(BinaryOp::lt, loops[k], span.end));
    }
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      Expr simple = facts_.simplify(condition);
      if (!ir::is_const_int(simple, 1)) open.push_back(simple);
    }
    return all_of(open);
  }

  const BulkPlan& plan_;
  const Site& site_;
  ir::Facts facts_;  ///< the site's, and those of our loops and names
  Location where_;
};

}  // namespace

ir::Stmt lower_bulk(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const BulkPlan&>(plan), site).lower();
}

}  // namespace tilecopy::planner
