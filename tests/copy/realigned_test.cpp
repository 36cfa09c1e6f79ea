// Copies of rows that begin at any address, by table: where they are taken, why not, and that each
// kernel, on the emulator, leaves what the cpu target leaves.
#include <gtest/gtest.h>

#include "copy/arrays.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

struct RealignedRow {
  const char* what;
  const char* tensors;  ///< A, which is read, and B, which is written
  const char* copy;     ///< in `kernel (bx: 3, by: 4) threads 32 {`
  const char* failed;   ///< the rule because of which it is not taken; empty when it is
};

const char* const one_row = "copy A[by, bx * 120 : +120] -> B[by, bx * 120 : +120]";
const char* const rows = "copy A[by * 4 : +4, bx * 120 : +120] -> B[by * 4 : +4, bx * 120 : +120]";

std::vector<RealignedRow> table() {
  return {
      {"odd rows", "A: float16[4, 361], B: float16[4, 361]", one_row, ""},
      {"rows that end within a tile", "A: float16[4, 301], B: float16[4, 301]", one_row, ""},
      {"rows of which tiles lie outside", "A: float16[4, 239], B: float16[4, 239]", one_row, ""},
      {"several rows", "A: float16[16, 361], B: float16[16, 361]", rows, ""},
      {"fewer rows than the tiles", "A: float16[13, 333], B: float16[13, 333]", rows, ""},
      {"bytes", "A: int8[16, 363], B: int8[16, 363]", rows, ""},
      {"words", "A: float32[16, 361], B: float32[16, 361]", rows, ""},
      {"pairs of words", "A: float64[16, 361], B: float64[16, 361]", rows, ""},
      {"pitches alike modulo an access",
       "A: float16[16, 360] strides [361, 1], B: float16[16, 360] "
       "strides [377, 1]",
       rows, ""},
      {"an eviction policy", "A: float16[16, 361], B: float16[16, 361]",
       "copy A[by * 4 : +4, bx * 120 : +120] -> B[by * 4 : +4, bx * 120 : +120] {eviction_policy: "
       "evict_first}",
       ""},
      {"a shift by an access and other pitches", "A: float16[4, 377], B: float16[4, 369]",
       "copy A[by, bx * 120 + 8 : +120] -> B[by, bx * 120 : +120]", ""},
      {"a shift by an access between equal pitches", "A: float16[4, 377], B: float16[4, 377]",
       "copy A[by, bx * 120 + 8 : +120] -> B[by, bx * 120 : +120]", ""},
      {"a shift by an element", "A: float16[4, 377], B: float16[4, 377]",
       "copy A[by, bx * 120 + 1 : +120] -> B[by, bx * 120 : +120]", "realigned.distance"},
      {"sides that end at different elements", "A: float16[4, 355], B: float16[4, 355]",
       "copy A[by, bx * 120 + 8 : +120] -> B[by, bx * 120 : +120]", "realigned.bounds"},
      {"other pitches", "A: float16[16, 361], B: float16[16, 363]", rows, "realigned.distance"},
      {"aligned rows", "A: float16[16, 360], B: float16[16, 360]", rows, "realigned.misaligned"},
      {"short rows", "A: float16[4, 37], B: float16[4, 37]",
       "copy A[by, bx * 12 : +12] -> B[by, bx * 12 : +12]", "realigned.extent"},
      {"a cast", "A: float16[16, 361], B: float32[16, 361]", rows, "realigned.dtype"},
      {"a width", "A: float16[16, 361], B: float16[16, 361]",
       "copy A[by * 4 : +4, bx * 120 : +120] -> B[by * 4 : +4, bx * 120 : +120] {coalesced_width: "
       "1}",
       "realigned.coalesced_width"},
      {"columns", "A: float16[16, 361] strides [1, 17], B: float16[16, 361]", rows,
       "realigned.rows"},
  };
}

TEST(Realigned, IsTakenWhereItsRulesHoldAndRight) {
  for (const RealignedRow& row : table()) {
    SCOPED_TRACE(row.what);
    const Function function =
        parse(std::string("function f(") + row.tensors +
              ") {\n  kernel (bx: 3, by: 4) threads 32 {\n" + row.copy + "\n  }\n}\n");
    const CompiledKernel kernel = compile(function, "emulator -arch=sm_90a");
    const CopyPlan& plan = kernel.plans().at(0);
    EXPECT_EQ(plan.method, *row.failed ? "simt" : "realigned") << kernel.explain();
    if (*row.failed) {
      ASSERT_FALSE(plan.rejected.empty());
      EXPECT_EQ(plan.rejected.at(0).rule.id, row.failed) << kernel.explain();
    }
    test::expect_same_as_on_cpu(function, kernel);
  }
}

}  // namespace
}  // namespace tilecopy
