// A kernel that the emulator runs: what compiling for an emulator target ends in.
#pragma once

#include <memory>
#include <vector>

#include "emulator/program.h"
#include "run/launch_plan.h"
#include "tilecopy/compile.h"

namespace tilecopy::emulator {

class EmulatedKernel {
 public:
  /// A program for each variant of the plan.
  EmulatedKernel(std::vector<Program> variants, run::LaunchPlan plan)
      : variants_(std::move(variants)), plan_(std::move(plan)) {}

  /// Runs the grid once for each schedule, every time from the same arguments, in host memory. The
  /// tensors keep what the last schedule wrote, or are as before when there are verdicts. Raises
  /// E07xx, and E0807 for a tensor map that the driver would reject.
  EmulatorReport run(const std::vector<Argument>& arguments, const EmulatorOptions& options) const;
  const run::LaunchPlan& plan() const { return plan_; }

 private:
  std::vector<Program> variants_;
  run::LaunchPlan plan_;
};

}  // namespace tilecopy::emulator
