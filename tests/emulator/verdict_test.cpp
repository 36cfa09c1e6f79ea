// Each kind of fault, in a kernel as small as it gets, and the kernel without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tilecopy/error.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

struct VerdictCase {
  const char* name;
  std::string kind;  ///< empty for a clean kernel
  std::string text;  ///< a part of the verdict's sentence
  std::string body;  ///< statements of the device level
};

// A kernel of 64 threads, A and B of 1024 float16, an mbarrier and a tile of 1024 float16.
std::string kernel_text(const std::string& body) {
  return "device function f(A: float16[1024], B: float16[1024]) {\n"
         "  kernel (bx: 1) threads 64 as t {\n"
         "    tensor_map mA = A dims (1024) strides () box (64) element_strides (1) swizzle 0 "
         "promotion 0\n"
         "    m = alloc_shared uint64[1]\n"
         "    s = alloc_shared float16[1024]\n" +
         body + "\n  }\n}\n";
}

EmulatorReport emulate(const std::string& body, const EmulatorOptions& options = {}) {
  const CompiledKernel kernel = compile(parse(kernel_text(body)), "emulator -arch=sm_90a");
  Tensor a({1024}, float16), b({1024}, float16);
  a.fill_random(1);
  return kernel.emulate({a, b}, options);
}

const std::string init = R"(
if t == 0 {
  instr cuda.mbarrier_init(&m[0], 1)
  instr cuda.mbarrier_fence()
}
instr cuda.barrier()
)";
const std::string load = R"(
if t == 0 {
  instr cuda.expect_tx(&m[0], 2048)
  instr cuda.bulk_load(&s[0], &A[0], 2048, &m[0])
}
)";
const std::string wait = "instr cuda.mbarrier_wait(&m[0], 0)\n";
const std::string fill = "for i in 0 .. 16 { s[i * 64 + t] = A[i * 64 + t] }\n";
const std::string store = R"(
if t == 0 {
  instr cuda.bulk_store(&B[0], &s[0], 2048)
  instr cuda.bulk_commit()
  instr cuda.bulk_wait_read(0)
}
)";
const std::string fence = "instr cuda.fence_async()\n";
const std::string barrier = "instr cuda.barrier()\n";

