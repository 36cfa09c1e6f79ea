// Every CUDA source assembles for its architecture: random kernels of both kinds.
#include <gtest/gtest.h>

#include "property/check.h"
#include "run/nvrtc.h"
#include "tilecopy/error.h"

namespace tilecopy::property {
namespace {

constexpr std::uint64_t kernels_of_each = 60;

class Assemble : public testing::TestWithParam<const char*> {};

TEST_P(Assemble, RandomKernels) {
  if (!run::nvrtc_available()) GTEST_SKIP() << "NVRTC is not installed";
  std::vector<Function> functions;
  for (std::uint64_t seed = 0; seed < kernels_of_each; ++seed) {
    functions.push_back(build(generate_tiles(seed)));
    try {
      functions.push_back(build(generate(seed)));
    } catch (const UserError&) {
      continue;  // a constant that overflows, or regions of one buffer that overlap
    }
  }
  const std::string target = std::string("cuda -arch=") + GetParam();
  EXPECT_NO_THROW(compile(functions, target, {.use_cache = false}));
}

INSTANTIATE_TEST_SUITE_P(Archs, Assemble, testing::Values("sm_80", "sm_90a", "sm_100a"));

}  // namespace
}  // namespace tilecopy::property
