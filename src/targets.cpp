// What kernels can be compiled for, and what runs here.
#include <fmt/format.h>

#include "run/cuda_driver.h"
#include "run/nvrtc.h"
#include "target/target.h"
#include "tilecopy/compile.h"

namespace tilecopy {
namespace {

// What compiles and runs kernels for an architecture here, or what is missing.
TargetInfo cuda_target(std::string_view arch) {
  TargetInfo info{fmt::format("cuda -arch={}", arch), false, {}};
  std::string compiler = run::nvrtc_available() ? fmt::format("NVRTC {}", run::nvrtc_version())
                                                : "no NVRTC: sources and plans only";
  std::string why;
  if (!run::cuda_available(&why)) {
    info.detail = fmt::format("{}; cannot run here: {}", compiler, why);
  } else if (!run::cuda_runs(arch)) {
    info.detail = fmt::format("{}; for another GPU than {}", compiler, run::cuda_description());
  } else {
    info.available = run::nvrtc_available();
    info.detail = fmt::format("{}; {}", compiler, run::cuda_description());
  }
  return info;
}

}  // namespace

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> result = {
      {"cpu", true,
       fmt::format("C through the system's compiler, vectors of {} bytes",
                   target::host_vector_bytes())}};
  for (std::string_view arch : target::architectures()) result.push_back(cuda_target(arch));
  for (std::string_view arch : target::architectures()) {
    result.push_back({fmt::format("emulator -arch={}", arch), true, "runs here, without a GPU"});
  }
  return result;
}

}  // namespace tilecopy
