// Copies by threads, by table: how wide their accesses are, by what is proved of alignment, extents
// and layouts; and that each kernel, on the emulator, leaves what the cpu target leaves.
#include <gtest/gtest.h>

#include "copy/arrays.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

struct SimtRow {
  const char* what;
  const char* tensors;  ///< A, which is read, and B, which is written
  const char* body;     ///< after `kernel (bx: 2, by: 4) threads N {`
  const char* access;   ///< of the first operation
  int group;            ///< elements
  int threads = 128;
  const char* arch = "sm_90a";
  bool ragged = false;
};

const char* const halves = "A: float16[256, 256], B: float16[256, 256]";
const char* const floats = "A: float32[256, 256], B: float32[256, 256]";

// A tile of A into shared memory, and on to B.
const char* const through = R"(t = alloc_shared float16[64, 128]
copy A[by * 64 : +64, bx * 128 : +128] -> t
copy t -> B[by * 64 : +64, bx * 128 : +128])";

std::vector<SimtRow> widths() {
  return {
      {"float16", halves, through, "16 in, 16 out", 8},
      {"float32", floats,
       "t = alloc_shared float32[64, 128]\ncopy A[by * 64 : +64, bx * 128 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 4},
      {"float64", "A: float64[64, 64], B: float64[64, 64]",
       "t = alloc_shared float64[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "16 in, 16 out", 2},
      {"int8", "A: int8[64, 64], B: int8[64, 64]",
       "t = alloc_shared int8[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "16 in, 16 out", 16},
      {"bool", "A: bool[64, 64], B: bool[64, 64]",
       "t = alloc_shared bool[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "16 in, 16 out", 16},
      {"a pitch of 4 bytes", "A: float16[256, 130], B: float16[256, 130]",
       "t = alloc_shared float16[64, 64]\ncopy A[by * 64 : +64, bx * 64 : +64] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "4 in, 4 out", 2},
      {"a pitch of 2 bytes", "A: float16[256, 129], B: float16[256, 129]",
       "t = alloc_shared float16[64, 64]\ncopy A[by * 64 : +64, bx * 64 : +64] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "2 in, 2 out", 1},
      {"a stated pitch of 16 bytes",
       "A: float16[256, 129] strides [136, 1], B: float16[256, 129] strides [136, 1]",
       "t = alloc_shared float16[64, 64]\ncopy A[by * 64 : +64, bx * 64 : +64] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "16 in, 16 out", 8},
      {"a start at column 4", "A: float16[256, 264], B: float16[256, 264]",
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 : +64, bx * 128 + 4 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 + 4 : +128]",
       "8 in, 8 out", 4},
      {"a start at column 3", "A: float16[256, 264], B: float16[256, 264]",
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 : +64, bx * 128 + 3 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 + 3 : +128]",
       "2 in, 2 out", 1},
      {"a tile of 12 columns", "A: float16[256, 24], B: float16[256, 24]",
       "t = alloc_shared float16[64, 12]\ncopy A[by * 64 : +64, bx * 12 : +12] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 12 : +12]",
       "8 in, 8 out", 4},
      {"a tile of 3 columns", "A: float32[256, 6], B: float32[256, 6]",
       "t = alloc_shared float32[64, 3]\ncopy A[by * 64 : +64, bx * 3 : +3] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 3 : +3]",
       "4 in, 4 out", 1},
      {"columns that follow each other in memory",
       "A: float16[256, 256] strides [1, 256], B: float16[256, 256]", through, "2 in, 2 out", 1},
      {"every second element", "A: float16[256, 256] strides [512, 2], B: float16[256, 256]",
       through, "2 in, 2 out", 1},
      {"rows of a part of a tile", halves,
       "t = alloc_shared float16[64, 136]\n"
       "copy A[by * 64 : +64, bx * 128 : +128] -> t[0 : +64, 8 : +128]\n"
       "copy t[0 : +64, 8 : +128] -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 8},
      {"rows of a part of a tile that begins inside 16 bytes", halves,
       "t = alloc_shared float16[64, 136]\n"
       "copy A[by * 64 : +64, bx * 128 : +128] -> t[0 : +64, 2 : +128]\n"
       "copy t[0 : +64, 2 : +128] -> B[by * 64 : +64, bx * 128 : +128]",
       "4 in, 4 out", 2},
  };
}

std::vector<SimtRow> casts_and_fills() {
  return {
      {"float16 to float32", "A: float16[256, 256], B: float32[256, 256]",
       "t = alloc_shared float32[64, 128]\ncopy A[by * 64 : +64, bx * 128 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "8 in, 16 out", 4},
      {"float32 to float16", "A: float32[256, 256], B: float16[256, 256]",
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 : +64, bx * 128 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 8 out", 4},
      {"int8 to float64", "A: int8[64, 64], B: float64[64, 64]",
       "t = alloc_shared float64[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "2 in, 16 out", 2},
      {"float32 to float8", "A: float32[64, 64], B: float8_e4m3fn[64, 64]",
       "t = alloc_shared float8_e4m3fn[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "16 in, 4 out", 4},
      {"a filled tile", halves,
       "t = alloc_shared float16[64, 128]\nfill t = 1.5\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 out", 8},
      {"a filled tensor", floats, "fill B[by * 64 : +64, bx * 128 : +128] = 2", "16 out", 4},
      {"a filled tensor on sm_100a", floats, "fill B[by * 64 : +64, bx * 128 : +128] = 2", "32 out",
       8, 128, "sm_100a"},
      {"filled columns of 6 bytes", "A: int16[4, 4], B: int16[256, 6]",
       "fill B[by * 64 : +64, bx * 3 : +3] = 7", "2 out", 1},
  };
}

std::vector<SimtRow> scopes_and_machines() {
  const char* const direct =
      "copy A[by * 64 : +64, bx * 128 : +128] -> B[by * 64 : +64, bx * 128 : +128]";
  return {
      {"tensor to tensor", halves, direct, "16 in, 16 out", 8},
      {"tensor to tensor on sm_80", halves, direct, "16 in, 16 out", 8, 128, "sm_80"},
      {"tensor to tensor on sm_100a", halves, direct, "32 in, 32 out", 16, 128, "sm_100a"},
      {"tensor to shared memory on sm_100a", halves, through, "16 in, 16 out", 8, 128, "sm_100a"},
      {"tensor to fragment", floats,
       "f = alloc_fragment float32[64, 128]\ncopy A[by * 64 : +64, bx * 128 : +128] -> f\n"
       "copy f -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 4},
      {"tensor to fragment on sm_100a", floats,
       "f = alloc_fragment float32[64, 128]\ncopy A[by * 64 : +64, bx * 128 : +128] -> f\n"
       "copy f -> B[by * 64 : +64, bx * 128 : +128]",
       "32 in, 32 out", 8, 128, "sm_100a"},
      {"fragment in single elements", "A: float32[256, 257], B: float32[256, 257]",
       "f = alloc_fragment float32[64, 128]\ncopy A[by * 64 : +64, bx * 128 + 1 : +128] -> f\n"
       "copy f -> B[by * 64 : +64, bx * 128 + 1 : +128]",
       "4 in, 4 out", 1},
      {"one thread", "A: float16[64, 64], B: float16[64, 64]",
       "t = alloc_shared float16[16, 32]\ncopy A[by * 16 : +16, bx * 32 : +32] -> t\n"
       "copy t -> B[by * 16 : +16, bx * 32 : +32]",
       "16 in, 16 out", 8, 1},
      {"2 threads", halves, through, "16 in, 16 out", 8, 2},
      {"31 threads", halves, through, "16 in, 16 out", 8, 31},
      {"48 threads", halves, through, "16 in, 16 out", 8, 48},
      {"96 threads", halves, through, "16 in, 16 out", 8, 96},
      {"1024 threads", halves, through, "16 in, 16 out", 8, 1024},
  };
}

std::vector<SimtRow> layouts_and_hints() {
  return {
      {"a swizzle of 128 bytes", halves,
       "t = alloc_shared float16[64, 64] layout swizzle<3,3,3> o (64,64):(64,1)\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\ncopy t -> B[by * 64 : +64, bx * 64 : +64]",
       "16 in, 16 out", 8},
      {"rows of 33 words", halves,
       "t = alloc_shared float16[64, 64] layout (64,64):(66,1)\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\ncopy t -> B[by * 64 : +64, bx * 64 : +64]",
       "4 in, 4 out", 2},
      {"a tile by columns", halves,
       "t = alloc_shared float16[64, 64] layout (64,64):(1,64)\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t\ncopy t -> B[by * 64 : +64, bx * 64 : +64]",
       "2 in, 2 out", 1},
      {"coalesced_width 2", halves,
       "t = alloc_shared float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t {coalesced_width: 2}\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "4 in, 4 out", 2},
      {"coalesced_width 1", halves,
       "t = alloc_shared float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t {coalesced_width: 1}\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "2 in, 2 out", 1},
      {"coalesced_width 32, too wide", halves,
       "t = alloc_shared float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t {coalesced_width: 32}\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "16 in, 16 out", 8},
      {"an eviction policy", halves,
       "t = alloc_shared float16[64, 64]\n"
       "copy A[by * 64 : +64, bx * 64 : +64] -> t {eviction_policy: evict_first}\n"
       "copy t -> B[by * 64 : +64, bx * 64 : +64]",
       "16 in, 16 out", 8},
  };
}

std::vector<SimtRow> edges() {
  return {
      {"ragged rows", "A: float16[250, 256], B: float16[250, 256]", through, "16 in, 16 out", 8,
       128, "sm_90a", true},
      {"ragged columns", "A: float16[256, 250], B: float16[256, 250]", through, "4 in, 4 out", 2,
       128, "sm_90a", true},
      {"ragged columns of 16 bytes", "A: float16[256, 248], B: float16[256, 248]", through,
       "16 in, 16 out", 8, 128, "sm_90a", true},
      {"rows from -8 on", halves,
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 - 8 : +64, bx * 128 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 8, 128, "sm_90a", true},
      {"columns from -8 on", halves,
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 : +64, bx * 128 - 8 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 8, 128, "sm_90a", true},
      {"columns from -3 on", halves,
       "t = alloc_shared float16[64, 128]\ncopy A[by * 64 : +64, bx * 128 - 3 : +128] -> t\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "2 in, 2 out", 1, 128, "sm_90a", true},
      {"a safe value", "A: float16[250, 256], B: float16[256, 256]",
       "t = alloc_shared float16[64, 128]\n"
       "copy A[by * 64 : +64, bx * 128 : +128] -> t safe float16(-1.5)\n"
       "copy t -> B[by * 64 : +64, bx * 128 : +128]",
       "16 in, 16 out", 8, 128, "sm_90a", true},
      {"ragged with 31 threads", "A: float16[250, 256], B: float16[250, 256]", through,
       "16 in, 16 out", 8, 31, "sm_90a", true},
  };
}

std::string kernel_text(const SimtRow& row) {
  return std::string("function f(") + row.tensors + ") {\n  kernel (bx: 2, by: 4) threads " +
         std::to_string(row.threads) + " {\n" + row.body + "\n  }\n}\n";
}

std::string parameter(const CopyPlan& plan, const std::string& name) {
  for (const auto& [key, value] : plan.parameters) {
    if (key == name) return value;
  }
  return "<none>";
}

void check(const SimtRow& row) {
  SCOPED_TRACE(row.what);
  const Function function = parse(kernel_text(row));
  const std::string target = std::string("emulator -arch=") + row.arch;
  const CompiledKernel kernel = compile(function, target, {.method = "simt"});
  const CopyPlan& plan = kernel.plans().at(0);
  EXPECT_EQ(plan.method, "simt");
  EXPECT_EQ(parameter(plan, "access_bytes"), row.access);
  EXPECT_EQ(parameter(plan, "group"), std::to_string(row.group) + " elements of a thread");
  EXPECT_EQ(parameter(plan, "bounds"),
            row.ragged ? "one test of the tile; checks in ragged tiles only" : "proved, no checks");
  test::expect_same_as_on_cpu(function, kernel);
}

TEST(Simt, WidthsByAlignmentAndExtents) {
  for (const SimtRow& row : widths()) check(row);
}
TEST(Simt, CastsAndFills) {
  for (const SimtRow& row : casts_and_fills()) check(row);
}
TEST(Simt, ScopesArchitecturesAndThreads) {
  for (const SimtRow& row : scopes_and_machines()) check(row);
}
TEST(Simt, LayoutsAndHints) {
  for (const SimtRow& row : layouts_and_hints()) check(row);
}
TEST(Simt, Edges) {
  for (const SimtRow& row : edges()) check(row);
}

// The variable of a dimension of one element is 0 before fragments are laid out.
TEST(Simt, FragmentsOfOneRowAreRegisters) {
  const Function function = parse(R"(function f(A: int32[8, 512], B: int32[8, 512]) {
    kernel (bx: 8) threads 128 {
      a = alloc_fragment int32[1, 512]
      copy A[bx : +1, 0 : 512] -> a
      parallel (i: 1, j: 512) {
        a[i, j] = a[i, j] + a[i, j]
      }
      copy a -> B[bx : +1, 0 : 512]
    }
  })");
  const CompiledKernel kernel = compile(function, "emulator -arch=sm_90a");
  EXPECT_EQ(kernel.explain().find("kept in shared memory"), std::string::npos);
  EXPECT_EQ(kernel.plans().at(0).method, "simt");
  test::expect_same_as_on_cpu(function, kernel);
}

}  // namespace
}  // namespace tilecopy
