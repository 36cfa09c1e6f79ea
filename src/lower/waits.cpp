#include "lower/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/make.h"
#include "ir/parts.h"
#include "lower/effects.h"

namespace tilecopy::lower {
namespace {

using ir::make_int;
using isa::Effect;

// An asynchronous unit that nothing has waited for.
struct Pending {
  Effect effect;
  std::vector<MemoryAccess> accesses;  ///< those that are under way
  std::vector<ir::Address> mbarriers;  ///< of a tx load
  bool has_read = false;               ///< a bulk store whose sources may be written again
  Location where;
};

// What later accesses have to wait for.
struct State {
  std::vector<MemoryAccess> unsynced;  ///< by threads since the last barrier
  std::vector<Place> unfenced;         ///< written by threads since the last proxy fence
  std::vector<Pending> pending;        ///< oldest first

  /// Adds what may have happened on another path; both have nothing pending but what began outside.
  bool merge(const State& other) {
    bool grown = false;
    for (const MemoryAccess& a : other.unsynced) grown |= insert(unsynced, a);
    for (const Place& p : other.unfenced) grown |= insert(unfenced, p);
    return grown;
  }

  template <typename T>
  static bool insert(std::vector<T>& list, const T& item) {
    if (std::find(list.begin(), list.end(), item) != list.end()) return false;
    list.push_back(item);
    return true;
  }
};

bool conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.write || b.write) && a.place.overlaps(b.place);
}

bool by_async_proxy(Effect effect) {
  return effect == Effect::tx_load || effect == Effect::bulk_store;
}

class WaitInserter {
 public:
  WaitInserter(const std::set<const ir::StmtNode*>& uniform, const Var& thread,
               const SharedMemory& memory)
      : uniform_(uniform), reader_(thread, memory) {}

  ir::Stmt kernel(const ir::Stmt& body) {
    std::vector<ir::Stmt> out;
    list(body, out);
    // Phases live for the whole kernel.
    out.insert(out.begin(), phases_.begin(), phases_.end());
    return ir::make_block(std::move(out), body->where);
  }

 private:
  // The statements of a uniform body, with waits, and at its end those for what it began. What is
  // under way outside does not conflict with anything inside.
  void list(const ir::Stmt& body, std::vector<ir::Stmt>& out) {
    std::vector<Pending> outside = std::move(state_.pending);
    state_.pending.clear();
    const auto* block = ir::as<ir::Block>(body);
    if (block && uniform_.contains(body.get())) {
      // Within the block, whose names the waits use.
      std::vector<ir::Stmt> inner;
      for (const ir::Stmt& part : block->body) statements(part, inner);
      drain(inner);
      out.push_back(ir::make_block(std::move(inner), block->where));
    } else {
      statements(body, out);
      drain(out);
    }
    state_.pending = std::move(outside);
  }

  // A block inside of a list flows together with what surrounds it: waits use no names of a block.
  void statements(const ir::Stmt& s, std::vector<ir::Stmt>& out) {
    const auto* block = ir::as<ir::Block>(s);
    if (!block || !uniform_.contains(s.get())) return statement(s, out);
    std::vector<ir::Stmt> inner;
    for (const ir::Stmt& part : block->body) statements(part, inner);
    out.push_back(ir::make_block(std::move(inner), block->where));
  }

  void statement(const ir::Stmt& s, std::vector<ir::Stmt>& out) {
    if (const auto* map = ir::as<ir::TensorMap>(s)) reader_.learn(*map);
    if (const auto* loop = ir::as<ir::For>(s); loop && uniform_.contains(s.get())) {
      return for_loop(*loop, out);
    }
    if (const auto* branch = ir::as<ir::If>(s); branch && uniform_.contains(s.get())) {
      return if_branch(*branch, out);
    }
    unit(s, out);
  }

  void unit(const ir::Stmt& s, std::vector<ir::Stmt>& out) {
    Effects effects = reader_.of(s);
    settle(effects.accesses, s->where, out);
    out.push_back(s);
    begin(effects, s->where);
  }

  void for_loop(const ir::For& loop, std::vector<ir::Stmt>& out) {
    settle(reader_.of_header(loop).accesses, loop.where, out);
    wait_for_conflicts(reader_.of(loop.body).accesses, loop.where, out);
    ++loop_depth_;
    std::vector<ir::Stmt> body;
    State entry = state_;
    // The state in which an iteration begins holds what any earlier one left.
    for (;;) {
      body.clear();
      std::size_t phases = phases_.size();
      state_ = entry;
      list(loop.body, body);
      State end = state_;
      bool grown = entry.merge(end);
      if (!grown) break;
      phases_.resize(phases);
    }
    --loop_depth_;
    state_ = entry;
    out.push_back(ir::make_for(loop.loop, loop.var, loop.begin, loop.end,
                               ir::make_block(std::move(body), loop.where), loop.where));
  }

