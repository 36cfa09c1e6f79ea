// Rewrites a tile-level kernel for the threads of a block. Input promise: verified, one decision
// per tile operation. Output promise: device-level statements only, every access in bounds or
// guarded, and waits where other threads' or the async proxy's accesses come before.
#include <fmt/format.h>

#include "copy/cuda_common.h"
#include "copy/host_row.h"
#include "copy/partition.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "lower/access.h"
#include "lower/lower.h"
#include "lower/waits.h"

namespace tilecopy::lower {
namespace {

using ir::BinaryOp;
using ir::make_binary;
using ir::make_int;

constexpr std::int64_t mbarrier_bytes = 8;

bool reads_buffer(const Expr& e) {
  bool reads = false;
  ir::for_each_expr(e, [&](const Expr& part) { reads |= ir::as<ir::Load>(part) != nullptr; });
  return reads;
}

class SimtLowering {
 public:
  SimtLowering(const std::vector<planner::Decision>& decisions, const planner::Simt& simt,
               const ir::Facts& facts, const planner::Layouts& layouts)
      : decisions_(decisions),
        simt_(simt),
        facts_(facts),
        layouts_(layouts),
        access_(facts, layouts) {}

  // A statement of uniform control flow.
  ir::Stmt uniform(const ir::Stmt& s) {
    switch (s->kind) {
      case ir::StmtKind::Block: {
        std::vector<ir::Stmt> body;
        for (const ir::Stmt& part : ir::get<ir::Block>(s).body) body.push_back(uniform(part));
        return mark(ir::make_block(std::move(body), s->where));
      }
      case ir::StmtKind::Alloc: return alloc(ir::get<ir::Alloc>(s));
      case ir::StmtKind::For: return for_loop(ir::get<ir::For>(s));
      case ir::StmtKind::If: return if_branch(ir::get<ir::If>(s));
      case ir::StmtKind::Store: return store(ir::get<ir::Store>(s));
      case ir::StmtKind::Parallel: return parallel(ir::get<ir::Parallel>(s));
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill: return tile_op(static_cast<const ir::TileOp&>(*s));
      case ir::StmtKind::Let:
      case ir::StmtKind::TensorMap:
      case ir::StmtKind::Instr: return s;
    }
    return s;
  }

  const std::set<const ir::StmtNode*>& uniform_statements() const { return uniform_; }
  ir::Stmt mark(ir::Stmt s) {
    uniform_.insert(s.get());
    return s;
  }

 private:
  ir::Stmt alloc(const ir::Alloc& a) {
    auto result = std::make_shared<ir::Alloc>(a);
    result->fragment.reset();
    auto registers = simt_.registers.find(a.buffer.node());
    if (registers != simt_.registers.end()) {
      result->buffer = registers->second;
      result->layout.reset();
    }
    return result;
  }

  // A value that is read once, before what follows changes it.
  Expr named(const Expr& e, std::vector<ir::Stmt>& before, Location where) {
    Expr value = access_.expr(e);
    if (!reads_buffer(value)) return value;
    Var var("value", value.dtype());
    before.push_back(ir::make_let(var, value, where));
    return var;
  }

  ir::Stmt with(std::vector<ir::Stmt> before, ir::Stmt s) {
    if (before.empty()) return s;
    Location where = s->where;
    before.push_back(std::move(s));
    return mark(ir::make_block(std::move(before), where));
  }

  ir::Stmt for_loop(const ir::For& loop) {
    std::vector<ir::Stmt> before;
    Expr begin = named(loop.begin, before, loop.where);
    Expr end = named(loop.end, before, loop.where);
    ir::Stmt result =
        mark(ir::make_for(loop.loop, loop.var, begin, end, uniform(loop.body), loop.where));
    return with(std::move(before), std::move(result));
  }

  ir::Stmt if_branch(const ir::If& branch) {
    std::vector<ir::Stmt> before;
    Expr condition = named(branch.condition, before, branch.where);
    ir::Stmt result =
        mark(ir::make_if(condition, uniform(branch.then_body),
                         branch.else_body ? uniform(branch.else_body) : nullptr, branch.where));
    return with(std::move(before), std::move(result));
  }

  // One store of the whole block: by one thread, or in every thread's own copy of a local tile.
  ir::Stmt store(const ir::Store& s) {
    ir::Stmt result = access_.store(s);
    if (s.buffer.scope() == Scope::local) return result;
    return ir::make_if(make_binary(BinaryOp::eq, simt_.thread, make_int(0)), result, nullptr,
                       s.where);
  }

  ir::Stmt tile_op(const ir::TileOp& op) {
    const planner::Decision& decision = decisions_[static_cast<std::size_t>(op.id)];
    std::vector<ir::Stmt> body = decision.prologue;
    body.push_back(decision.plan->method->lower(*decision.plan, decision.site));
    return mark(ir::make_block(std::move(body), op.where));
  }

