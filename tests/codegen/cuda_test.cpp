// Generated CUDA C++: that it compiles, for each architecture, and into what machine code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/os.h"
#include "codegen/cuda_catalogue.h"
#include "codegen/cuda_support.h"

namespace tilecopy {
namespace {

using namespace testing_tools;

constexpr const char* architectures[] = {"sm_80", "sm_90a", "sm_100a"};

#define SKIP_WITHOUT_NVRTC() \
  if (!run::nvrtc_available()) GTEST_SKIP() << "NVRTC is not installed: set CUDA_HOME"

// ---- What compiles ----

class EachArchitecture : public testing::TestWithParam<const char*> {};

TEST_P(EachArchitecture, EveryInstructionCompiles) {
  SKIP_WITHOUT_NVRTC();
  const std::string source = cuda_source(every_instruction(GetParam()));
  EXPECT_GT(run::compile_cubin(source, "every_instruction", GetParam()).size(), 1000u);
}

// Each dtype by its name in the text form.
std::vector<DType> dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < dtype_count; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

std::string tensors() {
  std::string params;
  for (DType dtype : dtypes()) {
    std::string name(to_string(dtype));
    params += fmt::format("{0}A_{1}: {1}[n], B_{1}: {1}[n]", params.empty() ? "" : ", ", name);
  }
  return params;
}

TEST_P(EachArchitecture, EveryCastCompiles) {
  SKIP_WITHOUT_NVRTC();
  std::string body;
  for (DType from : dtypes()) {
    for (DType to : dtypes()) {
      body +=
          fmt::format("B_{0}[thread] = cast(A_{1}[thread], {0})\n", to_string(to), to_string(from));
    }
  }
  run::compile_cubin(cuda_source(device_text(tensors(), body)), "casts", GetParam());
}

TEST_P(EachArchitecture, EveryOperationCompiles) {
  SKIP_WITHOUT_NVRTC();
  std::string body;
  for (DType dtype : dtypes()) {
    if (dtype == bool_) continue;
    const std::string a = fmt::format("A_{}[thread]", to_string(dtype));
    const std::string b = fmt::format("A_{}[thread + 1]", to_string(dtype));
    auto store = [&](const std::string& value) {
      body += fmt::format("B_{}[thread] = {}\n", to_string(dtype), value);
    };
    for (const char* op : {"+", "-", "*", "/"}) store(a + " " + op + " " + b);
    for (const char* f : {"min", "max"}) store(fmt::format("{}({}, {})", f, a, b));
    store("-" + a);
    store("abs(" + a + ")");
    store(fmt::format("select({0} < {1} || {0} == {1}, {0}, {1})", a, b));
    if (is_int(dtype)) {
      for (const char* op : {"%", "<<", ">>", "&", "|", "^"}) store(a + " " + op + " " + b);
      continue;
    }
    for (const char* f :
         {"sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tanh", "floor", "ceil"}) {
      store(fmt::format("{}({})", f, a));
    }
    for (const char* value : {"inf", "-inf", "nan", "1.5", "-0.0"}) {
      store(fmt::format("{}({})", to_string(dtype), value));
    }
  }
  run::compile_cubin(cuda_source(device_text(tensors(), body)), "operations", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cuda, EachArchitecture, testing::ValuesIn(architectures),
                         [](const auto& arch) { return std::string(arch.param); });

// The host's half of nvcc reads the source, too: no name of ours may clash with its headers.
TEST(Cuda, CompilesWithNvccAsItStands) {
  const std::string nvcc = cuda_tool("nvcc");
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed: set CUDA_HOME";
  const auto directory = os::TempDirectory::make_anywhere("tilecopy-nvcc-");
  const std::string file = (directory.path() / "kernel.cu").string();
  os::write_file(file, cuda_source(every_instruction("sm_90a")));
  const ToolRun run = run_tool(fmt::format(
      "{} -Werror all-warnings -fmad=false -arch=sm_90a -c {} -o {}.o", nvcc, file, file));
  EXPECT_EQ(run.status, 0) << run.output;
}

// ---- Into what ----

std::string machine_code(const std::string& text, const std::string& arch) {
  const auto directory = os::TempDirectory::make_anywhere("tilecopy-sass-");
  const std::string file = (directory.path() / "kernel.cubin").string();
  os::write_file(file, run::compile_cubin(cuda_source(text), "sass", arch));
  return run_tool(cuda_tool("nvdisasm") + " -c " + file).output;
}

#define SKIP_WITHOUT_NVDISASM() \
  SKIP_WITHOUT_NVRTC();         \
  if (cuda_tool("nvdisasm").empty()) GTEST_SKIP() << "nvdisasm is in neither CUDA_HOME nor PATH"

void expect_all(const std::string& code, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(code.find(word), code.npos) << word;
}

TEST(MachineCode, OfEveryInstruction) {
  SKIP_WITHOUT_NVDISASM();
  expect_all(machine_code(every_instruction("sm_80"), "sm_80"),
             {"LDGSTS", "LDSM", "LDG.E.128", "LDGDEPBAR", "BAR.SYNC"});
  expect_all(machine_code(every_instruction("sm_90a"), "sm_90a"),
             {"UTMALDG.1D", "UTMALDG.5D", "UTMALDG.4D.IM2COL", "UTMASTG.2D", "UBLKCP", "LDGSTS",
              "LDSM", "STSM", "SYNCS", "UTMACMDFLUSH"});
  expect_all(machine_code(every_instruction("sm_100a"), "sm_100a"), {"UTMALDG", ".256"});
}

TEST(MachineCode, MovesAreWhole) {
  SKIP_WITHOUT_NVDISASM();
  const std::string code =
      machine_code(device_text("A: float16[n], B: float16[n]",
                               "x = alloc_local float16[8]\n"
                               "instr cuda.move(&x[0], &A[thread * 8 + bx * 1024], 16)\n"
                               "instr cuda.move(&B[thread * 8 + bx * 1024], &x[0], 16)\n"),
                   "sm_90a");
  expect_all(code, {"LDG.E.128", "STG.E.128"});
  EXPECT_EQ(code.find("STL"), code.npos) << "a register tile lies in memory";
}

TEST(MachineCode, WideMovesAreWholeWhereThereAreAny) {
  SKIP_WITHOUT_NVDISASM();
  const std::string code =
      machine_code(device_text("A: float16[n], B: float16[n]",
                               "x = alloc_local float16[16]\n"
                               "instr cuda.move(&x[0], &A[thread * 16 + bx * 2048], 32)\n"
                               "instr cuda.move(&B[thread * 16 + bx * 2048], &x[0], 32)\n"),
                   "sm_100a");
  for (const char* way : {"LDG", "STG"}) {
    const std::size_t first = code.find(way);
    ASSERT_NE(first, code.npos) << way;
    EXPECT_NE(code.substr(first, code.find('\n', first) - first).find(".256"), code.npos);
    EXPECT_EQ(code.find(way, first + 1), code.npos) << "more than one " << way;
  }
}

TEST(MachineCode, ProductsAndSumsRoundOneByOne) {
  SKIP_WITHOUT_NVDISASM();
  const std::string code =
      machine_code(device_text("A: float32[n], B: float32[n]",
                               "B[thread] = A[thread] * A[thread + 1] + A[thread + 2]\n"),
                   "sm_90a");
  expect_all(code, {"FMUL", "FADD"});
  EXPECT_EQ(code.find("FFMA"), code.npos);
  EXPECT_EQ(code.find(".FTZ"), code.npos);
}

TEST(MachineCode, NarrowFloatsAreConvertedByTheHardware) {
  SKIP_WITHOUT_NVDISASM();
  const std::string code =
      machine_code(device_text("A: float32[n], B: float16[n], B8: float8_e4m3fn[n]",
                               "B[thread] = cast(A[thread], float16)\n"
                               "B8[thread] = cast(A[thread + 1], float8_e4m3fn)\n"),
                   "sm_90a");
  expect_all(code, {"F2FP", "E4M3"});
}

}  // namespace
}  // namespace tilecopy
