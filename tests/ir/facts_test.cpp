#include "ir/facts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "ir/make.h"
#include "ir/random_expr.h"

namespace tilecopy::ir {

void PrintTo(const Interval& i, std::ostream* out) { *out << "[" << i.lo << ", " << i.hi << "]"; }

namespace {

constexpr std::int64_t address_limit = std::int64_t{1} << 47;

// A kernel over A[m, n] with row stride ld: 64 x 128 tiles, and the loops inside.
class TileFacts : public ::testing::Test {
 protected:
  TileFacts() {
    auto a = std::make_shared<BufferNode>();
    *a = {"A", float16, Scope::global, {m, n}, {ld, make_int(1)}, {}};
    Kernel kernel;
    kernel.name = "k";
    kernel.params = {Buffer(a), s};
    kernel.symbols = {m, n, ld};
    kernel.block = {bx, by};
    kernel.grid = {ceildiv(n, 128), ceildiv(m, 64)};
    facts = kernel_facts(kernel);
    facts.bind_loop(i, 0, 64);
    facts.bind_loop(j, 0, 128);
    facts.bind_loop(k, 0, ceildiv(n, 32));
    facts.bind_loop(q, 0, n);
    facts.bind(tid, {0, 127});
  }

  void expect_proved(const Expr& e) const { EXPECT_TRUE(facts.proves(e)) << e.to_string(); }
  void expect_open(const Expr& e) const {
    EXPECT_FALSE(facts.proves(e)) << e.to_string();
    EXPECT_FALSE(facts.proves(!e)) << e.to_string();
  }

  static Var int_var(const char* name) { return Var(name, int64); }

