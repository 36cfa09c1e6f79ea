// Damage done to lowered kernels: each mutant differs from the kernel in one place.
#pragma once

#include <string>
#include <vector>

#include "ir/node.h"

namespace tilecopy::emulator::test {

struct Mutant {
  std::string kind;       ///< such as "drop barrier"
  std::string statement;  ///< what was damaged, in the text form
  Location where;
  ir::Kernel kernel;
};

/// Every mutant of a kernel at device level.
std::vector<Mutant> mutants_of(const ir::Kernel& kernel);

}  // namespace tilecopy::emulator::test