  // The first fragment that the loop reads or writes: its elements are the loop's iterations.
  Buffer held_fragment(const ir::Parallel& loop) const {
    Buffer found;
    auto look = [&](const Buffer& buffer) {
      if (!found.defined() && simt_.fragments.contains(buffer.node())) found = buffer;
    };
    ir::for_each_stmt(loop.body, [&](const ir::Stmt& s) {
      if (const auto* store = ir::as<ir::Store>(s)) look(store->buffer);
      ir::for_each_direct_expr(*s, [&](const Expr& e) {
        ir::for_each_expr(e, [&](const Expr& part) {
          if (const auto* load = ir::as<ir::Load>(part)) look(load->buffer);
        });
      });
    });
    return found;
  }

  planner::Partition partition(const ir::Parallel& loop, const Buffer& held,
                               const std::vector<Expr>& extents) const {
    std::vector<int> dims;
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      dims.push_back(static_cast<int>(d));
      order.push_back(d);
    }
    std::vector<Expr> origin(extents.size(), make_int(0));
    auto share = [&](const Fragment& fragment) {
      return planner::Partition::of_fragment(fragment, dims, origin, extents, 1, simt_.threads);
    };
    if (held.defined()) return share(simt_.fragments.at(held.node()));
    const auto& layout = loop.hints.loop_layout;
    if (layout && layout->is_bijective() && layout->shape().size() == extents.size()) {
      return share(*layout);
    }
    return planner::Partition::linear(extents, order, simt_.threads, 1);
  }

  ir::Stmt parallel(const ir::Parallel& loop) {
    Buffer held = held_fragment(loop);
    std::vector<Expr> extents = access_.exprs(loop.extents);
    planner::Partition partition = this->partition(loop, held, extents);
    ir::Facts facts = facts_;
    Expr rounds = facts.simplify(partition.rounds());
    Var r("r", int64);
    facts.bind_loop(r, make_int(0), rounds);
    planner::Group group = partition.group(simt_.thread, r, facts);

    Registers registers;
    for (const auto& [node, buffer] : simt_.registers) registers[node] = {buffer, group.reg};
    AccessLowering access(facts_, layouts_, held.defined() ? registers : Registers{});
    std::vector<ir::Stmt> body;
    for (std::size_t d = 0; d < loop.vars.size(); ++d) {
      body.push_back(ir::make_let(loop.vars[d], group.loops[d], loop.where));
    }
    ir::Stmt iteration = element(loop.body, access);
    if (group.exists.defined()) {
      iteration = ir::make_if(group.exists, iteration, nullptr, loop.where);
    }
    body.push_back(iteration);
    auto count = ir::const_int(rounds);
    bool unroll = count && (held.defined() || *count <= 8);
    return ir::make_for(unroll ? ir::LoopKind::unrolled : ir::LoopKind::serial, r, make_int(0),
                        rounds, ir::make_block(std::move(body), loop.where), loop.where);
  }

  // A statement of one iteration of a parallel loop.
  ir::Stmt element(const ir::Stmt& s, const AccessLowering& access) const {
    switch (s->kind) {
      case ir::StmtKind::Block: {
        std::vector<ir::Stmt> body;
        for (const ir::Stmt& part : ir::get<ir::Block>(s).body) {
          body.push_back(element(part, access));
        }
        return ir::make_block(std::move(body), s->where);
      }
      case ir::StmtKind::For: {
        const auto& loop = ir::get<ir::For>(s);
        return ir::make_for(loop.loop, loop.var, access.expr(loop.begin), access.expr(loop.end),
                            element(loop.body, access), loop.where);
      }
      case ir::StmtKind::If: {
        const auto& branch = ir::get<ir::If>(s);
        return ir::make_if(access.expr(branch.condition), element(branch.then_body, access),
                           branch.else_body ? element(branch.else_body, access) : nullptr,
                           branch.where);
      }
      case ir::StmtKind::Store: return access.store(ir::get<ir::Store>(s));
      case ir::StmtKind::Alloc:
      case ir::StmtKind::Parallel:
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill:
      case ir::StmtKind::Let:
      case ir::StmtKind::TensorMap:
      case ir::StmtKind::Instr: return s;
    }
    return s;
  }

