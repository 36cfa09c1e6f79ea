#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "isa/isa.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

// Per thread. CUDA C++ programming guide, compute capabilities.
constexpr std::int64_t most_local_bytes = std::int64_t{512} << 10;

// INT64_MAX where it is more.
std::int64_t size_of(const ir::Alloc& alloc) {
  std::int64_t size = bytes(alloc.buffer.dtype());
  auto multiply = [&](std::int64_t factor) {
    if (__builtin_mul_overflow(size, factor, &size)) size = INT64_MAX;
  };
  if (alloc.layout) {
    multiply(alloc.layout->cosize());
  } else {
    for (const Expr& extent : alloc.buffer.shape()) multiply(*ir::const_int(extent));
  }
  return size;
}

// Instructions of the catalogue for threads, with operands of the kinds that it names.
class InstructionCheck {
 public:
  void visit(const ir::Stmt& s) {
    if (const auto* map = ir::as<ir::TensorMap>(s)) maps_.insert(map->var.node());
    const auto* instr = ir::as<ir::Instr>(s);
    if (!instr) return;
    const isa::InstrRow* row = isa::find_instruction(instr->name);
    bool fits =
        row && !instr->name.starts_with("host.") && row->operands.size() == instr->operands.size();
    for (std::size_t i = 0; fits && i < instr->operands.size(); ++i) {
      fits = operand(row->operands[i], instr->operands[i]);
    }
    if (fits) return;
    raise(ErrorCode::E0501, s->where,
          {.needed =
               row ? fmt::format("{} with operands \"{}\" (isa/isa.h)", row->name, row->operands)
                   : std::string("an instruction of isa/instructions.def"),
           .found = instr->name + (row ? " with others" : "")});
  }

 private:
  bool operand(char letter, const ir::InstrOperand& operand) const {
    const auto* address = std::get_if<ir::Address>(&operand);
    if (letter == 'w' || letter == 'r' || letter == 'b') return address != nullptr;
    if (address) return false;
    const Expr& e = std::get<Expr>(operand);
    const bool map = maps_.contains(e.node());
    return letter == 'm' ? map : !map && (letter == 'v' || is_int(e.dtype()));
  }

  std::set<const ir::ExprNode*> maps_;
};

[[noreturn]] void raise_too_large(const ir::Stmt& s, std::int64_t most, const char* memory,
                                  std::int64_t found, const Buffer& buffer) {
  raise(ErrorCode::E0421, s->where,
        {.needed = fmt::format("at most {} bytes of {}", most, memory),
         .found = fmt::format("{} bytes with {}", found, buffer.name())});
}

}  // namespace

SimtKernel place_device_kernel(const ir::Kernel& kernel, const target::Target& target) {
  if (!target::is_simt(target) || !kernel.thread.defined()) {
    raise(ErrorCode::E0602, {},
          {.needed = "a kernel with threads, for a cuda or emulator target",
           .found = fmt::format("{} threads, for {}",
                                kernel.thread.defined() ? "one with" : "one without",
                                target.to_string())});
  }
  SimtKernel result;
  result.kernel = kernel;
  const std::int64_t most = target::most_shared_bytes(target);
  std::int64_t local_bytes = 0;
  InstructionCheck instructions;
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    instructions.visit(s);
    const auto* alloc = ir::as<ir::Alloc>(s);
    if (!alloc) return;
    const std::int64_t size = size_of(*alloc);
    if (alloc->buffer.scope() != Scope::shared) {
      if (size > most_local_bytes - local_bytes) {
        raise_too_large(s, most_local_bytes, "registers and local memory for a thread", size,
                        alloc->buffer);
      }
      local_bytes += size;
      return;
    }
    constexpr std::int64_t alignment = planner::shared_alignment;
    const std::int64_t begin = (result.shared_bytes + alignment - 1) / alignment * alignment;
    if (size > most - begin) {
      raise_too_large(s, most, "shared memory for a block", size, alloc->buffer);
    }
    result.shared_offsets[alloc->buffer.node()] = begin;
    result.shared_bytes = begin + size;
  });
  return result;
}

}  // namespace tilecopy::lower
