// Arguments for kernels of constant shapes, and the comparison of targets on them.
#pragma once

#include <cstdint>
#include <vector>

#include "tilecopy/tilecopy.h"

namespace tilecopy::test {

/// The tensors of a launch in one block of memory each, with what lies between their rows; random
/// bytes, which are equal for equal functions.
class Arrays {
 public:
  explicit Arrays(const Function& function);

  std::vector<Argument> arguments() const { return {views_.begin(), views_.end()}; }
  const std::vector<std::vector<std::uint8_t>>& memory() const { return memory_; }

 private:
  std::vector<std::vector<std::uint8_t>> memory_;
  std::vector<TensorView> views_;
};

/// Expects that `kernel`, of an emulator target, is clean under two schedules and leaves the bytes
/// that the function leaves on the cpu target.
void expect_same_as_on_cpu(const Function& function, const CompiledKernel& kernel);

}  // namespace tilecopy::test
