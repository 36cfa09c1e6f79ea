// Statements for the rows of the instruction catalogue that CUDA has.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "isa/isa.h"

namespace tilecopy::testing_tools {

inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != name.npos; });
}

/// Whether every architecture from sm_80 on has it.
inline bool is_ampere(const isa::InstrRow& row) {
  return !is_one_of(row.name,
                    {"stmatrix", "bulk", "tma", "prefetch_map", "fence", "mbarrier", "expect_tx"});
}

/// The memory of operand `letter` (w or r) of a row.
inline std::string address(std::string_view name, char letter) {
  const bool written = letter == 'w';
  const std::string registers = "&registers[0]", shared = "&tile[thread * 32]",
                    global = written ? "&B[thread * 32]" : "&A[thread * 32]";
  if (is_one_of(name, {"cuda.move", "load_hint"}) && !is_one_of(name, {"bulk"})) {
    return written ? registers : global;
  }
  if (is_one_of(name, {"cuda.store_hint"})) return written ? global : registers;
  if (is_one_of(name, {"ldmatrix"})) return written ? registers : shared;
  if (is_one_of(name, {"stmatrix"})) return written ? shared : registers;
  if (is_one_of(name, {"store"})) return written ? global : shared;
  return written ? shared : global;  // loads to shared memory
}

inline std::string tensor_map(std::string_view name) {
  if (is_one_of(name, {"im2col"})) return "image";
  for (int rank = 1; rank <= 5; ++rank) {
    if (is_one_of(name, {std::to_string(rank) + "d"})) return "map" + std::to_string(rank);
  }
  return "map2";
}

/// `instr name(...)` with `bytes` as the size of a move.
inline std::string statement(const isa::InstrRow& row, int bytes) {
  std::string text = "instr " + std::string(row.name) + "(";
  int number = 0;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    if (i > 0) text += ", ";
    switch (row.operands[i]) {
      case 'w':
      case 'r': text += address(row.name, row.operands[i]); break;
      case 'b': text += "&bar[0]"; break;
      case 'm': text += tensor_map(row.name); break;
      case 'p': text += "uint64(1369094286720630784)"; break;
      case 'n':
        text += number++ == 0 && row.effect != isa::Effect::control ? std::to_string(bytes)
                                                                    : std::string("1");
        break;
      default: text += "unknown operand"; break;
    }
  }
  return text + ")\n";
}

inline std::vector<int> sizes_of(const isa::InstrRow& row, bool wide) {
  if (is_one_of(row.name, {"cp_async"}) && row.effect != isa::Effect::control) return {4, 8, 16};
  const bool moves = is_one_of(row.name, {"cuda.move", "cuda.load_hint", "cuda.store_hint"});
  if (!moves) return {16};
  return wide ? std::vector{1, 2, 4, 8, 16, 32} : std::vector{1, 2, 4, 8, 16};
}

/// A kernel with every instruction that `arch` has.
inline std::string every_instruction(const std::string& arch) {
  std::string body =
      "registers = alloc_local uint16[64]\n"
      "tile = alloc_shared uint16[8192]\n"
      "bar = alloc_shared uint64[1]\n";
  const bool hopper = arch != "sm_80";
  if (hopper) {
    std::string dims = "256", strides, box = "8", ones = "1";
    for (int rank = 1; rank <= 5; ++rank) {
      body += "tensor_map map" + std::to_string(rank) + " = A dims (" + dims + ") strides (" +
              strides + ") box (" + box + ") element_strides (" + ones +
              ") swizzle 0 promotion 128\n";
      dims += ", 256", box += ", 2", ones += ", 1";
      strides += (strides.empty() ? "" : ", ") + std::to_string(512 << (rank - 1));
    }
    body +=
        "tensor_map image = A dims (64, 8, 8, 4) strides (128, 1024, 8192) box (64, 64) "
        "element_strides (1, 1, 1, 1) lower (-1, -1) upper (-1, -1) swizzle 128 promotion 0\n";
  }
  for (const isa::InstrRow& row : isa::instructions()) {
    if (!row.name.starts_with("cuda.") || (!hopper && !is_ampere(row))) continue;
    for (int bytes : sizes_of(row, arch == "sm_100a")) body += statement(row, bytes);
  }
  // What the matrices were loaded for: PTX's compiler drops loads that nothing uses.
  body += "instr cuda.move(&B[thread * 8], &registers[0], 16)\n";
  return "device function f(A: uint16[n], B: uint16[n]) { kernel (bx: 64) threads 128 as thread "
         "{\n" +
         body + "} }";
}

}  // namespace tilecopy::testing_tools
