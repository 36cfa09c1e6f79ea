// Copies between global and shared memory by cp.async.bulk: runs of bytes that are contiguous on
// both sides, asked for by one thread. Needs no tensor map. What a run has before its first and
// after its last multiple of 16 bytes is copied by the threads, as are tiles that are not whole.
#include <fmt/format.h>

#include <algorithm>

#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/partition.h"
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
// cp.async by all threads.
constexpr std::int64_t least_run_bytes = 512;
constexpr std::int64_t least_single_run_bytes = 1024;
constexpr std::int64_t most_runs = 63;
// The transaction count of an mbarrier phase is at most this. PTX ISA, mbarrier.
constexpr std::int64_t most_barrier_bytes = (std::int64_t{1} << 20) - 1;

struct BulkPlan : Plan {
  std::vector<std::size_t> run_axes;  ///< what one run covers, innermost first
  std::vector<std::size_t> row_axes;  ///< the others: a run for each of their indices
  std::int64_t run = 1;               ///< elements
  std::int64_t head = 0, tail = 0;    ///< elements of a single run that threads copy
  Expr policy;

  std::int64_t body() const { return run - head - tail; }
};

bool is_load(const Site& site) { return site.dst.buffer.scope() == Scope::shared; }

class Planner {
 public:
  Planner(const Site& site, Rules& rules)
      : site_(site), rules_(rules), element_(bytes(site.dst.buffer.dtype())) {}

  std::unique_ptr<Plan> plan() {
    if (!require_tma_unit(site_, rules_) || !operands() || !sizes()) return nullptr;
    plan_ = std::make_unique<BulkPlan>();
    merge();
    if (!worth_it() || !aligned()) return nullptr;
    std::int64_t total = rows_ * plan_->body() * element_;
    if (!rules_.require("barrier_bytes", total <= most_barrier_bytes,
                        fmt::format("at most {} bytes", most_barrier_bytes),
                        fmt::format("{} bytes", total), "use a smaller tile")) {
      return nullptr;
    }
    if (is_load(site_)) plan_->barrier_bytes = total;
    plan_->policy = cache_policy(site_);
    describe();
    plan_->guards = rules_.proof().guards();
    return std::move(plan_);
  }

 private:
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
           rules_.require("source_written",
                          !is_load(site_) || !site_.simt->written.contains(src.node()),
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
    std::int64_t size = plan_->run * element_;
    if (plan_->row_axes.empty()) {
      return rules_.require("run_bytes", size >= least_single_run_bytes,
                            fmt::format("{} bytes or more", least_single_run_bytes),
                            fmt::format("one run of {} bytes", size), "use a larger tile");
    }
    return rules_.require("run_bytes", size >= least_run_bytes,
                          fmt::format("runs of {} bytes or more", least_run_bytes),
                          fmt::format("{} runs of {} bytes", rows_, size),
                          "use a wider tile, as wide as the tensor at best") &&
           rules_.require("runs", rows_ <= most_runs, fmt::format("at most {} runs", most_runs),
                          fmt::format("{} runs", rows_), "use a tile of fewer rows");
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
    if (is_load(site_)) add("barrier_bytes", fmt::format("{}", plan_->barrier_bytes));
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

// Everything below executes a plan.
class Lowering {
 public:
  Lowering(const BulkPlan& plan, const Site& site)
      : plan_(plan), site_(site), facts_(*site.facts), where_(site.op->where) {}

  ir::Stmt lower() {
    std::vector<Expr> conditions;
    for (bool of_src : {true, false}) {
      if (Expr whole = whole_condition(site_, of_src); whole.defined()) conditions.push_back(whole);
    }
    ir::Stmt body = whole_tile();
    Expr whole = all_of(conditions);
    return whole.defined() ? ir::make_if(whole, body, ragged_tile(), where_) : body;
  }

 private:
  // ---- Whole tiles ----

  ir::Stmt whole_tile() {
    std::vector<ir::Stmt> issue;
    if (is_load(site_)) issue.push_back(expect(plan_.barrier_bytes));
    issue.push_back(runs());
    if (!is_load(site_)) issue.push_back(ir::make_instr("cuda.bulk_commit", {}, where_));
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
    if (is_load(site_)) operands.emplace_back(mbarrier());
    if (plan_.policy.defined()) operands.emplace_back(plan_.policy);
    std::string name = is_load(site_) ? "cuda.bulk_load" : "cuda.bulk_store";
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
    ir::Stmt control = is_load(site_) ? expect(0) : ir::make_instr("cuda.bulk_commit", {}, where_);
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

std::unique_ptr<Plan> plan_bulk(const Site& site, Rules& rules) {
  return Planner(site, rules).plan();
}

ir::Stmt lower_bulk(const Plan& plan, const Site& site) {
  return Lowering(static_cast<const BulkPlan&>(plan), site).lower();
}

}  // namespace

const Method bulk = {"bulk", plan_bulk, lower_bulk};

}  // namespace tilecopy::planner
