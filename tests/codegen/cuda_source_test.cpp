// Generated CUDA C++ as people read it: the form of a kernel, and where indices are 32 bits wide.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "codegen/cuda_support.h"
#include "codegen/expand_macros.h"
#include "tilecopy/error.h"

namespace tilecopy {
namespace {

using namespace testing_tools;

std::string body(const std::string& params, const std::string& statements) {
  return body_of(cuda_source(device_text(params, statements)));
}

void expect_in(const std::string& source, std::initializer_list<const char*> lines) {
  for (const char* line : lines)
    EXPECT_NE(source.find(line), source.npos) << line << "\n" << source;
}

TEST(CudaSource, OfAWholeKernel) {
  const std::string text =
      R"(device function load(A: float16[n, 4096], B: float16[64], x: float32) {
  kernel (bx: 64, by: n / 64) threads 128 as thread {
    tensor_map map = A dims (4096, n) strides (8192) box (64, 64) element_strides (1, 1) swizzle 128 promotion 256
    bar = alloc_shared uint64[1]
    tile = alloc_shared float16[64, 64]
    x_1 = alloc_local float16[8]
    if thread == 0 {
      instr cuda.expect_tx(&bar[0], 8192)
      instr cuda.tma_load_2d_hint(&tile[0], map, &bar[0], bx * 64, by * 64, uint64(1369094286720630784))
    }
    unrolled for i in 0 .. 8 {
      x_1[i] = tile[i * 128 + thread]
    }
  }
}
)";
  EXPECT_EQ(body_of(cuda_source(text)), R"(extern "C" __global__ void __launch_bounds__(128)
entry(const uint16_t* __restrict__ A, uint16_t* __restrict__ B, int64_t n, float x, const __grid_constant__ tc_tensor_map map) {
  const int thread = threadIdx.x;
  const unsigned grid0 = 64;
  const int bx = blockIdx.x % grid0;
  const int by = blockIdx.x / grid0;
  // test.tile:2
  uint64_t* const bar = (uint64_t*)(tc_shared + 0);
  uint16_t* const tile = (uint16_t*)(tc_shared + 1024);
  alignas(16) uint16_t x_1[8];
  if (thread == 0) {
    // test.tile:7
    tc_expect_tx(&bar[0], 8192);
    tc_tma_load_2d_hint(&tile[0], map, &bar[0], bx * 64, (int64_t)by * 64, 0x1300000000000000ull);
  }
  // test.tile:11
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    x_1[i] = tile[i * 128 + thread];
  }
}
)");
}

TEST(CudaSource, IndicesAreIntWhereThatIsProved) {
  expect_in(body("B: float32[100000, 100000], n: symbol, Bs: float32[n]", R"(
let small: int64 = bx * 128 + thread
let large: int64 = small * 1000000
for k in 0 .. 65536 {
  B[k * 32769 + thread] = 1
  B[k * 32767 + 7] = 2
  B[large + k] = 3
}
for k in 0 .. n {
  Bs[k] = 4
}
Bs[min(small, n - 1)] = 5
Bs[min(small, 9)] = 6
Bs[small / 4 * 16 + small % 4] = 7
Bs[(small - 1000) / 4] = 8
)"),
            {
                "const int small = bx * 128 + thread;",
                "const int64_t large = (int64_t)small * 1000000;",
                "for (int k = 0; k < 65536; ++k) {",
                "B[(int64_t)k * 32769 + thread] = 1.0f;",
                "B[k * 32767 + 7] = 2.0f;",
                "B[large + k] = 3.0f;",
                "for (int64_t k = 0; k < n; ++k) {",
                "Bs[tc_index_min((int64_t)small, n - 1)] = 5.0f;",
                "Bs[tc_index_min(small, 9)] = 6.0f;",
                "Bs[small / 4 * 16 + small % 4] = 7.0f;",
                "Bs[tc_floordiv_i64(small - 1000, 4)] = 8.0f;",
            });
}

// ++k past the last iteration has to fit, too.
TEST(CudaSource, LoopVariablesDoNotOverflow) {
  expect_in(
      body("B: float32[n]",
           "for k in 0 .. 2147483647 { B[k] = 1 }\n"
           "for k in 0 .. 2147483648 { B[k] = 2 }"),
      {"for (int k = 0; k < 2147483647; ++k) {", "for (int64_t k = 0; k < 2147483648; ++k) {"});
}

