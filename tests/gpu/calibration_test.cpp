// Facts that the emulator relies on, a small kernel of the device level each: the GPU and the
// emulator leave the same bytes, or the GPU faults where the emulator gives a verdict. A fault
// takes the context with it, so `scripts/gpu-test` runs each in a process of its own. Without a GPU
// the emulator's side is run alone.
#include <gtest/gtest.h>

#include "run/cuda_driver.h"
#include "tilecopy/error.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

struct Fact {
  const char* name;
  std::string maps;  ///< tensor maps of A and B, which have 8192 float16
  std::string body;
  std::string verdict = {};  ///< of the emulator, where the GPU faults
};

const std::string init = R"(
if t == 0 {
  instr cuda.mbarrier_init(&m[0], 1)
  instr cuda.mbarrier_fence()
}
instr cuda.barrier()
)";
const std::string wait = "instr cuda.mbarrier_wait(&m[0], 0)\n";
// Shared memory as it lies, to B: nothing of it may be read that was not written.
const std::string dump = "for i in 0 .. 64 { B[i * 64 + t] = s[i * 64 + t] }\n";
const std::string clear =
    "for i in 0 .. 64 { s[i * 64 + t] = 0.5 }\n"
    "instr cuda.fence_async()\n"
    "instr cuda.barrier()\n";
const std::string fill =
    "for i in 0 .. 64 { s[i * 64 + t] = A[i * 64 + t] }\n"
    "instr cuda.fence_async()\n"
    "instr cuda.barrier()\n";
const std::string stored = "  instr cuda.bulk_commit()\n  instr cuda.bulk_wait(0)\n}\n";

std::string issue(int bytes, const std::string& load) {
  return clear + init + "if t == 0 {\n  instr cuda.expect_tx(&m[0], " + std::to_string(bytes) +
         ")\n  " + load + "\n}\n" + wait + dump;
}