  void if_branch(const ir::If& branch, std::vector<ir::Stmt>& out) {
    settle(reader_.of_header(branch).accesses, branch.where, out);
    std::vector<MemoryAccess> inside = reader_.of(branch.then_body).accesses;
    if (branch.else_body) {
      for (const MemoryAccess& a : reader_.of(branch.else_body).accesses) inside.push_back(a);
    }
    wait_for_conflicts(inside, branch.where, out);
    // A copy in a branch may run any number of times before the next, as in a loop.
    ++loop_depth_;
    State entry = state_;
    std::vector<ir::Stmt> then_body, else_body;
    list(branch.then_body, then_body);
    State then_state = state_;
    state_ = entry;
    if (branch.else_body) list(branch.else_body, else_body);
    state_.merge(then_state);
    --loop_depth_;
    out.push_back(
        ir::make_if(branch.condition, ir::make_block(std::move(then_body), branch.where),
                    branch.else_body ? ir::make_block(std::move(else_body), branch.where) : nullptr,
                    branch.where));
  }

  // ---- Waits ----

  // Everything that accesses have to wait for.
  void settle(const std::vector<MemoryAccess>& accesses, Location where,
              std::vector<ir::Stmt>& out) {
    wait_for_conflicts(accesses, where, out);
    bool barrier = false;
    bool fence = false;
    for (const MemoryAccess& a : accesses) {
      for (const MemoryAccess& u : state_.unsynced) {
        barrier |= conflict(a, u) && !(a.one_thread && u.one_thread);
      }
      if (!by_async_proxy(a.effect)) continue;
      for (const Place& p : state_.unfenced) fence |= a.place.overlaps(p);
    }
    if (fence) {
      out.push_back(ir::make_instr("cuda.fence_async", {}, where));
      state_.unfenced.clear();
    }
    if (barrier || fence) {
      out.push_back(ir::make_instr("cuda.barrier", {}, where));
      state_.unsynced.clear();
    }
  }

  void wait_for_conflicts(const std::vector<MemoryAccess>& accesses, Location where,
                          std::vector<ir::Stmt>& out) {
    for (std::size_t i = 0; i < state_.pending.size();) {
      bool complete = needs_wait(state_.pending[i], accesses, true);
      bool read = needs_wait(state_.pending[i], accesses, false);
      if (complete || (read && !state_.pending[i].has_read)) {
        wait(i, complete, where, out);
        // A store that has only read is pending still.
        if (!complete && state_.pending[i].effect == Effect::bulk_store) {
          ++i;
        }
      } else {
        ++i;
      }
    }
  }

  // Whether accesses conflict with what is under way: with writes, or with any access.
  static bool needs_wait(const Pending& p, const std::vector<MemoryAccess>& accesses,
                         bool to_writes) {
    for (const MemoryAccess& mine : p.accesses) {
      bool store_source = p.effect == Effect::bulk_store && !mine.write;
      if (to_writes && store_source) continue;
      for (const MemoryAccess& a : accesses) {
        if (conflict(mine, a)) return true;
      }
    }
    return false;
  }

  int later(std::size_t i, Effect effect) const {
    int count = 0;
    for (std::size_t k = i + 1; k < state_.pending.size(); ++k) {
      count += state_.pending[k].effect == effect;
    }
    return count;
  }

