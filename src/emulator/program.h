// A lowered kernel as a list of steps that a warp runs in lock step: expressions taken apart into
// operations on slots, control flow into masks and jumps.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/meaning.h"
#include "ir/node.h"
#include "lower/lower.h"

namespace tilecopy::emulator {

inline constexpr int lanes = 32;
using Mask = std::uint32_t;
/// The active lanes, in order.
template <typename Body>
void for_lanes(Mask mask, Body&& body) {
  for (; mask != 0; mask &= mask - 1) body(std::countr_zero(mask));
}

/// Index of a value of every lane.
using Slot = int;

enum class StepKind : std::uint8_t {
  unary,        ///< dst = op a
  binary,       ///< dst = a op b
  cast,         ///< dst = a as dtype
  choose,       ///< dst = a ? b : c
  move,         ///< dst = a
  load,         ///< dst = buffer[a]
  store,        ///< buffer[a] = b
  fresh,        ///< the registers of a buffer hold nothing
  instruction,  ///< instructions[index]
  mask_push,    ///< only lanes where a; to target when there are none
  mask_else,    ///< the other lanes of the same push; to target when there are none
  mask_pop,     ///< the lanes from before the push
  loop_test,    ///< only lanes where a < b; to target when there are none
  loop_next,    ///< a = a + 1, to target
  stop
};

struct Step {
  StepKind kind;
  Slot dst = -1, a = -1, b = -1, c = -1;
  DType dtype = int64;  ///< of the operands
  ir::UnaryOp unary = {};
  ir::BinaryOp binary = {};
  int buffer = -1;
  int index = -1;
  int target = -1;
  int site = -1;  ///< index into Program::sites
};

struct Operand {
  enum Kind : std::uint8_t { number, address, tensor_map } kind = number;
  Slot slot = -1;   ///< of a number, or of an address its offset in elements
  int buffer = -1;  ///< of an address
  int map = -1;     ///< index into Program::maps
};

struct Instruction {
  Meaning meaning;
  std::string name;
  std::vector<Operand> operands;
};

/// A buffer of the kernel and where it lies.
struct Place {
  Buffer buffer;
  int tensor = -1;          ///< index of a parameter; for global
  std::int64_t offset = 0;  ///< in bytes: in shared memory, or in the registers of one thread
  std::int64_t bytes = 0;
};

/// A statement that accesses memory or waits, for reports.
struct Site {
  Location where;
  std::string text;  ///< the statement in the text form, one line
};

struct Program {
  std::vector<Step> steps;
  std::vector<Instruction> instructions;
  std::vector<Place> places;
  std::vector<Site> sites;
  int slots = 0;
  std::vector<std::pair<Slot, std::uint64_t>> constants;
  Slot thread = -1;
  std::vector<Slot> block;        ///< of the block indices
  std::vector<Slot> symbols;      ///< in the order of the kernel's
  std::vector<Slot> scalars;      ///< in the order of the kernel's parameters that are scalars
  std::vector<std::string> maps;  ///< names, in the order of the variant's recipes
  int threads = 1;
  std::int64_t shared_bytes = 0;
  std::int64_t register_bytes = 0;  ///< of one thread
};

Program assemble(const lower::SimtKernel& lowered);

}  // namespace tilecopy::emulator