std::vector<VerdictCase> cases() {
  return {
      {"load_and_store", "", "", init + load + wait + store},
      {"store_of_what_threads_wrote", "", "", fill + fence + barrier + store},
      {"cp_async", "", "",
       "instr cuda.cp_async(&s[t * 8], &A[t * 8], 16, 16)\n"
       "instr cuda.cp_async_commit()\n"
       "instr cuda.cp_async_wait(0)\n" +
           barrier + "B[t] = s[511 - t]\n"},
      {"neighbours_of_one_word", "", "", "s[t] = A[t]\n" + barrier + "B[t] = s[63 - t]\n"},
      {"swizzle_base", "swizzle_base", "begins at byte 128 of shared memory",
       "tensor_map sw = A dims (64, 16) strides (128) box (64, 16) element_strides (1, 1) swizzle "
       "128 promotion 0\n" +
           init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 2048)\n"
           "  instr cuda.tma_load_2d(&s[0], sw, &m[0], 0, 0)\n"
           "}\n" +
           wait + "B[t] = s[t]\n"},
      {"no_barrier", "race", "which thread", "s[t] = A[t]\nB[t] = s[63 - t]\n"},
      {"write_after_read", "race", "read, and nothing orders the two",
       "s[t] = A[t]\n" + barrier + "B[t] = s[63 - t]\ns[t] = A[t + 64]\n"},
      {"no_wait_for_the_load", "race", "an asynchronous load of thread 0 wrote",
       init + load + barrier + "B[t] = s[t]\n" + wait},
      {"no_wait_for_cp_async", "race", "a cp.async of thread",
       "instr cuda.cp_async(&s[t * 8], &A[t * 8], 16, 16)\n"
       "instr cuda.cp_async_commit()\n" +
           barrier + "B[t] = s[511 - t]\ninstr cuda.cp_async_wait(0)\n"},
      {"wait_of_another_thread", "race", "a cp.async of thread",
       "instr cuda.cp_async(&s[t * 8], &A[t * 8], 16, 16)\n"
       "instr cuda.cp_async_commit()\n"
       "instr cuda.cp_async_wait(0)\n"
       "B[t] = s[511 - t]\n"},
      {"reuse_while_a_store_reads", "race", "an asynchronous store of thread 0 read",
       fill + fence + barrier +
           "if t == 0 {\n"
           "  instr cuda.bulk_store(&B[0], &s[0], 2048)\n"
           "  instr cuda.bulk_commit()\n"
           "}\n" +
           barrier + "s[t] = A[t]\nif t == 0 { instr cuda.bulk_wait_read(0) }\n"},
      {"load_over_what_is_read", "race", "an asynchronous load of thread 0 writes",
       fill + fence + init + "B[t] = s[1023 - t]\n" + load + wait},
      {"no_fence", "missing_fence", "no proxy fence lies between", fill + barrier + store},
      {"fence_before_the_write", "missing_fence", "no proxy fence", fence + fill + barrier + store},
      {"load_over_what_threads_wrote", "missing_fence", "an asynchronous load of thread 0 writes",
       fill + init + load + wait},
      {"element_never_written", "unwritten", "never written", "B[t] = s[t]\n"},
      {"tile_never_written", "unwritten", "an asynchronous store of thread 0 stores",
       "s[t] = A[t]\n" + fence + barrier + store},
      {"branch_on_nothing", "unwritten", "a branch", "if s[t] < 1 { B[t] = A[t] }\n"},
      {"past_the_end_of_a_tensor", "out_of_bounds", "byte 2048 of A", "B[t] = A[t + 961]\n"},
      {"beyond_all_memory", "out_of_bounds", "byte 9223372036854775807 of B",
       "B[t * 4611686018427387904 / 64 * 64 + 4611686018427387904] = A[t]\n"},
      {"a_box_larger_than_its_tile", "out_of_bounds", "accesses 128 bytes at byte",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 128)\n"
           "  instr cuda.tma_load_1d(&s[1024 - 64 + 64], mA, &m[0], 0)\n"
           "}\n" +
           wait},
      {"below_a_tile", "out_of_bounds", "byte -2 of s", "s[t - 1] = A[t]\n"},
      {"vector_at_an_odd_element", "misaligned", "accesses 16 bytes at A[",
       "x = alloc_local float16[8]\n"
       "instr cuda.move(&x[0], &A[t * 8 + 1], 16)\n"},
      {"vector_of_64_bytes", "illegal_copy", "a power of two from 1 to 32",
       "x = alloc_local float16[64]\ninstr cuda.move(&x[0], &A[0], 64)\n"},
      {"vector_of_3_bytes", "illegal_copy", "an access of 3 bytes",
       "x = alloc_local float16[64]\ninstr cuda.move(&x[0], &A[0], 3)\n"},
      {"cp_async_of_2_bytes", "illegal_copy", "a power of two from 4 to 16",
       "instr cuda.cp_async(&s[0], &A[0], 2, 2)\n"},
      {"im2col_without_corners", "illegal_copy", "a tensor map with corners, found mA",
       init + "if t == 0 { instr cuda.tma_im2col(&s[0], mA, &m[0], 0, 0, 0, 0, 0, 0) }\n"},
      {"coordinates_of_another_rank", "illegal_copy", "needed 1 coordinates, found 2",
       init + "if t == 0 { instr cuda.tma_load_2d(&s[0], mA, &m[0], 0, 0) }\n"},
      {"bulk_of_8_bytes", "illegal_copy", "8 bytes; needed a positive multiple of 16",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 8)\n"
           "  instr cuda.bulk_load(&s[0], &A[0], 8, &m[0])\n"
           "}\n" +
           wait},
      {"tensor_copy_from_an_odd_element", "illegal_copy", "multiple of 16 bytes, found element 1",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 128)\n"
           "  instr cuda.tma_load_1d(&s[0], mA, &m[0], 1)\n"
           "}\n" +
           wait},
      {"tensor_copy_to_an_odd_place", "illegal_copy", "a multiple of 128",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 128)\n"
           "  instr cuda.tma_load_1d(&s[8], mA, &m[0], 0)\n"
           "}\n" +
           wait},
      {"too_few_bytes_expected", "transaction_bytes", "1024 bytes more than the 1024",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 1024)\n"
           "  instr cuda.bulk_load(&s[0], &A[0], 2048, &m[0])\n"
           "}\n" +
           wait},
      {"too_many_bytes_expected", "transaction_bytes", "lacks 0 of 1 arrivals and 2048 of 4096",
       init +
           "if t == 0 {\n"
           "  instr cuda.expect_tx(&m[0], 4096)\n"
           "  instr cuda.bulk_load(&s[0], &A[0], 2048, &m[0])\n"
           "}\n" +
           wait},
      {"an_expectation_that_copies_do_not_end_at", "transaction_bytes", "completes after 0 bytes",
       init +
           "if t == 0 {\n"
           "  instr cuda.bulk_load(&s[0], &A[0], 2048, &m[0])\n"
           "  instr cuda.expect_tx(&m[0], 0)\n"
           "}\n" +
           wait},
      {"mbarrier_without_init", "mbarrier", "is no mbarrier yet", load + wait},
      {"mbarrier_without_barrier", "mbarrier", "m, element 0",
       "if t == 0 {\n  instr cuda.mbarrier_init(&m[0], 1)\n  instr cuda.mbarrier_fence()\n}\n" +
           load + wait},
      {"mbarrier_without_fence", "mbarrier", "the async proxy may not see",
       "if t == 0 { instr cuda.mbarrier_init(&m[0], 1) }\n" + barrier + load + wait},
      {"wrong_parity", "deadlock", "waits for parity 1 of an mbarrier in phase",
       init + load + "instr cuda.mbarrier_wait(&m[0], 0)\ninstr cuda.mbarrier_wait(&m[0], 1)\n"},
      {"nobody_arrives", "deadlock", "lacks 1 of 1 arrivals", init + wait},
      {"half_a_warp_at_a_barrier", "barrier_divergence", "16 of 32 threads of warp 0",
       "if t < 16 { instr cuda.barrier() }\n"},
      {"one_warp_at_a_barrier", "barrier_divergence", "warp 1 has ended",
       "if t < 32 { instr cuda.barrier() }\n"},
      {"two_barriers", "barrier_divergence", "at another barrier",
       "if t < 32 { instr cuda.barrier() } else { instr cuda.barrier() }\n"},
      {"part_of_a_warp_loads_matrices", "warp_divergence", "31 of 32 lanes",
       "x = alloc_local float16[2]\n"
       "s[t] = A[t]\n" +
           barrier + "if t != 5 { instr cuda.ldmatrix_x1(&x[0], &s[t % 8 * 8]) }\n"},
      {"store_under_way_at_the_end", "in_flight", "thread 0 ends without a wait",
       fill + fence + barrier +
           "if t == 0 {\n"
           "  instr cuda.bulk_store(&B[0], &s[0], 2048)\n"
           "  instr cuda.bulk_commit()\n"
           "}\n"},
      {"load_under_way_at_the_end", "in_flight", "the block ends without a wait", init + load},
      {"cp_async_under_way_at_the_end", "in_flight", "ends without a wait",
       "instr cuda.cp_async(&s[t * 8], &A[t * 8], 16, 16)\ninstr cuda.cp_async_commit()\n"},
  };
}

