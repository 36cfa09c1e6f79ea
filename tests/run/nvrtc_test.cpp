// CUDA C++ to machine code: NVRTC's answers, and what is kept of them.
#include "run/nvrtc.h"

#include <gtest/gtest.h>

#include "run/cuda_build.h"
#include "run/fake_driver.h"
#include "run/testing.h"

namespace tilecopy::run {
namespace {

using testing_tools::code_of;
using testing_tools::ScopedEnv;
using testing_tools::TestDirectory;

constexpr const char* source = "extern \"C\" __global__ void one(int* a) { *a = 1; }\n";

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_available()) GTEST_SKIP() << "NVRTC is not installed: set CUDA_HOME";
  }
};

TEST_F(NvrtcTest, MakesMachineCode) {
  EXPECT_TRUE(compile_cubin(source, "one", "sm_90a").starts_with("\177ELF"));
}

TEST_F(NvrtcTest, KeepsTheSourceOfAFailure) {
  TestDirectory directory;
  ScopedEnv temporary("TMPDIR", directory.path().c_str());
  const std::string broken = "__global__ void one() { two(); }\n";
  try {
    compile_cubin(broken, "one", "sm_80");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "E0805");
    EXPECT_NE(error.report().found.find("\"two\""), std::string::npos) << error.what();
    const std::string words = "the source is in ";
    ASSERT_TRUE(error.report().help.starts_with(words)) << error.report().help;
    const std::string kept = error.report().help.substr(words.size());
    EXPECT_TRUE(kept.starts_with(directory.path().string())) << kept;
    EXPECT_EQ(os::read_file(kept), broken);
  }
}

TEST_F(NvrtcTest, EqualCodeIsBuiltOnce) {
  TestDirectory directory;
  ScopedEnv cache("TILECOPY_CACHE_DIR", directory.path().c_str());
  CudaBuild first = build_cubin("one", source, "sm_80", true);
  EXPECT_FALSE(first.hit);
  // Live kernels share their module; lines of comments do not count.
  CudaBuild second = build_cubin("one", std::string("// moved\n") + source, "sm_80", true);
  EXPECT_TRUE(second.hit);
  EXPECT_EQ(second.module, first.module);
  EXPECT_NE(build_cubin("one", source, "sm_80", false).module, first.module);
  EXPECT_FALSE(build_cubin("one", source, "sm_90a", true).hit);
  const std::string cubin = first.module->cubin();
  first = second = {};
  CudaBuild third = build_cubin("one", source, "sm_80", true);
  EXPECT_TRUE(third.hit);  // from the disk
  EXPECT_EQ(third.module->cubin(), cubin);
}

TEST(WithoutNvrtc, KernelsFailAtTheirFirstLaunch) {
  hide_nvrtc_for_testing(true);
  CudaBuild build = build_cubin("one", source, "sm_80", true);
  EXPECT_FALSE(build.hit);
  FakeDriver fake;
  EXPECT_EQ(code_of([&] { build.module->function(fake.driver(), "one", 0); }), "E0608");
  hide_nvrtc_for_testing(false);
}

}  // namespace
}  // namespace tilecopy::run
