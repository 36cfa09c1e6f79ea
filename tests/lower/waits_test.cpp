// Barriers, fences and waits: which stand between operations, and which do not.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/walk.h"
#include "pipe.h"
#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;

namespace {

using Names = std::vector<std::string>;

// The control instructions and copies of the lowered kernel in order, without their family.
Names instructions(const tc::Function& function, const std::string& target,
                   bool with_moves = false) {
  tc::Passage passage;
  passage.tile = function.shared();
  tc::lower_through(passage, tc::target::parse_target(target), {});
  Names names;
  tc::ir::for_each_stmt(passage.lowered().body, [&](const tc::ir::Stmt& s) {
    const auto* instr = tc::ir::as<tc::ir::Instr>(s);
    if (!instr || (!with_moves && instr->name == "cuda.move")) return;
    names.push_back(instr->name.substr(5));
  });
  return names;
}

int count(const Names& names, const std::string& name) {
  return static_cast<int>(std::count(names.begin(), names.end(), name));
}

const char* const hopper = "cuda -arch=sm_90a";
const char* const ampere = "cuda -arch=sm_80";

tc::cuda::CopyOptions by(const char* instruction) { return {.prefer_instruction = instruction}; }

struct Tensors {
  tc::Buffer a = tc::tensor("A", {256, 256}, tc::float16);
  tc::Buffer b = tc::tensor("B", {256, 256}, tc::float16);
};

TEST(Waits, LoadThenStoreByTheTmaUnitNeedsNoFence) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), tile, by("tma"));
    tc::cuda::copy(tile, t.b(by_ * 64, bx * 64), by("tma"));
  });
  EXPECT_EQ(instructions(f, hopper),
            (Names{"mbarrier_init", "mbarrier_fence", "expect_tx", "tma_load_2d", "barrier",
                   "mbarrier_wait", "tma_store_2d", "bulk_commit", "bulk_wait_read"}));
}

TEST(Waits, WritesByThreadsAreFencedBeforeAStoreOfTheTmaUnit) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), tile, by("sync"));
    tc::cuda::copy(tile, t.b(by_ * 64, bx * 64), by("tma"));
  });
  EXPECT_EQ(instructions(f, hopper), (Names{"fence_async", "barrier", "tma_store_2d",
                                            "bulk_commit", "bulk_wait_read"}));
}

TEST(Waits, IndependentCopiesHaveNoBarrierBetweenThem) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto one = tc::alloc_shared({64, 64}, tc::float16);
    auto two = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), one, by("sync"));
    tc::cuda::copy(t.a(by_ * 64, bx * 64), two, by("sync"));
    tc::cuda::copy(one, t.b(by_ * 64, bx * 64), by("sync"));
  });
  EXPECT_EQ(count(instructions(f, hopper), "barrier"), 1);
}

TEST(Waits, TwoLoadsBeforeOneUseAreUnderWayTogether) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto one = tc::alloc_shared({64, 64}, tc::float16);
    auto two = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), one, by("tma"));
    tc::cuda::copy(t.a(by_ * 64 + 8, bx * 64), two, by("tma"));
    tc::parallel({64, 64}, [&](tc::Var i, tc::Var j) { one(i, j) = one(i, j) + two(i, j); });
    tc::cuda::copy(one, t.b(by_ * 64, bx * 64), by("tma"));
  });
  Names names = instructions(f, hopper);
  auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name); };
  auto last_load = std::find(at("tma_load_2d") + 1, names.end(), "tma_load_2d");
  ASSERT_NE(last_load, names.end()) << fmt::format("{}", fmt::join(names, " "));
  EXPECT_LT(last_load, at("mbarrier_wait"));
  EXPECT_EQ(count(names, "mbarrier_wait"), 2);
  EXPECT_EQ(count(names, "fence_async"), 1);
}

TEST(Waits, ALoopWaitsForReadersBeforeItLoadsAgain) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [by_] = tc::kernel({4}, {.threads = 128});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::serial(4, [&](tc::Var k) {
      tc::cuda::copy(t.a(by_ * 64, k * 64), tile, by("tma"));
      tc::cuda::copy(tile, t.b(by_ * 64, k * 64), by("sync"));
    });
  });
  Names names = instructions(f, hopper);
  // A barrier before the load, for the readers of the last round and for the mbarrier's waiters.
  auto load = std::find(names.begin(), names.end(), "expect_tx");
  ASSERT_NE(load, names.begin());
  EXPECT_EQ(*(load - 1), "barrier") << fmt::format("{}", fmt::join(names, " "));
}

TEST(Waits, AsynchronousCopiesAreWaitedForOnceAndThenMetByABarrier) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto one = tc::alloc_shared({64, 64}, tc::float16);
    auto two = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), one, by("cp_async"));
    tc::cuda::copy(t.a(by_ * 64, bx * 64), two, by("cp_async"));
    tc::copy(one, t.b(by_ * 64, bx * 64));
  });
  for (const char* target : {ampere, hopper}) {
    Names names = instructions(f, target);
    EXPECT_EQ(count(names, "cp_async_commit"), 2);
    auto wait = std::find(names.begin(), names.end(), "cp_async_wait");
    ASSERT_NE(wait, names.end());
    EXPECT_NE(std::find(wait, names.end(), "barrier"), names.end());
  }
}

TEST(Waits, TilesThatShareMemoryAreKeptApart) {
  auto f = tc::function("f", [] {
    Tensors t;
    auto [bx, by_] = tc::kernel({4, 4}, {.threads = 128});
    auto one = tc::alloc_shared({64, 64}, tc::float16);
    auto two = tc::alloc_shared({64, 64}, tc::float16);
    tc::cuda::copy(t.a(by_ * 64, bx * 64), one, by("sync"));
    tc::cuda::copy(one, t.b(by_ * 64, bx * 64), by("sync"));
    tc::cuda::copy(t.a(by_ * 64, bx * 64), two, by("sync"));
    tc::cuda::copy(two, t.b(by_ * 64, bx * 64), by("sync"));
  });
  tc::Passage passage;
  passage.tile = f.shared();
  tc::lower_through(passage, tc::target::parse_target(ampere), {});
  EXPECT_EQ(passage.variants[0]->lowered.shared_bytes, 64 * 64 * 2);
  EXPECT_EQ(count(instructions(f, ampere), "barrier"), 3);
}

}  // namespace