// The front end of CUDA 13.0 makes wrong addresses of divisions of small numbers by constants
// (docs/hardware-facts.md).
TEST(CudaSource, DividesByConstantsWithItsOwnMultiplication) {
  expect_in(body("B: float32[n]", R"(
for r in 0 .. 260 {
  B[r / 65 * 130 + r % 65 * 2] = 1
  B[r / 64] = 2
}
for k in 0 .. n {
  B[(k + 1) % 65] = 3
}
)"),
            {
                "B[tc_div<65>(r) * 130 + tc_mod<65>(r) * 2] = 1.0f;",
                "B[r / 64] = 2.0f;",
                "B[tc_mod<65>(k + 1)] = 3.0f;",
            });
}

TEST(CudaSource, BlockIndicesAreDigitsOfTheFlatOne) {
  auto grid = [](const std::string& extents) {
    return body_of(cuda_source("device function f(B: float32[n, m]) { kernel (" + extents +
                               ") threads 32 as t { B[0] = 1 } }"));
  };
  expect_in(grid("x: n"), {"const int x = blockIdx.x;"});
  expect_in(grid("x: 1, y: 7"), {"const int x = 0;", "const int y = blockIdx.x;"});
  expect_in(grid("x: n, y: m, z: 3"),
            {"const unsigned grid0 = n;", "const int x = blockIdx.x % grid0;",
             "const unsigned rest0 = blockIdx.x / grid0;", "const unsigned grid1 = m;",
             "const int y = rest0 % grid1;", "const int z = rest0 / grid1;"});
}

TEST(CudaSource, NamesOfTheLanguageAreNotTaken) {
  expect_in(body("B: float32[n], int: float32, threadIdx: float32, linux: float32",
                 "let class: float32 = int + threadIdx * linux\nB[0] = class"),
            {"float int_1", "float threadIdx_1", "float linux_1", "const float class_1 ="});
}

TEST(CudaSource, HoldsOnlyWhatItUses) {
  const std::string source = cuda_source(
      device_text("A: float16[n], B: float32[n]", "B[thread] = cast(A[thread], float32)"));
  expect_in(source, {"tc_f32_from_f16(tc_f16 x) {"});
  for (const char* absent :
       {"tc_move", "tc_tensor_map", "tc_f16_from_f32", "tc_smem", "#include"}) {
    EXPECT_EQ(source.find(absent), source.npos) << absent;
  }
}

TEST(CudaSource, NamesTheThreadIndex) {
  EXPECT_THROW(cuda_source("device function f(B: int8[4]) { kernel () { B[0] = 1 } }"),
               InternalError);
}

// ---- The functions of base/numeric.h ----

TEST(ExpandMacros, PastesAndNests) {
  const codegen::CFunctions result = codegen::expand_macros(R"(
// A comment.
typedef int tc_i32;
#define CAST(to, from, value) \
  static inline tc_##to to##_of_##from(int x) { return value; }
#define BOTH(from, call) CAST(a, from, x + call) CAST(b, from, call)
BOTH(c, f(1, 2))
static inline int plain(int x) {
  return x;
}
#undef BOTH
)");
  EXPECT_EQ(result.typedefs, "typedef int tc_i32;\n");
  ASSERT_EQ(result.functions.size(), 3u);
  EXPECT_EQ(result.functions[0].name, "a_of_c");
  EXPECT_EQ(result.functions[0].text, "tc_a a_of_c(int x) { return x + f(1, 2); }\n");
  EXPECT_EQ(result.functions[1].text, "tc_b b_of_c(int x) { return f(1, 2); }\n");
  EXPECT_EQ(result.functions[2].text, "int plain(int x) {\n  return x;\n}\n");
}

TEST(ExpandMacros, FindsEveryCast) {
  std::ifstream file(TILECOPY_SOURCE_DIR "/src/base/numeric.h");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::set<std::string> names;
  for (const codegen::CFunction& f : codegen::expand_macros(text).functions) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_EQ(f.text.find('#'), f.text.npos) << f.text;
  }
  const char* dtypes[] = {"b8",  "i8",   "i16",  "i32", "i64",  "u8",  "u16", "u32",
                          "u64", "e4m3", "e5m2", "f16", "bf16", "f32", "f64"};
  for (const std::string to : dtypes) {
    for (const std::string from : dtypes) {
      const bool same_integers =
          to == from && to != "e4m3" && to != "e5m2" && to[0] != 'f' && to != "bf16";
      EXPECT_TRUE(same_integers || names.contains("tc_" + to + "_from_" + from)) << to << from;
    }
  }
}

}  // namespace
}  // namespace tilecopy
