// What kernels can be compiled for, and what runs here.
#include <fmt/format.h>

#include "run/cuda_driver.h"
#include "run/nvrtc.h"
#include "target/target.h"
#include "tilecopy/compile.h"

namespace tilecopy {
namespace {

// What compiles CUDA here, and what runs it or is missing.
std::string cuda_detail(bool* available) {
  std::string why;
  *available = run::nvrtc_available() && run::cuda_available(&why);
  std::string compiler = run::nvrtc_available() ? fmt::format("NVRTC {}", run::nvrtc_version())
                                                : "no NVRTC: sources and plans only";
  if (!why.empty()) return fmt::format("{}; cannot run here: {}", compiler, why);
  return compiler;
}

}  // namespace

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> result = {
      {"cpu", true,
       fmt::format("C through the system's compiler, vectors of {} bytes",
                   target::host_vector_bytes())}};
  bool available = false;
  std::string detail = cuda_detail(&available);
  for (std::string_view arch : target::architectures()) {
    result.push_back({fmt::format("cuda -arch={}", arch), available, detail});
  }
  for (std::string_view arch : target::architectures()) {
    result.push_back({fmt::format("emulator -arch={}", arch), false, "not in this version"});
  }
  return result;
}

}  // namespace tilecopy
