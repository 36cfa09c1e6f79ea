// Rules of tiled copies about operands and what only a launch decides; what plans say and lower to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/make.h"
#include "tma_case.h"
#include "tma_model.h"

namespace tc = tilecopy;
using tc::test::hopper;
using tc::test::Planned;

namespace {

struct Operands {
  tc::DType from = tc::float16, to = tc::float16;
  tc::cuda::CopyOptions options = {};
  std::int64_t size = 64;
};

tc::Function square(const Operands& o) {
  return tc::function("f", [&] {
    auto a = tc::tensor("A", {512, 512}, o.from);
    auto [bx, by] = tc::kernel({tc::ceildiv(512, o.size), tc::ceildiv(512, o.size)});
    auto tile = tc::alloc_shared({o.size, o.size}, o.to);
    tc::cuda::copy(a(by * o.size, bx * o.size), tile, o.options);
  });
}

TEST(Tma, NeedsItsUnit) {
  EXPECT_EQ(Planned(square({}), "cuda -arch=sm_80").rule(), "tma.arch");
  EXPECT_EQ(Planned(square({}), "cuda -arch=sm_100a").rule(), "<none>");
  EXPECT_EQ(Planned(square({.options = {.disable_tma = true}})).rule(), "tma.disable_tma");
}

TEST(Tma, MovesBitsAsTheyAre) {
  Planned planned(square({.from = tc::float32}));
  EXPECT_EQ(planned.rule(), "tma.dtype");
  EXPECT_EQ(planned.rules->failed()->found, "float32 to float16");
}

TEST(Tma, LeavesSmallTilesToThreads) {
  Planned planned(square({.size = 16}));
  EXPECT_EQ(planned.rule(), "tma.tile_bytes");
  EXPECT_EQ(planned.rules->failed()->found, "512 bytes");
  EXPECT_EQ(Planned(square({.options = {.prefer_instruction = "tma"}, .size = 16})).rule(),
            "<none>");
}

tc::Function between(tc::Scope from, tc::Scope to) {
  return tc::function("f", [&] {
    auto a = tc::tensor("A", {64, 64}, tc::float16);
    auto b = tc::tensor("B", {64, 64}, tc::float16);
    tc::kernel({1});
    auto make = [&](tc::Scope scope, const tc::Buffer& tensor) {
      return scope == tc::Scope::global   ? tensor
             : scope == tc::Scope::shared ? tc::alloc_shared({64, 64}, tc::float16)
                                          : tc::alloc_fragment({64, 64}, tc::float16);
    };
    auto src = make(from, a);
    auto dst = make(to, b);
    tc::copy(src, dst);
  });
}

TEST(Tma, MovesBetweenGlobalAndSharedMemory) {
  using tc::Scope;
  for (auto [from, to] :
       {std::pair{Scope::global, Scope::global}, std::pair{Scope::shared, Scope::shared},
        std::pair{Scope::global, Scope::fragment}, std::pair{Scope::fragment, Scope::global}}) {
    EXPECT_EQ(Planned(between(from, to)).rule(), "tma.scopes");
  }
  auto fill = tc::function("f", [] {
    tc::kernel({1});
    tc::clear(tc::alloc_shared({64, 64}, tc::float16));
  });
  EXPECT_EQ(Planned(fill).rule(), "tma.operation");
}

TEST(Tma, ReadsOnlyWhatTheKernelDoesNotWrite) {
  auto f = tc::function("f", [] {
    auto a = tc::tensor("A", {64, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a, tile);
    tc::copy(tile, a);
  });
  Planned planned(f);
  EXPECT_EQ(planned.rule(), "tma.source_written");
  EXPECT_EQ(planned.rules->failed()->found, "A is written by this kernel, too");
}

// Zeros of the hardware have no sign.
TEST(Tma, NegativeZeroIsNotItsZero) {
  auto f = [](double safe) {
    return tc::function("f", [&] {
      auto a = tc::tensor("A", {60, 64}, tc::float16);
      tc::kernel({1});
      auto tile = tc::alloc_shared({64, 64}, tc::float16);
      tc::annotate_safe_value(a, safe);
      tc::copy(a(0, 0), tile);
    });
  };
  EXPECT_EQ(Planned(f(0.0)).rule(), "<none>");
  EXPECT_EQ(Planned(f(-0.0)).rule(), "tma.safe_value");
}

// ---- What only a launch decides ----

std::vector<std::string> texts(const std::vector<tc::planner::Guard>& guards) {
  std::vector<std::string> result;
  for (const auto& guard : guards) result.push_back(guard.text);
  return result;
}

tc::Function symbolic(bool store) {
  return tc::function("f", [&] {
    tc::Var n = tc::symbol("n"), m = tc::symbol("m");
    auto a = tc::tensor("A", {n, m}, tc::float16);
    auto [bx, by] = tc::kernel({tc::ceildiv(m, 64), tc::ceildiv(n, 64)});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    if (store) {
      tc::copy(tile, a(by * 64, bx * 64));
    } else {
      tc::copy(a(by * 64, bx * 64), tile);
    }
  });
}

TEST(Tma, SizesAndAlignmentBecomeGuards) {
  for (bool store : {false, true}) {
    Planned usual(symbolic(store));
    ASSERT_TRUE(usual.plan) << usual.rule();
    EXPECT_EQ(texts(usual.plan->guards),
              (std::vector<std::string>{"m is at most 2147483136", "n is at most 2147483136",
                                        "m is a multiple of 8", "A is 16-byte aligned"}));
    Planned any(symbolic(store), hopper, false);
    EXPECT_EQ(any.rule(), "tma.size");
  }
}

TEST(Tma, AlignmentIsNeverTakenForGranted) {
  Planned any(square({}), hopper, false);
  EXPECT_EQ(any.rule(), "tma.alignment");
}

TEST(Tma, ExtentsAreConstant) {
  tc::Var n = tc::symbol("n");
  auto f = tc::function("f", [&] {
    auto a = tc::tensor("A", {n, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a(tc::range(0, n), tc::range(0, 64)), tile(tc::range(0, n), tc::range(0, 64)));
  });
  EXPECT_EQ(Planned(f).rule(), "tma.extents");
}

// Guards are on symbols and constants only.
TEST(Tma, SizesThatAreScalarParametersAreNotTaken) {
  auto f = tc::function("f", [] {
    tc::Var n = tc::scalar("n", tc::int64);
    auto a = tc::tensor("A", {n, 64}, tc::float16);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a(0, 0), tile);
  });
  Planned planned(f);
  EXPECT_EQ(planned.rule(), "tma.launch");
  EXPECT_EQ(planned.rules->failed()->found, "size n, stride 64");
}

TEST(Tma, StrideThatIsASymbolIsGuarded) {
  auto f = tc::function("f", [] {
    tc::Var s = tc::symbol("s"), one = tc::symbol("one");
    auto a = tc::tensor("A", {512, 512}, tc::float32, {s, one});
    tc::kernel({1});
    auto tile = tc::alloc_shared({64, 64}, tc::float32);
    tc::copy(a(0, 0), tile);
  });
  Planned planned(f);
  ASSERT_TRUE(planned.plan) << planned.rule() << planned.rules->failed()->found;
  EXPECT_EQ(texts(planned.plan->guards),
            (std::vector<std::string>{"one is 1", "s is a multiple of 4",
                                      "s is from 0 to 274877906943", "A is 16-byte aligned"}));
}

TEST(Tma, CoordinatesOfEveryBlockStayIn32BitsAndKeepTheirSide) {
  tc::Var n = tc::symbol("n");
  auto f = tc::function("f", [&] {
    auto a = tc::tensor("A", {n, 512}, tc::float16);
    auto step = tc::scalar("step", tc::int64);
    auto [bx] = tc::kernel({tc::ceildiv(n, 64)});
    auto tile = tc::alloc_shared({64, 64}, tc::float16);
    tc::copy(a(bx * 64 + step, step * 8), tile);
  });
  Planned planned(f);
  ASSERT_TRUE(planned.plan) << planned.rule() << planned.rules->failed()->found;
  const tc::ir::Kernel& kernel = *planned.passage.tile;
  tc::Expr step = std::get<tc::Var>(kernel.params.at(1));
  for (std::int64_t value :
       {std::int64_t{0}, std::int64_t{2}, std::int64_t{-3}, std::int64_t{1} << 31,
        -(std::int64_t{1} << 33), std::int64_t{1} << 50, -(std::int64_t{1} << 50)}) {
    SCOPED_TRACE(value);
    tc::test::TmaModel model(*planned.plan, planned.tile(), 0, 64 * 64 * 2);
    model.run(planned.lowered(), {{planned.site->simt->thread.node(), 0},
                                  {n.node(), 1000},
                                  {kernel.block.at(0).node(), 1},
                                  {step.node(), value}});
    EXPECT_EQ(model.faults(), "");
    for (std::int64_t i = 0; i < 64; ++i) {
      for (std::int64_t j = 0; j < 64; ++j) {
        std::int64_t row = 64 + value + i, column = value * 8 + j;
        bool inside = row >= 0 && row < 1000 && column >= 0 && column < 512;
        std::int64_t got = model.shared.at(static_cast<std::size_t>((i * 64 + j) * 2));
        ASSERT_EQ(got, inside ? (row * 512 + column) * 16 : tc::test::zero_byte);
      }
    }
  }
}

TEST(Tma, AStageThatIsAVariableIsAligned) {
  auto f = [](std::int64_t columns) {
    return tc::function("f", [&] {
      auto a = tc::tensor("A", {512, 512}, tc::float16);
      tc::kernel({1});
      auto tile = tc::alloc_shared({2, 32, columns}, tc::float16);
      tc::serial(4, [&](tc::Var k) {
        tc::cuda::copy(a(tc::range(k * 32, k * 32 + 32), tc::range(0, columns)), tile(k % 2, 0, 0),
                       {.prefer_instruction = "tma"});
      });
    });
  };
  Planned planned(f(64));
  ASSERT_TRUE(planned.plan) << planned.rule();
  EXPECT_EQ(planned.parameter("box"), "32x64");
}

// ---- What plans say, and what they lower to ----

TEST(Tma, TellsItsParameters) {
  Planned planned(square({.options = {.eviction_policy = "evict_first"}}));
  ASSERT_TRUE(planned.plan);
  EXPECT_EQ(planned.parameter("barrier_bytes"), "8192");
  EXPECT_EQ(planned.parameter("bytes"), "8192");
  EXPECT_EQ(planned.parameter("l2_promotion"), "128");
  EXPECT_EQ(planned.parameter("eviction"), "evict_first");
  EXPECT_EQ(Planned(square({.from = tc::float32, .to = tc::float32})).parameter("l2_promotion"),
            "256");
}

TEST(Tma, HintsGoIntoEveryBox) {
  auto name = [](const tc::cuda::CopyOptions& options) {
    Planned planned(square({.options = options}));
    tc::ir::Stmt lowered = planned.lowered();
    const auto& branch = tc::ir::get<tc::ir::If>(lowered);
    const auto& body = tc::ir::get<tc::ir::Block>(branch.then_body).body;
    EXPECT_EQ(body.size(), 2u);
    const auto& box = tc::ir::get<tc::ir::Instr>(body.at(1));
    // Tile, map, mbarrier and two coordinates, then the policy.
    EXPECT_EQ(box.operands.size(), box.name.ends_with("_hint") ? 6u : 5u);
    return box.name;
  };
  EXPECT_EQ(name({}), "cuda.tma_load_2d");
  EXPECT_EQ(name({.eviction_policy = "evict_last"}), "cuda.tma_load_2d_hint");
}

}  // namespace