  Var m = int_var("m"), n = int_var("n"), ld = int_var("ld"), bx = int_var("bx"),
      by = int_var("by"), i = int_var("i"), j = int_var("j"), k = int_var("k"), q = int_var("q"),
      tid = int_var("tid"), x = int_var("x"), s{"s", int32};
  Facts facts;
};

// ---- Kernels ----

TEST_F(TileFacts, KernelBindsSymbolsAndBlocks) {
  EXPECT_EQ(facts.bounds(m), (Interval{0, address_limit}));
  EXPECT_EQ(facts.bounds(ld), (Interval{-address_limit, address_limit}));
  EXPECT_EQ(facts.bounds(s), (Interval{INT32_MIN, INT32_MAX}));
  EXPECT_EQ(facts.bounds(by), (Interval{0, address_limit / 64 - 1}));
  EXPECT_EQ(facts.bounds(x), Interval{});
}

TEST_F(TileFacts, OriginsOfTilesLieInside) {
  expect_proved(by * 64 < m);
  expect_proved(bx * 128 < n);
  expect_proved(by * 64 >= 0);
  expect_proved(k * 32 < n);
  expect_proved(m - by * 64 >= 1);
  expect_open(by * 64 + 64 <= m);
  expect_open(by * 64 + i < m);
  expect_open(k * 32 + 31 < n);
}

TEST_F(TileFacts, KnownDivisorsMakeTilesFit) {
  facts.bind_divisor(m, 64);
  expect_proved(by * 64 + 64 <= m);
  expect_proved(by * 64 + i < m);
  expect_proved(min(64, m - by * 64) == 64);
  facts.bind_divisor(n, 32);
  expect_proved(k * 32 + 31 < n);
  expect_open(bx * 128 + 128 <= n);
}

TEST_F(TileFacts, ClampedExtents) {
  expect_proved(min(64, m - by * 64) > 0);
  expect_proved(min(64, m - by * 64) <= 64);
  expect_proved(by * 64 + min(64, m - by * 64) <= m);
  expect_proved(max(0, -(by * 64)) == 0);
  expect_proved(min(m, by * 64 + 64) <= m);
  expect_open(min(64, m - by * 64) < 64);
}

TEST_F(TileFacts, SymbolicLoopLimits) {
  expect_proved(q < n);
  expect_proved(q <= n - 1);
  expect_proved(q * 64 + 63 < n * 64);
  expect_proved(q * 8 + i / 8 < n * 8);
  expect_proved(q * 4 + 3 < 4 * n);
  expect_open(q + 1 < n);
  const Var r("r", int64);
  facts.bind_loop(r, q, n);
  expect_proved(q <= r);
  expect_proved(r < n);
  expect_proved(r - q < n);
  expect_open(q < r);
}

// That a loop runs at all is known inside of it only, and that is where its variable is.
TEST_F(TileFacts, LoopsMayNotRun) {
  expect_open(n > 0);
  expect_open(m > 0);
  expect_proved(q + n > 0);
  expect_proved(m - by > 0);
  const Var origin("origin", int64);
  facts.bind_value(origin, by * 64);
  expect_proved(origin < m);
}

TEST_F(TileFacts, RoundingUpAndDown) {
  expect_proved(ceildiv(n, 64) * 64 >= n);
  expect_proved(ceildiv(n, 64) * 64 - n < 64);
  expect_proved(n / 64 * 64 <= n);
  expect_proved(n - n / 64 * 64 == n % 64);
  expect_proved(n - n / 64 * 64 < 64);
  expect_open(n / 64 * 64 == n);
}

TEST_F(TileFacts, Im2colCoordinates) {
  // 14 x 14 output pixels, a 3 x 3 window of stride 2 and padding 1, 64 channels.
  const Var step("step", int64);
  facts.bind(step, {0, 1 << 20});
  const Expr row = step * 128 + tid;
  const Expr column = step * 32 + i % 32;
  const Expr h = row / 14 % 14 * 2 + column / 192 % 3 - 1;
  expect_proved(row / 14 % 14 < 14);
  expect_proved(row % 14 >= 0);
  expect_proved(h >= -1);
  expect_proved(h < 28);
  expect_open(h >= 0);
  EXPECT_EQ(facts.bounds(h), (Interval{-1, 27}));
  EXPECT_TRUE(facts.proves_equal(row / 196 * 196 + row / 14 % 14 * 14 + row % 14, row));
}

TEST_F(TileFacts, Assumptions) {
  facts.assume(by * 64 + 64 <= m && q + 4 < n);
  expect_proved(by * 64 + i < m);
  expect_proved(by * 64 + 63 < m);
  expect_proved(q + 3 < n);
  expect_open(q + 5 < n);
  const Var flag("flag", bool_);
  facts.assume(flag);
  expect_proved(flag);
  facts.assume(x == n);
  expect_proved(q < x);
}

TEST_F(TileFacts, NamedValues) {
  const Var origin("origin", int64);
  const Var inside("inside", bool_);
  facts.bind_value(origin, by * 64 + i);
  facts.bind_value(inside, q < n);
  expect_proved(origin >= 0);
  expect_proved(origin - i < m);
  expect_proved(inside);
  EXPECT_TRUE(facts.proves_equal(origin - by * 64, i));
  EXPECT_EQ(facts.divisor(origin - i), 64);
}

// ---- Wrapping ----

TEST_F(TileFacts, UnboundedSumsMayWrap) {
  expect_open(x + 1 > x);
  expect_open(x * 2 >= x || x < 0);
  expect_proved(x >= x);
  expect_proved(x == x + 0 * s);
  facts.bind(x, {0, Interval::max - 1});
  expect_proved(x + 1 > x);
  expect_open(x + 2 > x);
  expect_open(x * x >= 0);
}

TEST_F(TileFacts, EqualityHoldsModulo2To64) {
  const Var y("y", int64);
  EXPECT_TRUE(facts.proves_equal(x * y + 4, 4 + y * x));
  EXPECT_TRUE(facts.proves_equal((x + 1) * (y - 1), x * y - x + y - 1));
  EXPECT_TRUE(facts.proves_equal((x + y) * 4 - y * 4, x * 4));
  EXPECT_FALSE(facts.proves_equal(x * 2 / 2, x));
  EXPECT_FALSE(facts.proves_equal(x, y));
  EXPECT_FALSE(facts.proves_equal(x, cast(x, int32)));
  EXPECT_FALSE(facts.proves_equal(x, Expr()));
}

TEST_F(TileFacts, NarrowIntegersWrapAtTheirOwnWidth) {
  EXPECT_EQ(facts.bounds(s + 1), (Interval{INT32_MIN, INT32_MAX}));
  EXPECT_EQ(facts.bounds(cast(s, int64) + 1), (Interval{INT32_MIN + 1LL, INT32_MAX + 1LL}));
  expect_open(s + 1 > s);
  expect_proved(cast(s, int64) + 1 > cast(s, int64));
  const Var u("u", uint64);
  expect_open(u < make_int(-1, uint64));
  expect_open(cast(u, int64) >= 0);
}

// ---- Binding ----

TEST_F(TileFacts, BindingAgainForgets) {
  facts.bind_loop(q, 0, 5);
  EXPECT_EQ(facts.bounds(q), (Interval{0, 4}));
  expect_open(q < n);
  facts.bind_value(q, i + 1);
  EXPECT_EQ(facts.bounds(q), (Interval{1, 64}));
  facts.bind(q, {-3, 3});
  EXPECT_EQ(facts.bounds(q), (Interval{-3, 3}));
  facts.bind_value(q, q + 1);
  EXPECT_EQ(facts.bounds(q), (Interval{-2, 4}));
}

TEST_F(TileFacts, EmptyLoopsAndContradictionsDoNoHarm) {
  facts.bind_loop(x, 5, 5);
  EXPECT_LE(facts.bounds(x).lo, facts.bounds(x).hi);
  facts.bind_loop(x, 0, Interval::min);
  (void)facts.bounds(x * 3 / 2);
  facts.assume(x < x - 1);
  facts.bind(x, {3, 2});
  facts.bind_divisor(x, 0);
  facts.bind_divisor(x, 1 << 20);
  (void)facts.simplify(x / 7 + min(x, 3) % 5);
}

TEST_F(TileFacts, LoopsThatNameThemselvesEnd) {
  facts.bind_loop(x, 0, x + 1);
  (void)facts.bounds(x * 2 + 1);
  const Var y("y", int64);
  facts.bind_loop(x, 0, y / 4 * 8);
  facts.bind_loop(y, 0, x / 4 * 8);
  (void)facts.simplify(min(x / 4 * 4, y) % 3 + y / 4);
}

TEST_F(TileFacts, Divisors) {
  EXPECT_EQ(facts.divisor(by * 64), 64);
  EXPECT_EQ(facts.divisor(by * 64 + bx * 48), 16);
  EXPECT_EQ(facts.divisor(by * 64 + 8), 8);
  EXPECT_EQ(facts.divisor(by * 64 + i), 1);
  EXPECT_EQ(facts.divisor(x * 0), 0);
  EXPECT_EQ(facts.divisor(i / 64), 0);
  EXPECT_EQ(facts.divisor(min(by * 64, bx * 32)), 32);
  EXPECT_EQ(facts.divisor(by * 64 / 16), 4);
  EXPECT_EQ(facts.divisor(by * 64 % 48), 16);
  // Three is lost where the product may wrap; the power of two is not.
  EXPECT_EQ(facts.divisor(x * 12), 4);
  facts.bind_divisor(x, 8);
  facts.bind_divisor(x, 12);
  EXPECT_EQ(facts.divisor(x), 24);
}

// ---- Against all values ----

// All intervals within [-limit, limit], or [0, 1] for bool.
std::vector<Interval> small_intervals(DType dtype) {
  const int limit = dtype == bool_ ? 1 : 4;
  std::vector<Interval> result;
  for (int lo = dtype == bool_ ? 0 : -limit; lo <= limit; ++lo) {
    for (int hi = lo; hi <= limit; ++hi) result.push_back({lo, hi});
  }
  return result;
}

void check_interval(BinaryOp op, DType dtype, const Interval& a, const Interval& b) {
  const Interval result = apply(op, a, b, gives_bool(op) ? bool_ : dtype);
  for (std::int64_t x = a.lo; x <= a.hi; ++x) {
    for (std::int64_t y = b.lo; y <= b.hi; ++y) {
      const Expr e = raw::binary(op, raw::int_const(x, dtype), raw::int_const(y, dtype));
      ASSERT_TRUE(result.contains(test::evaluate(e, {}))) << e.to_string();
    }
  }
}

TEST(IntervalLaw, HoldsAllResults) {
  for (int i = 0; i <= static_cast<int>(BinaryOp::logical_or); ++i) {
    const auto op = static_cast<BinaryOp>(i);
    const DType dtype = operands_of(op) == Operands::boolean ? bool_ : int64;
    const std::vector<Interval> intervals = small_intervals(dtype);
    for (const Interval& a : intervals) {
      for (const Interval& b : intervals) check_interval(op, dtype, a, b);
    }
  }
}

test::Pick rapidcheck_pick() {
  return [](int lo, int hi) { return *rc::gen::inRange(lo, hi + 1); };
}

RC_GTEST_PROP(FactsLaw, BoundsAndDivisorsHoldForEveryValue, ()) {
  const test::Pick pick = rapidcheck_pick();
  const test::World world(pick);
  test::RandomExpr random(world, pick);
  for (int k = 0; k < 20; ++k) {
    const Expr e = random.integer(pick(0, 5));
    const Interval bounds = world.facts.bounds(e);
    const std::int64_t divisor = world.facts.divisor(e);
    RC_LOG() << e.to_string() << " in " << bounds.lo << " .. " << bounds.hi << " by " << divisor;
    world.for_each([&](const test::Assignment& values) {
      const std::int64_t value = test::evaluate(e, values);
      RC_ASSERT(bounds.contains(value));
      RC_ASSERT((divisor == 0 ? value == 0 : value % divisor == 0));
    });
  }
}

RC_GTEST_PROP(FactsLaw, WhatIsProvedHoldsForEveryValue, ()) {
  const test::Pick pick = rapidcheck_pick();
  const test::World world(pick);
  test::RandomExpr random(world, pick);
  for (int k = 0; k < 20; ++k) {
    const Expr condition = random.condition(pick(0, 4));
    const bool always = world.facts.proves(condition);
    const bool never = world.facts.proves(raw::unary(UnaryOp::logical_not, condition));
    RC_LOG() << condition.to_string();
    if (!always && !never) continue;
    world.for_each([&](const test::Assignment& values) {
      const bool holds = test::evaluate(condition, values) != 0;
      RC_ASSERT(holds || !always);
      RC_ASSERT(!holds || !never);
    });
  }
}

RC_GTEST_PROP(FactsLaw, AssumptionsHoldWhereTheConditionDoes, ()) {
  const test::Pick pick = rapidcheck_pick();
  test::World world(pick);
  test::RandomExpr random(world, pick);
  const Expr assumed = random.condition(pick(0, 2));
  const Expr condition = random.condition(pick(0, 3));
  world.facts.assume(assumed);
  const bool always = world.facts.proves(condition);
  RC_LOG() << condition.to_string() << " if " << assumed.to_string();
  if (!always) return;
  world.for_each([&](const test::Assignment& values) {
    if (test::evaluate(assumed, values) == 0) return;
    RC_ASSERT(test::evaluate(condition, values) != 0);
  });
}

}  // namespace
}  // namespace tilecopy::ir
