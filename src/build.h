// From lowered kernels to code that runs: source, compiler, cache.
#pragma once

#include "emulator/kernel.h"
#include "pipe.h"
#include "run/cuda_kernel.h"
#include "run/host_kernel.h"

namespace tilecopy {

struct Module {
  std::shared_ptr<const std::string> source;
  /// One for each passage, of the target's kind.
  std::vector<run::HostKernel> host;
  std::vector<run::CudaKernel> cuda;
  std::vector<emulator::EmulatedKernel> emulated;
  bool from_cache = false;
};

/// Generates and compiles one source for all passages, whose entries get names of their own; on
/// CUDA variants other than the first are compiled when a launch first needs one. Raises E08xx. A CUDA source that cannot be compiled here, for want of NVRTC, is an error at the
/// first launch.
Module build(std::vector<std::unique_ptr<Passage>>& passages, const target::Target& target,
             const CompileOptions& options);

}  // namespace tilecopy
