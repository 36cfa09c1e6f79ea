// A kernel of the cpu target, loaded and ready to launch.
#pragma once

#include <memory>

#include "base/os.h"
#include "run/arguments.h"
#include "run/launch_plan.h"

namespace tilecopy::run {

class HostKernel {
 public:
  /// Finds the entry function in the library, which stays loaded as long as the kernel. E0803.
  HostKernel(std::shared_ptr<const os::SharedLibrary> library, LaunchPlan plan);

  const LaunchPlan& plan() const { return plan_; }
  /// Runs and waits. `threads` as in LaunchOptions.
  void launch(const std::vector<Argument>& arguments, int threads) const;

 private:
  using Entry = void(void* const* tensors, const std::int64_t* symbols,
                     const std::uint64_t* scalars, char* tiles, int threads);

  std::shared_ptr<const os::SharedLibrary> library_;
  LaunchPlan plan_;
  Entry* entry_;
};

/// The number of threads for a request: itself, or OMP_NUM_THREADS, or the cores of the machine.
int thread_count(int requested);

}  // namespace tilecopy::run