  // Waits for pending[i]; a bulk store only until it has read, unless `complete`.
  void wait(std::size_t i, bool complete, Location where, std::vector<ir::Stmt>& out) {
    Pending p = state_.pending[i];
    Location at = where.known() ? where : p.where;
    if (p.effect == Effect::tx_load) {
      for (const ir::Address& mbarrier : p.mbarriers) wait_for_phase(mbarrier, at, out);
      state_.pending.erase(state_.pending.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    Expr still = make_int(later(i, p.effect));
    const char* name = p.effect == Effect::cp_async ? "cuda.cp_async_wait"
                       : complete                   ? "cuda.bulk_wait"
                                                    : "cuda.bulk_wait_read";
    out.push_back(ir::make_instr(name, {still}, at));
    // Groups complete in order: the earlier ones are done as well.
    for (std::size_t k = i + 1; k-- > 0;) {
      if (state_.pending[k].effect != p.effect) continue;
      finish(k, p.effect == Effect::cp_async || complete);
    }
  }

  // What pending[i] did is now as if its issuing threads had done it.
  void finish(std::size_t i, bool complete) {
    Pending& p = state_.pending[i];
    for (MemoryAccess a : p.accesses) {
      if (!complete && a.write) continue;
      if (p.has_read && !a.write) continue;
      bool fenced = a.effect == Effect::bulk_store;
      a.effect = Effect::ordinary;
      State::insert(state_.unsynced, a);
      if (a.write && !fenced) State::insert(state_.unfenced, a.place);
    }
    p.has_read = true;
    if (complete) {
      state_.pending.erase(state_.pending.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void wait_for_phase(const ir::Address& mbarrier, Location where, std::vector<ir::Stmt>& out) {
    settle({{reader_.mbarrier_place(mbarrier), false, false, Effect::control}}, where, out);
    // A copy that runs once waits for the first phase.
    if (loop_depth_ == 0) {
      out.push_back(ir::make_instr("cuda.mbarrier_wait", {mbarrier, make_int(0)}, where));
    } else {
      Buffer phase = phase_of(mbarrier, where);
      Expr value = ir::make_load(phase, {make_int(0)});
      out.push_back(
          ir::make_instr("cuda.mbarrier_wait", {mbarrier, ir::make_cast(value, int64)}, where));
      out.push_back(
          ir::make_store(phase, {make_int(0)},
                         ir::make_binary(ir::BinaryOp::bit_xor, value, make_int(1, int32)), where));
    }
    State::insert(state_.unsynced,
                  MemoryAccess{reader_.mbarrier_place(mbarrier), false, false, Effect::ordinary});
  }

  // The parity of the phase that the next wait for the mbarrier is for, in each thread.
  Buffer phase_of(const ir::Address& mbarrier, Location where) {
    std::int64_t index = *ir::const_int(mbarrier.offset);
    auto known = phase_buffers_.find(index);
    Buffer phase;
    if (known != phase_buffers_.end()) {
      phase = known->second;
    } else {
      auto node = std::make_shared<ir::BufferNode>();
      node->name = fmt::format("phase{}", index);
      node->dtype = int32;
      node->scope = Scope::local;
      node->shape = {make_int(1)};
      node->where = where;
      phase = Buffer(std::move(node));
      phase_buffers_.emplace(index, phase);
    }
    bool declared = std::any_of(phases_.begin(), phases_.end(), [&](const ir::Stmt& s) {
      const auto* alloc = ir::as<ir::Alloc>(s);
      return alloc && alloc->buffer.node() == phase.node();
    });
    if (!declared) {
      auto alloc = ir::make_stmt<ir::Alloc>(where);
      alloc->buffer = phase;
      phases_.push_back(alloc);
      phases_.push_back(ir::make_store(phase, {make_int(0)}, make_int(0, int32), where));
    }
    return phase;
  }

  // At the end of a body: waits for what it began. Stores at the end of the kernel need only have
  // read their sources, which vanish with the block; elsewhere the same place may be written next.
  void drain(std::vector<ir::Stmt>& out) {
    bool last = loop_depth_ == 0;
    for (std::size_t i = state_.pending.size(); i-- > 0;) {
      if (i >= state_.pending.size()) continue;  // completed with a later one
      bool store = state_.pending[i].effect == Effect::bulk_store;
      if (!(store && last)) {
        wait(i, true, {}, out);
      } else if (!state_.pending[i].has_read) {
        wait(i, false, {}, out);
      }
    }
    state_.pending.clear();
  }

  // ---- What a unit leaves ----

  void begin(const Effects& effects, Location where) {
    for (Effect effect : {Effect::cp_async, Effect::tx_load, Effect::bulk_store}) {
      if (!effects.has(effect)) continue;
      Pending p{effect, {}, {}, false, where};
      for (const MemoryAccess& a : effects.accesses) {
        // Sources of loads are tensors; they are read before the load completes, which is all that
        // a later writer of the tensor can wait for.
        if (a.effect == effect) p.accesses.push_back(a);
      }
      if (effect == Effect::tx_load) p.mbarriers = unique(effects.mbarriers);
      state_.pending.push_back(std::move(p));
    }
    for (const MemoryAccess& a : effects.accesses) {
      if (a.effect != Effect::ordinary) continue;
      State::insert(state_.unsynced, a);
      if (a.write && a.place.scope == Scope::shared) State::insert(state_.unfenced, a.place);
    }
  }

  static std::vector<ir::Address> unique(const std::vector<ir::Address>& list) {
    std::vector<ir::Address> result;
    for (const ir::Address& a : list) {
      bool known = std::any_of(result.begin(), result.end(), [&](const ir::Address& b) {
        return a.buffer.node() == b.buffer.node() && ir::equal(a.offset, b.offset);
      });
      if (!known) result.push_back(a);
    }
    return result;
  }

  const std::set<const ir::StmtNode*>& uniform_;
  EffectReader reader_;
  State state_;
  int loop_depth_ = 0;
  std::vector<ir::Stmt> phases_;
  std::map<std::int64_t, Buffer> phase_buffers_;
};

}  // namespace

ir::Stmt insert_waits(const ir::Stmt& body, const std::set<const ir::StmtNode*>& uniform,
                      const Var& thread, const SharedMemory& memory) {
  return WaitInserter(uniform, thread, memory).kernel(body);
}

}  // namespace tilecopy::lower