class Verdicts : public testing::TestWithParam<VerdictCase> {};

TEST_P(Verdicts, AreAsExpected) {
  const VerdictCase& c = GetParam();
  for (std::uint64_t seed : {0, 1, 2}) {
    const EmulatorReport report = emulate(c.body, {.seed = seed, .schedules = 3});
    if (c.kind.empty()) {
      EXPECT_TRUE(report.clean()) << report.text();
      EXPECT_EQ(report.schedules, 3);
      continue;
    }
    ASSERT_FALSE(report.clean());
    bool found = false;
    for (const Verdict& verdict : report.verdicts) {
      found |= verdict.kind == c.kind && verdict.text.find(c.text) != verdict.text.npos;
    }
    EXPECT_TRUE(found) << "needed " << c.kind << ": ..." << c.text << "\n" << report.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, Verdicts, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(Emulator, EveryKindOfFaultHasACase) {
  std::set<std::string> tested = {"schedule_dependent", "endless"};  // not for small kernels
  for (const VerdictCase& c : cases()) tested.insert(c.kind);
#define TILECOPY_FAULT(name, end, headline, help) EXPECT_TRUE(tested.contains(#name)) << #name;
#include "emulator/faults.def"
}

// Two blocks that write one element, which no single block can see.
TEST(Emulator, BlocksThatWriteOnePlaceRace) {
  const CompiledKernel kernel = compile(
      parse("device function f(B: float32[64]) { kernel (bx: 2) threads 32 as t { B[t] = 1 } }"),
      "emulator -arch=sm_90a");
  Tensor b({64}, float32);
  const EmulatorReport report = kernel.emulate({b});
  ASSERT_FALSE(report.clean());
  EXPECT_EQ(report.verdicts[0].kind, "race");
  EXPECT_NE(report.verdicts[0].text.find("blocks run in any order"), std::string::npos);
}

TEST(Emulator, VerdictsLeaveTensorsAsTheyWere) {
  const CompiledKernel kernel = compile(
      parse(kernel_text("s[t] = A[t]\nB[t] = 1\nB[t] = s[63 - t]\n")), "emulator -arch=sm_90a");
  Tensor a({1024}, float16), b({1024}, float16);
  b.fill_random(7);
  const Tensor before = b;
  EXPECT_THROW(kernel(a, b), UserError);
  EXPECT_TRUE(std::ranges::equal(b.elements<std::uint16_t>(), before.elements<std::uint16_t>()));
}

TEST(Emulator, TextThatBreaksARuleIsAnErrorOfTheUser) {
  auto code = [](const std::string& body) -> std::string {
    try {
      emulate(body);
    } catch (const UserError& error) {
      return std::string(error.code());
    } catch (const Error& error) {
      return "another class: " + std::string(error.code());
    }
    return "none";
  };
  EXPECT_EQ(code("instr cuda.barier()\n"), "E0501");
  EXPECT_EQ(code("instr cuda.barrier(1)\n"), "E0501");
  EXPECT_EQ(code("instr host.stream_end()\n"), "E0501");
  EXPECT_EQ(code("instr cuda.mbarrier_init(m[0], 1)\n"), "E0501");
  EXPECT_EQ(code("instr cuda.prefetch_map(1)\n"), "E0501");
  EXPECT_EQ(code("instr cuda.tma_store_1d(mA, s[0], 0)\n"), "E0501");
  EXPECT_EQ(code("instr cuda.move(&s[0], &A[0], mA)\n"), "E0501");
  EXPECT_EQ(code("x = alloc_shared float16[64, 64] layout (64,64):(1,1)\nx[200] = A[0]\n"), "none");
}

TEST(Emulator, SeedsRepeatAndOptionsAreChecked) {
  const std::string body = "s[t] = A[t]\nB[t] = s[63 - t]\n";
  EXPECT_EQ(emulate(body, {.seed = 5}).text(), emulate(body, {.seed = 5}).text());
  auto has_race = [](const EmulatorReport& report) {
    return std::any_of(report.verdicts.begin(), report.verdicts.end(),
                       [](const Verdict& verdict) { return verdict.kind == "race"; });
  };
  EXPECT_TRUE(has_race(emulate(body)));
  for (const Verdict& verdict : emulate(body, {.ignore = {"race", "unwritten"}}).verdicts) {
    EXPECT_EQ(verdict.kind, "schedule_dependent");
  }
  EXPECT_THROW(emulate(body, {.schedules = 0}), UserError);
  EXPECT_THROW(emulate(body, {.ignore = {"deadlock"}}), UserError);
  EXPECT_THROW(emulate(body, {.ignore = {"races"}}), UserError);
}

TEST(Emulator, ProgressCountsBlocksOfSchedules) {
  std::vector<std::int64_t> seen;
  const auto progress = [&](const EmulatorProgress& p) {
    seen.insert(seen.end(), {p.schedule, p.block, p.blocks});
  };
  emulate("B[t] = A[t]\n", {.schedules = 2, .progress = progress});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 1, 1, 1, 1}));
}

