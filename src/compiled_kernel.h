// What a CompiledKernel holds.
#pragma once

#include "emulator/kernel.h"
#include "run/cuda_kernel.h"
#include "run/host_kernel.h"
#include "tilecopy/compile.h"

namespace tilecopy {

struct CompiledKernel::Impl {
  std::string name;
  std::string target;
  std::uint64_t function = 0;  ///< ir::Kernel::serial
  std::shared_ptr<const std::string> source;
  std::vector<CopyPlan> plans;
  std::vector<std::string> remarks;
  std::vector<StageTime> times;
  bool from_cache = false;
  std::optional<run::HostKernel> host;  ///< one of the three
  std::optional<run::CudaKernel> cuda;
  std::optional<emulator::EmulatedKernel> emulated;
};

}  // namespace tilecopy
