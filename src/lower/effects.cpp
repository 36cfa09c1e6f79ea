#include "lower/effects.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/parts.h"
#include "ir/walk.h"

namespace tilecopy::lower {

using isa::Effect;

bool Place::overlaps(const Place& other) const {
  if (scope != other.scope) return false;
  if (scope != Scope::shared) return buffer == other.buffer;
  return begin < other.end && other.begin < end;
}

bool Effects::has(Effect effect) const {
  return std::any_of(accesses.begin(), accesses.end(),
                     [&](const MemoryAccess& a) { return a.effect == effect; });
}

Place EffectReader::place_of(const Buffer& buffer) const {
  Place place{buffer.node(), buffer.scope(), 0, 0};
  if (buffer.scope() == Scope::shared) {
    place.begin = memory_.offsets.at(buffer.node());
    place.end = place.begin + memory_.sizes.at(buffer.node());
  }
  return place;
}

Place EffectReader::mbarrier_place(const ir::Address& mbarrier) const {
  Place place = place_of(mbarrier.buffer);
  if (auto index = ir::const_int(mbarrier.offset)) {
    place.begin += *index * bytes(mbarrier.buffer.dtype());
    place.end = place.begin + bytes(mbarrier.buffer.dtype());
  }
  return place;
}

void EffectReader::add(const Buffer& buffer, bool write, bool one_thread, Effect effect,
                       Effects& effects) const {
  if (buffer.scope() == Scope::local) return;  // of one thread
  MemoryAccess access{place_of(buffer), write, one_thread, effect};
  if (std::find(effects.accesses.begin(), effects.accesses.end(), access) ==
      effects.accesses.end()) {
    effects.accesses.push_back(access);
  }
}

void EffectReader::add_loads(const Expr& e, bool one_thread, Effects& effects) const {
  ir::for_each_expr(e, [&](const Expr& part) {
    if (const auto* load = ir::as<ir::Load>(part)) {
      add(load->buffer, false, one_thread, Effect::ordinary, effects);
    }
  });
}

bool EffectReader::is_first_thread(const Expr& condition) const {
  const auto* b = ir::as<ir::Binary>(condition);
  return b && b->op == ir::BinaryOp::eq && b->a.node() == thread_.node() &&
         ir::is_const_int(b->b, 0);
}

void EffectReader::read_instr(const ir::Instr& instr, bool one_thread, Effects& effects) const {
  const isa::InstrRow* row = isa::find_instruction(instr.name);
  if (!row) raise_internal("unknown instruction " + instr.name, instr.where);
  for (std::size_t i = 0; i < instr.operands.size(); ++i) {
    const auto* address = std::get_if<ir::Address>(&instr.operands[i]);
    switch (row->operands[i]) {
      case 'w': add(address->buffer, true, one_thread, row->effect, effects); break;
      case 'r': {
        // The source of a load into registers or by cp.async is read before the write lands; that
        // of a tx load is a tensor that the kernel does not write.
        add(address->buffer, false, one_thread, row->effect, effects);
        break;
      }
      case 'b': {
        // Arriving needs no order with the waits of its own phase, only with those of the last one;
        // nothing may touch an mbarrier before it is initialised.
        bool init = instr.name == "cuda.mbarrier_init";
        effects.accesses.push_back({mbarrier_place(*address), true, one_thread,
                                    init ? Effect::ordinary : Effect::control});
        if (row->effect == Effect::tx_load) effects.mbarriers.push_back(*address);
        break;
      }
      case 'm': {
        const auto& map = std::get<Expr>(instr.operands[i]);
        auto tensor = maps_.find(map.node());
        if (tensor != maps_.end()) {
          add(tensor->second, row->effect == Effect::bulk_store, one_thread, row->effect, effects);
        }
        break;
      }
      default: break;
    }
    if (address) {
      add_loads(address->offset, one_thread, effects);
    } else {
      add_loads(std::get<Expr>(instr.operands[i]), one_thread, effects);
    }
  }
}

void EffectReader::read(const ir::Stmt& s, bool one_thread, Effects& effects) const {
  if (const auto* instr = ir::as<ir::Instr>(s)) return read_instr(*instr, one_thread, effects);
  ir::for_each_direct_expr(*s, [&](const Expr& e) { add_loads(e, one_thread, effects); });
  if (const auto* store = ir::as<ir::Store>(s)) {
    add(store->buffer, true, one_thread, Effect::ordinary, effects);
  }
  if (const auto* branch = ir::as<ir::If>(s); branch && is_first_thread(branch->condition)) {
    read(branch->then_body, true, effects);
    if (branch->else_body) read(branch->else_body, false, effects);
    return;
  }
  for (const ir::Stmt& body : ir::parts_of(*s).bodies) read(body, one_thread, effects);
}

Effects EffectReader::of(const ir::Stmt& s) const {
  Effects effects;
  read(s, false, effects);
  return effects;
}

Effects EffectReader::of_header(const ir::StmtNode& s) const {
  Effects effects;
  ir::for_each_direct_expr(s, [&](const Expr& e) { add_loads(e, false, effects); });
  return effects;
}

}  // namespace tilecopy::lower