  const std::vector<planner::Decision>& decisions_;
  const planner::Simt& simt_;
  const ir::Facts& facts_;
  const planner::Layouts& layouts_;
  AccessLowering access_;
  std::set<const ir::StmtNode*> uniform_;
};

// The mbarriers of a kernel, each for one arrival, made known to the TMA unit.
ir::Stmt init_mbarriers(const planner::Simt& simt, std::int64_t count, Location where) {
  std::vector<ir::Stmt> body;
  for (std::int64_t i = 0; i < count; ++i) {
    body.push_back(ir::make_instr("cuda.mbarrier_init",
                                  {ir::Address{simt.mbarriers, make_int(i)}, make_int(1)}, where));
  }
  body.push_back(ir::make_instr("cuda.mbarrier_fence", {}, where));
  return ir::make_if(make_binary(BinaryOp::eq, simt.thread, make_int(0)),
                     ir::make_block(std::move(body), where), nullptr, where);
}

Buffer make_tile(const char* name, DType dtype, Scope scope, std::int64_t elements) {
  auto node = std::make_shared<ir::BufferNode>();
  node->name = name;
  node->dtype = dtype;
  node->scope = scope;
  node->shape = {make_int(elements)};
  return Buffer(std::move(node));
}

ir::Stmt make_alloc(const Buffer& buffer) {
  auto alloc = ir::make_stmt<ir::Alloc>({});
  alloc->buffer = buffer;
  return alloc;
}

const ir::BufferNode* written_by(const ir::Stmt& s) {
  if (const auto* store = ir::as<ir::Store>(s)) return store->buffer.node();
  if (const auto* copy = ir::as<ir::Copy>(s)) return copy->dst.buffer.node();
  if (const auto* transpose = ir::as<ir::Transpose>(s)) return transpose->dst.buffer.node();
  if (const auto* fill = ir::as<ir::Fill>(s)) return fill->dst.buffer.node();
  if (const auto* im2col = ir::as<ir::Im2col>(s)) return im2col->col.buffer.node();
  return nullptr;
}

}  // namespace

planner::Simt make_simt(const ir::Kernel& kernel, const planner::Fragments& fragments) {
  planner::Simt simt;
  simt.thread = Var("thread", int64);
  simt.threads = kernel.threads;
  simt.fragments = fragments;
  std::int64_t operations = 0;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    if (const auto* alloc = ir::as<ir::Alloc>(s)) {
      auto fragment = fragments.find(alloc->buffer.node());
      if (fragment == fragments.end()) return;
      simt.registers[alloc->buffer.node()] =
          make_tile(alloc->buffer.name().c_str(), alloc->buffer.dtype(), Scope::local,
                    fragment->second.registers());
    }
    if (const auto* node = written_by(s)) simt.written.insert(node);
    operations += s->kind == ir::StmtKind::Copy || s->kind == ir::StmtKind::Im2col;
  });
  simt.mbarriers =
      make_tile("mbarriers", uint64, Scope::shared, std::max<std::int64_t>(operations, 1));
  return simt;
}

planner::Assumptions usual_assumptions(const ir::Kernel& kernel, const ir::Facts& facts) {
  planner::Assumptions result{facts, {}};
  std::map<const ir::ExprNode*, std::size_t> index;
  auto assume = [&](const Expr& e, int element) {
    const auto* var = ir::as<ir::VarNode>(e);
    if (!var || !var->symbol) return;
    std::int64_t divisor = std::max(16 / element, 1);
    auto [it, added] = index.try_emplace(e.node(), result.multiples.size());
    if (added) {
      result.multiples.emplace_back(Var(e), divisor);
    } else {
      std::int64_t& known = result.multiples[it->second].second;
      known = std::max(known, divisor);
    }
  };
  for (const ir::Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor || tensor->rank() == 0) continue;
    int element = bytes(tensor->dtype());
    const std::vector<Expr>& strides = tensor->node()->strides;
    if (strides.empty()) assume(tensor->shape().back(), element);
    for (const Expr& stride : strides) assume(stride, element);
  }
  for (const auto& [symbol, divisor] : result.multiples) result.facts.bind_divisor(symbol, divisor);
  return result;
}

SimtKernel to_simt(const ir::Kernel& kernel, std::vector<planner::Decision>& decisions,
                   const planner::Simt& simt, const ir::Facts& facts,
                   const planner::Layouts& layouts, const target::Target& target) {
  std::int64_t barriers = 0;
  std::vector<ir::Stmt> top;
  for (planner::Decision& decision : decisions) {
    for (const auto& map : decision.plan->tensor_maps) top.push_back(map);
    if (decision.plan->barrier_bytes > 0) decision.plan->mbarrier = make_int(barriers++);
  }
  SharedMemory memory = place_shared(kernel, layouts, barriers > 0 ? simt.mbarriers : Buffer(),
                                     barriers * mbarrier_bytes, target::most_shared_bytes(target));
  if (barriers > 0) {
    top.push_back(make_alloc(simt.mbarriers));
    top.push_back(init_mbarriers(simt, barriers, kernel.where));
  }
  SimtLowering lowering(decisions, simt, facts, layouts);
  top.push_back(lowering.uniform(kernel.body));
  ir::Stmt body = lowering.mark(ir::make_block(std::move(top), kernel.where));

  SimtKernel result;
  result.kernel = kernel;
  result.kernel.level = ir::Level::device;
  result.kernel.thread = simt.thread;
  result.kernel.body = insert_waits(body, lowering.uniform_statements(), simt.thread, memory);
  result.shared_offsets = std::move(memory.offsets);
  result.shared_bytes = memory.bytes;
  result.launch_shared_bytes = limit_residency(kernel, decisions, memory.bytes, target);
  return result;
}

}  // namespace tilecopy::lower