std::vector<Fact> facts() {
  return {
      {"LoadOfRank1",
       "tensor_map mA = A dims (8192) strides () box (64) element_strides (1) swizzle 0 promotion "
       "0",
       issue(128, "instr cuda.tma_load_1d(&s[0], mA, &m[0], 40)")},
      {"LoadOfRank1PastTheEnd",
       "tensor_map mA = A dims (8100) strides () box (64) element_strides (1) swizzle 0 promotion "
       "0",
       issue(128, "instr cuda.tma_load_1d(&s[64], mA, &m[0], 8064)")},
      {"LoadOfRank2BelowZero",
       "tensor_map mA = A dims (100, 60) strides (256) box (32, 8) element_strides (1, 1) swizzle "
       "0 promotion 128",
       issue(512, "instr cuda.tma_load_2d(&s[128], mA, &m[0], -8, -3)")},
      {"LoadOfRank3",
       "tensor_map mA = A dims (24, 6, 20) strides (64, 384) box (16, 3, 5) element_strides (1, 1, "
       "1) swizzle 0 promotion 0",
       issue(480, "instr cuda.tma_load_3d(&s[0], mA, &m[0], 16, 5, 18)")},
      {"LoadOfRank4",
       "tensor_map mA = A dims (16, 4, 5, 6) strides (32, 128, 640) box (8, 3, 2, 3) "
       "element_strides (1, 1, 1, 1) swizzle 0 promotion 0",
       issue(288, "instr cuda.tma_load_4d(&s[0], mA, &m[0], 8, 2, -1, 4)")},
      {"LoadOfRank5",
       "tensor_map mA = A dims (8, 3, 4, 5, 6) strides (16, 48, 192, 960) box (8, 2, 2, 2, 3) "
       "element_strides (1, 1, 1, 1, 1) swizzle 0 promotion 0",
       issue(384, "instr cuda.tma_load_5d(&s[0], mA, &m[0], 0, 2, 1, 4, 5)")},
      {"OuterElementStrides",
       "tensor_map mA = A dims (64, 100) strides (128) box (32, 12) element_strides (1, 3) swizzle "
       "0 promotion 0",
       issue(256, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 16, 5)")},
      {"OuterElementStridesPastTheEnd",
       "tensor_map mA = A dims (64, 20) strides (128) box (32, 9) element_strides (1, 2) swizzle 0 "
       "promotion 0",
       issue(320, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 0, 15)")},
      {"StridesThatRunBackwardsInSize",
       "tensor_map mA = A dims (16, 8, 8) strides (512, 64) box (16, 4, 4) element_strides (1, 1, "
       "1) swizzle 0 promotion 0",
       issue(512, "instr cuda.tma_load_3d(&s[0], mA, &m[0], 0, 2, 3)")},
      {"StrideZero",
       "tensor_map mA = A dims (16, 8) strides (0) box (16, 4) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       issue(128, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 0, 2)")},
      {"Swizzle32",
       "tensor_map mA = A dims (64, 64) strides (128) box (16, 32) element_strides (1, 1) swizzle "
       "32 promotion 0",
       issue(1024, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 16, 8)")},
      {"Swizzle64",
       "tensor_map mA = A dims (64, 64) strides (128) box (32, 32) element_strides (1, 1) swizzle "
       "64 promotion 0",
       issue(2048, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 16, 8)")},
      {"Swizzle128",
       "tensor_map mA = A dims (128, 64) strides (256) box (64, 32) element_strides (1, 1) swizzle "
       "128 promotion 0",
       issue(4096, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 64, 40)")},
      {"Swizzle128FromAnUnalignedBase",
       "tensor_map mA = A dims (128, 64) strides (256) box (64, 8) element_strides (1, 1) swizzle "
       "128 promotion 0",
       issue(1024, "instr cuda.tma_load_2d(&s[192], mA, &m[0], 64, 40)")},
      {"Swizzle128OfNarrowRows",
       "tensor_map mA = A dims (128, 64) strides (256) box (24, 16) element_strides (1, 1) swizzle "
       "128 promotion 0",
       issue(768, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 8, 0)")},
      {"StorePastTheEnd",
       "tensor_map mB = B dims (40, 20) strides (128) box (32, 8) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       fill + "if t == 0 {\n  instr cuda.tma_store_2d(mB, &s[0], 16, 15)\n" + stored},
      {"StoreOfRank3Swizzled",
       "tensor_map mB = B dims (64, 4, 12) strides (128, 512) box (32, 2, 8) element_strides (1, "
       "1, 1) swizzle 64 promotion 0",
       fill + "if t == 0 {\n  instr cuda.tma_store_3d(mB, &s[0], 32, 1, 6)\n" + stored},
      {"StoreWithElementStrides",
       "tensor_map mB = B dims (64, 100) strides (128) box (32, 12) element_strides (1, 3) swizzle "
       "0 promotion 0",
       fill + "if t == 0 {\n  instr cuda.tma_store_2d(mB, &s[0], 16, 5)\n" + stored},
      {"Im2col",
       "tensor_map mA = A dims (16, 10, 9, 5) strides (32, 320, 2880) box (16, 40) element_strides "
       "(1, 1, 1, 1) lower (-1, -1) upper (-1, -1) swizzle 0 promotion 0",
       issue(1280, "instr cuda.tma_im2col(&s[0], mA, &m[0], 0, 4, 6, 1, 2, 0)")},
      {"Im2colWithStrides",
       "tensor_map mA = A dims (16, 10, 9, 5) strides (32, 320, 2880) box (16, 30) element_strides "
       "(1, 2, 3, 1) lower (-2, 0) upper (-3, -2) swizzle 32 promotion 0",
       issue(960, "instr cuda.tma_im2col(&s[0], mA, &m[0], 0, 2, 3, 1, 4, 1)")},
      {"Im2colPastTheLastImage",
       "tensor_map mA = A dims (8, 6, 5, 3) strides (16, 96, 480) box (8, 64) element_strides (1, "
       "1, 1, 1) lower (0, 0) upper (0, 0) swizzle 0 promotion 0",
       issue(1024, "instr cuda.tma_im2col(&s[0], mA, &m[0], 0, 3, 2, 2, 0, 0)")},
      {"BulkLoadsInTwoHalves", "",
       clear + init +
           "if t == 0 {\n  instr cuda.expect_tx(&m[0], 4096)\n"
           "  instr cuda.bulk_load(&s[0], &A[512], 2048, &m[0])\n"
           "  instr cuda.bulk_load(&s[2048], &A[4096], 2048, &m[0])\n}\n" +
           wait + dump},
      {"BytesBeforeTheyAreExpected", "",
       clear + init +
           "if t == 0 {\n  instr cuda.bulk_load(&s[0], &A[512], 2048, &m[0])\n"
           "  instr cuda.expect_tx(&m[0], 2048)\n}\n" +
           wait + dump},
      {"ArrivalsOfTwoThreads", "",
       clear +
           "if t == 0 {\n  instr cuda.mbarrier_init(&m[0], 2)\n  instr cuda.mbarrier_fence()\n}\n"
           "instr cuda.barrier()\n"
           "if t % 32 == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 1024)\n"
           "  instr cuda.bulk_load(&s[t * 16], &A[t * 32], 1024, &m[0])\n}\n" +
           wait + dump},
      {"PhasesOneAfterTheOther", "",
       clear + init +
           "for k in 0 .. 5 {\n"
           "  if t == 0 {\n    instr cuda.expect_tx(&m[0], 256)\n"
           "    instr cuda.bulk_load(&s[k * 128], &A[k * 640], 256, &m[0])\n  }\n"
           "  instr cuda.mbarrier_wait(&m[0], k % 2)\n}\n" +
           dump},
      {"BulkStoresOfEveryThread", "",
       fill + "instr cuda.bulk_store(&B[t * 128], &s[4032 - t * 64], 128)\n"
              "instr cuda.bulk_commit()\n"
              "instr cuda.bulk_wait(0)\n"},
      {"BulkGroupsThatAreKept", "",
       fill + "if t == 0 {\n  for k in 0 .. 4 {\n"
              "    instr cuda.bulk_store(&B[k * 512], &s[k * 256], 512)\n"
              "    instr cuda.bulk_commit()\n  }\n"
              "  instr cuda.bulk_wait_read(2)\n  instr cuda.bulk_wait(0)\n}\n"},
      {"CpAsyncThenATensorStore",
       "tensor_map mB = B dims (64, 64) strides (128) box (64, 64) element_strides (1, 1) swizzle "
       "0 promotion 0",
       "for i in 0 .. 8 { instr cuda.cp_async(&s[i * 512 + t * 8], &A[i * 512 + t * 8], 16, 16) }\n"
       "instr cuda.cp_async_commit()\n"
       "instr cuda.cp_async_wait(0)\n"
       "instr cuda.fence_async()\n"
       "instr cuda.barrier()\n"
       "if t == 0 {\n  instr cuda.tma_store_2d(mB, &s[0], 0, 0)\n" +
           stored},
      {"CpAsyncOfFewerBytes", "",
       clear +
           "instr cuda.cp_async(&s[t * 8], &A[t * 8], 16, t % 17)\n"
           "instr cuda.cp_async(&s[512 + t * 4], &A[t * 4], 8, t % 9)\n"
           "instr cuda.cp_async_commit()\n"
           "instr cuda.cp_async_wait(0)\n"
           "instr cuda.barrier()\n" +
           dump},
      {"MatricesPlainAndTransposed", "",
       fill +
           "x = alloc_local float16[8]\n"
           "instr cuda.ldmatrix_x4(&x[0], &s[t * 64])\n"
           "instr cuda.stmatrix_x4_trans(&s[t * 64 + 16], &x[0])\n"
           "instr cuda.ldmatrix_x2_trans(&x[0], &s[t % 16 * 64 + 32])\n"
           "instr cuda.barrier()\n"
           "if t < 32 { instr cuda.stmatrix_x2(&s[t % 16 * 64 + 40], &x[0]) }\n"
           "instr cuda.barrier()\n" +
           dump},
      {"PoliciesChangeNothing",
       "tensor_map mA = A dims (64, 64) strides (128) box (64, 32) element_strides (1, 1) swizzle "
       "0 promotion 256",
       issue(4096,
             "instr cuda.tma_load_2d_hint(&s[0], mA, &m[0], 0, 32, uint64(1508705875169116160))")},
      // ---- What the hardware refuses ----
      {"LoadFromInside16Bytes",
       "tensor_map mA = A dims (64, 64) strides (128) box (32, 8) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       issue(512, "instr cuda.tma_load_2d(&s[0], mA, &m[0], 4, 0)"), "illegal_copy"},
      {"StoreToInside16Bytes",
       "tensor_map mB = B dims (64, 64) strides (128) box (32, 8) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       fill + "if t == 0 {\n  instr cuda.tma_store_2d(mB, &s[0], 4, 0)\n" + stored, "illegal_copy"},
      {"StoreBelowZero",
       "tensor_map mB = B dims (64, 64) strides (128) box (32, 8) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       fill + "if t == 0 {\n  instr cuda.tma_store_2d(mB, &s[0], 0, -1)\n" + stored,
       "illegal_copy"},
      {"LoadTo64ByteAlignment",
       "tensor_map mA = A dims (64, 64) strides (128) box (32, 8) element_strides (1, 1) swizzle 0 "
       "promotion 0",
       issue(512, "instr cuda.tma_load_2d(&s[32], mA, &m[0], 0, 0)"), "illegal_copy"},
      {"BulkLoadFromInside16Bytes", "",
       issue(512, "instr cuda.bulk_load(&s[0], &A[4], 512, &m[0])"), "misaligned"},
      {"VectorAtAnOddElement", "",
       "x = alloc_local float16[8]\ninstr cuda.move(&x[0], &A[t * 8 + 1], 16)\n"
       "instr cuda.move(&B[t * 8], &x[0], 16)\n",
       "misaligned"},
  };
}

void PrintTo(const Fact& fact, std::ostream* out) { *out << fact.name; }

Function function_of(const Fact& fact) {
  return parse(
      "device function f(A: float16[8192], B: float16[8192]) {\n  kernel (bx: 1) threads 64 as t "
      "{\n" +
      fact.maps + "\nm = alloc_shared uint64[1]\ns = alloc_shared float16[4096]\n" + fact.body +
      "\n} }");
}

class Calibration : public testing::TestWithParam<Fact> {};

TEST_P(Calibration, GpuAndEmulatorAgree) {
  const Fact& fact = GetParam();
  const Function function = function_of(fact);
  Tensor a({8192}, float16), emulated({8192}, float16);
  a.fill_random(11);
  emulated.fill_random(12);
  Tensor real = emulated;
  const EmulatorReport report =
      // Swizzled bytes are looked at as they lie, wherever the tile begins.
      compile(function, "emulator -arch=sm_90a")
          .emulate({a, emulated}, {.schedules = 3, .ignore = {"swizzle_base"}});
  if (fact.verdict.empty()) {
    EXPECT_TRUE(report.clean()) << report.text();
  } else {
    ASSERT_FALSE(report.clean());
    EXPECT_EQ(report.verdicts[0].kind, fact.verdict) << report.text();
  }
  std::string why;
  if (!run::cuda_available(&why)) return;
  const CompiledKernel kernel = compile(function, "cuda -arch=sm_90a");
  if (!fact.verdict.empty()) {
    EXPECT_THROW(kernel(a, real), Error);
    return;
  }
  kernel(a, real);
  const auto want = emulated.elements<std::uint16_t>();
  const auto got = real.elements<std::uint16_t>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], want[i]) << "element " << i << " of B: the GPU left " << got[i]
                               << ", the emulator " << want[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Facts, Calibration, testing::ValuesIn(facts()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace tilecopy
