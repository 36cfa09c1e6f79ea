// Transposes through registers, by table: where they are taken, why not, and that each kernel, on
// the emulator, leaves what the cpu target leaves.
#include <gtest/gtest.h>

#include "copy/arrays.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

struct TransposeRow {
  const char* what;
  const char* tensors;  ///< A, which is read, and B, which is written
  const char* body;     ///< after `kernel (bx: 2, by: 2) threads N {`
  const char* failed;   ///< the rule because of which it is not taken; empty when it is
  const char* square = "";
  bool ragged = false;
  const char* layout = "";  ///< part of what is said of the tile's
  int threads = 64;
};

// A tile of A to shared memory, and transposed to B.
std::string on_the_way_out(int rows, int columns, const char* dtype) {
  const std::string r = std::to_string(rows), c = std::to_string(columns);
  return "t = alloc_shared " + std::string(dtype) + "[" + r + ", " + c + "]\ncopy A[by * " + r +
         " : +" + r + ", bx * " + c + " : +" + c + "] -> t\ntranspose t -> B[bx * " + c + " : +" +
         c + ", by * " + r + " : +" + r + "]";
}

const std::string f16_64x64 = on_the_way_out(64, 64, "float16");
const std::string f16_16x128 = on_the_way_out(16, 128, "float16");
const std::string f16_48x64 = on_the_way_out(48, 64, "float16");
const std::string f16_64x48 = on_the_way_out(64, 48, "float16");
const std::string f16_60x64 = on_the_way_out(60, 64, "float16");
const std::string f32_32x64 = on_the_way_out(32, 64, "float32");
const std::string f64_16x32 = on_the_way_out(16, 32, "float64");
const std::string i8_64x32 = on_the_way_out(64, 32, "int8");

std::vector<TransposeRow> rows() {
  return {
      {"float16", "A: float16[128, 128], B: float16[128, 128]", f16_64x64.c_str(), "", "8x8", false,
       "swizzle<3,3,6>"},
      {"few rows", "A: float16[32, 256], B: float16[256, 32]", f16_16x128.c_str(), "", "8x8", false,
       "swizzle<1,3,7>"},
      {"rows of no power of two", "A: float16[96, 128], B: float16[128, 96]", f16_48x64.c_str(), "",
       "8x8", false, "swizzle<3,3,6>"},
      {"float32", "A: float32[64, 128], B: float32[128, 64]", f32_32x64.c_str(), "", "4x4", false,
       "swizzle<3,2,6>"},
      {"float64", "A: float64[32, 64], B: float64[64, 32]", f64_16x32.c_str(), "", "2x2"},
      {"int8", "A: int8[128, 64], B: int8[64, 128]", i8_64x32.c_str(), "", "8x8"},
      {"ragged", "A: float16[120, 104], B: float16[104, 120]", f16_64x64.c_str(), "", "8x8", true},
      {"more threads than squares", "A: float16[128, 128], B: float16[128, 128]", f16_64x64.c_str(),
       "", "8x8", false, "", 256},
      {"fewer threads than squares", "A: float16[128, 128], B: float16[128, 128]",
       f16_64x64.c_str(), "", "8x8", false, "", 32},
      {"on the way in", "A: float16[128, 128], B: float16[128, 128]",
       "t = alloc_shared float16[64, 64]\n"
       "transpose A[by * 64 : +64, bx * 64 : +64] -> t\ncopy t -> B[bx * 64 : +64, by * 64 : +64]",
       "", "8x8"},
      {"between tiles", "A: float16[128, 128], B: float16[128, 128]",
       "t = alloc_shared float16[64, 64]\nu = alloc_shared float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\ntranspose t -> u\n"
       "copy u -> B[bx * 64 : +64, by * 64 : +64]",
       "", "8x8"},
      {"global to global", "A: float16[128, 128], B: float16[128, 128]",
       "transpose A[by * 64 : +64, bx * 64 : +64] -> B[bx * 64 : +64, by * 64 : +64]", "", "8x8"},
      {"odd pitch", "A: float16[127, 127], B: float16[127, 127]", f16_64x64.c_str(),
       "register_transpose.alignment", "", false, "(64,64):(66,1)"},
      {"columns of no power of two", "A: float16[128, 96], B: float16[96, 128]", f16_64x48.c_str(),
       "register_transpose.alignment"},
      {"rows in no squares", "A: float16[120, 128], B: float16[128, 120]", f16_60x64.c_str(),
       "register_transpose.squares"},
      {"a layout with conflicts", "A: float16[128, 128], B: float16[128, 128]",
       "t = alloc_shared float16[64, 64] layout (64,64):(64,1)\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\n"
       "transpose t -> B[bx * 64 : +64, by * 64 : +64]",
       "register_transpose.banks"},
      {"another dtype", "A: float16[128, 128], B: float32[128, 128]", f16_64x64.c_str(),
       "register_transpose.dtype"},
      {"a fragment", "A: float16[128, 128], B: float16[128, 128]",
       "t = alloc_shared float16[64, 64]\nr = alloc_fragment float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\ntranspose t -> r\n"
       "copy r -> B[bx * 64 : +64, by * 64 : +64]",
       "register_transpose.memory"},
  };
}

TEST(RegisterTranspose, IsTakenWhereItsRulesHoldAndRight) {
  for (const TransposeRow& row : rows()) {
    SCOPED_TRACE(row.what);
    const Function function =
        parse(std::string("function f(") + row.tensors + ") {\n  kernel (bx: 2, by: 2) threads " +
              std::to_string(row.threads) + " {\n" + row.body + "\n  }\n}\n");
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const CompiledKernel kernel = compile(function, std::string("emulator -arch=") + arch);
      const CopyPlan* plan = nullptr;
      for (const CopyPlan& each : kernel.plans()) {
        if (each.operation.starts_with("transpose")) plan = &each;
      }
      ASSERT_NE(plan, nullptr);
      EXPECT_EQ(plan->method == "register_transpose", !*row.failed) << kernel.explain();
      if (*row.failed) {
        ASSERT_FALSE(plan->rejected.empty());
        EXPECT_EQ(plan->rejected.at(0).rule.id, row.failed) << kernel.explain();
      }
      auto says = [&](const std::string& name, const std::string& begin) {
        for (const auto& [key, value] : plan->parameters) {
          if (key == name) return value.starts_with(begin);
        }
        return false;
      };
      if (*row.square) {
        EXPECT_TRUE(says("square", row.square)) << kernel.explain();
        EXPECT_TRUE(says("bounds", row.ragged ? "one test" : "proved")) << kernel.explain();
      }
      EXPECT_NE(kernel.explain().find(row.layout), std::string::npos) << kernel.explain();
      test::expect_same_as_on_cpu(function, kernel);
    }
  }
}

}  // namespace
}  // namespace tilecopy
