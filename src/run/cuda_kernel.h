// Launching a compiled kernel on an NVIDIA GPU.
#pragma once

#include <memory>
#include <vector>

#include "run/cuda_build.h"
#include "run/launch_plan.h"
#include "tilecopy/compile.h"

namespace tilecopy::run {

/// Copies share one state; launches may run concurrently.
class CudaKernel {
 public:
  /// `module` has the entry of the first variant; those of the others are in `others` or, without
  /// it, in the same module.
  CudaKernel(std::shared_ptr<const CudaModule> module, LaunchPlan plan,
             std::shared_ptr<const LateModule> others = nullptr);

  /// Launches on `stream` of the current context, or of the primary context of the tensors' device
  /// when there is none or it is another device's. Tensors in device memory are used where they
  /// are: nothing is allocated or waited for after the first launch, which loads the module. Host
  /// arrays are copied to the device and back, and waited for. Raises E0606, E0607, E0608, E07xx,
  /// E0806, E0807, and E0808 when something that ran before had failed.
  void launch(const std::vector<Argument>& arguments, void* stream) const;
  const LaunchPlan& plan() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tilecopy::run