TEST(Emulator, EndlessAfterAsManyStepsAsAskedFor) {
  const std::string body = "for i in 0 .. 1000 { B[t] = A[t] }\n";
  EXPECT_TRUE(emulate(body).clean());
  EXPECT_EQ(emulate(body, {.most_block_steps = 500}).verdicts.at(0).kind, "endless");
}

class Timeline {
 public:
  explicit Timeline(const EmulatorReport& report)
      : events_(nlohmann::json::parse(report.trace)["traceEvents"]) {}

  /// The events of a phase whose name has this in it.
  std::vector<nlohmann::json> find(const std::string& phase, const std::string& name) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : events_) {
      if (event["ph"] == phase &&
          event["name"].get<std::string>().find(name) != std::string::npos) {
        found.push_back(event);
      }
    }
    return found;
  }

 private:
  nlohmann::json events_;
};

TEST(Emulator, TraceShowsWarpsCopiesAndMbarriers) {
  const EmulatorReport report =
      emulate(init + load + wait + store, {.schedules = 2, .trace = true});
  ASSERT_TRUE(report.clean());
  const Timeline timeline(report);
  const auto begin = timeline.find("b", "bulk_load"), end = timeline.find("e", "bulk_load");
  ASSERT_EQ(begin.size(), 1u);  // of the first schedule alone
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(begin[0]["id"], end[0]["id"]);
  EXPECT_LT(begin[0]["ts"], end[0]["ts"]);
  EXPECT_EQ(begin[0]["args"]["bytes"], 2048);
  // What both warps run after the wait comes after the load; the store reads, then it ends.
  for (const auto& use : timeline.find("X", "bulk_store")) EXPECT_GE(use["ts"], end[0]["ts"]);
  const auto read = timeline.find("n", "bulk_store"), stored = timeline.find("e", "bulk_store");
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_LT(read[0]["ts"], stored[0]["ts"]);
  std::vector<std::int64_t> lacking;
  for (const auto& event : timeline.find("C", "m[0]")) lacking.push_back(event["args"]["bytes"]);
  EXPECT_EQ(lacking, (std::vector<std::int64_t>{0, 2048, 0, 0}));
  EXPECT_EQ(timeline.find("X", "barrier()").size(), 2u);  // of two warps
  EXPECT_TRUE(emulate(init + load + wait + store).trace.empty());
}

TEST(Emulator, TraceOfADeadlockShowsWhoWaits) {
  const EmulatorReport report = emulate(init + wait, {.trace = true});
  ASSERT_FALSE(report.clean());
  const auto waits = Timeline(report).find("X", "waits for parity 0 of m[0]");
  EXPECT_FALSE(waits.empty());
}

}  // namespace
}  // namespace tilecopy
