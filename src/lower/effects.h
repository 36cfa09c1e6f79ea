// What a unit of a SIMT kernel does to memory.
#pragma once

#include <set>
#include <vector>

#include "ir/node.h"
#include "isa/isa.h"
#include "lower/place_shared.h"

namespace tilecopy::lower {

/// Memory that accesses conflict over: a tensor, an interval of shared memory, or one mbarrier.
struct Place {
  const ir::BufferNode* buffer = nullptr;
  Scope scope = Scope::global;
  std::int64_t begin = 0, end = 0;  ///< in shared memory, in bytes

  bool overlaps(const Place& other) const;
  bool operator==(const Place&) const = default;
};

struct MemoryAccess {
  Place place;
  bool write = false;
  bool one_thread = false;  ///< by thread 0 alone
  isa::Effect effect = isa::Effect::ordinary;

  bool operator==(const MemoryAccess&) const = default;
};

struct Effects {
  std::vector<MemoryAccess> accesses;
  /// The mbarriers of tx loads.
  std::vector<ir::Address> mbarriers;

  bool has(isa::Effect effect) const;
};

class EffectReader {
 public:
  EffectReader(const Var& thread, const SharedMemory& memory) : thread_(thread), memory_(memory) {}

  /// Remembers the tensor that a tensor map stands for.
  void learn(const ir::TensorMap& map) { maps_[map.var.node()] = map.tensor; }
  Effects of(const ir::Stmt& s) const;
  /// Of the expressions that the statement itself holds.
  Effects of_header(const ir::StmtNode& s) const;
  Place place_of(const Buffer& buffer) const;
  Place mbarrier_place(const ir::Address& mbarrier) const;

 private:
  void read(const ir::Stmt& s, bool one_thread, Effects& effects) const;
  void read_instr(const ir::Instr& instr, bool one_thread, Effects& effects) const;
  void add(const Buffer& buffer, bool write, bool one_thread, isa::Effect effect,
           Effects& effects) const;
  void add_loads(const Expr& e, bool one_thread, Effects& effects) const;
  bool is_first_thread(const Expr& condition) const;

  Var thread_;
  const SharedMemory& memory_;
  std::map<const ir::ExprNode*, Buffer> maps_;
};

}  // namespace tilecopy::lower
