#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "ir/facts.h"
#include "ir/make.h"
#include "ir/order.h"
#include "ir/random_expr.h"

namespace tilecopy::ir {
namespace {

// Names as in a kernel of 64 x 128 tiles: m and n rows and columns, tid one of 128 threads.
class Simplify : public ::testing::Test {
 protected:
  Simplify() {
    facts.bind(m, {0, std::int64_t{1} << 47});
    facts.bind(n, {0, std::int64_t{1} << 47});
    facts.bind(ld, {-(std::int64_t{1} << 47), std::int64_t{1} << 47});
    facts.bind_loop(bx, 0, ceildiv(n, 128));
    facts.bind_loop(by, 0, ceildiv(m, 64));
    facts.bind_loop(i, 0, 64);
    facts.bind_loop(j, 0, 128);
    facts.bind_loop(v, 0, 8);
    facts.bind(tid, {0, 127});
    facts.bind(step, {0, 1 << 20});
  }

  void expect(const Expr& e, const std::string& simple) const {
    EXPECT_EQ(facts.simplify(e).to_string(), simple) << "from " << e.to_string();
  }

  static Var int_var(const char* name) { return Var(name, int64); }

  Var m = int_var("m"), n = int_var("n"), ld = int_var("ld"), bx = int_var("bx"),
      by = int_var("by"), i = int_var("i"), j = int_var("j"), v = int_var("v"),
      tid = int_var("tid"), step = int_var("step"), x = int_var("x"), y = int_var("y");
  Facts facts;
};

TEST_F(Simplify, Sums) {
  expect(by * 64 + 64 - by * 64, "64");
  expect(i + by * 64, "by * 64 + i");
  expect(j + bx * 128 + ld * (by * 64 + i), "(by * 64 + i) * ld + bx * 128 + j");
  expect((by * 64 + i) * n - by * 64 * n, "i * n");
  expect(m * n + 4 - n * m, "4");
  expect((i + 1) * ld - i * ld, "ld");
  expect(x * 64 + y * 64, "(x + y) * 64");
  expect(0 - x, "-x");
  expect(3 - x - 5, "-2 - x");
  expect(x - x * 2, "-x");
  expect((x << 3) + x * 8, "x * 16");
  expect(64 - (by * 64 + 64 - m), "m - by * 64");
}

TEST_F(Simplify, Quotients) {
  expect((by * 64 + i) / 64, "by");
  expect((by * 64 + i) % 64, "i");
  expect((tid * 8 + v) / 64, "tid / 8");
  expect((tid * 8 + v) % 64, "tid % 8 * 8 + v");
  expect(i * 2 / 4, "i / 2");
  expect((n + 127) / 128 * 128 / 128, "(n + 127) / 128");
  expect(n / 4 / 8, "n / 32");
  expect((n / 4 + 3) / 8, "(n + 12) / 32");
  expect(n % 64 / 64, "0");
  expect(n % 64 % 16, "n % 16");
  expect(n % 64 / 16, "n / 16 % 4");
  expect((n % 64 + 128) % 64, "n % 64");
  expect((i + 64) / 64, "1");
  expect((i - 64) / 64, "-1");
  expect((i * ld + x) / 1, "i * ld + x");
  expect(x % 0 + x / 0, "0");
}

TEST_F(Simplify, TilesThatDoNotQuiteFit) {
  const Var r("r", int64);
  facts.bind(r, {0, 64});
  expect((by * 64 + r) / 64, "by + r / 64");
  expect((by * 64 + r) / 128, "(by * 64 + r) / 128");
  expect((by * 64 + r) % 128, "(by * 64 + r) % 128");
  facts.bind(r, {-1, 63});
  expect((by * 64 + r) / 128, "(by * 64 + r) / 128");
}

// Parts of a sum may leave int64 where the whole does not.
TEST_F(Simplify, LargePartsOfSums) {
  const std::int64_t large = std::int64_t{1} << 62;
  facts.bind(x, {large, large + 2});
  facts.bind(y, {large / 32, large / 32 + 1});
  expect((x * 3 - y * 64) / 64, "(x * 3 - y * 64) / 64");
  expect((x * 3 - y * 65) % 65, "(x * 3 - y * 65) % 65");
  expect(x / 3 / 2, "x / 6");
  expect((n / 8 + (large / 4 + 1)) / 2, "(n / 8 + 1152921504606846977) / 2");
  expect(min(x, y) - x, "y - x");
  facts.bind(y, {0, large + 1});
  expect(min(x - 1, y) - x, "min(y - x, -1)");
  facts.bind(y, {-large, large + 1});
  expect(min(x - 1, y) - x, "min(y, x - 1) - x");
}

TEST_F(Simplify, QuotientsAndRemaindersJoin) {
  expect(n / 64 * 64 + n % 64, "n");
  expect(tid / 8 * 64 + tid % 8 * 8, "tid * 8");
  expect((tid >> 3) * 8 + (tid & 7), "tid");
  expect(tid % 32 / 4 * 4 + tid % 4 + tid / 32 * 32, "tid");
  expect((n / 7 * 7 + n % 7 + 3) / 2, "(n + 3) / 2");
  const Expr row = step * 128 + tid;
  expect(row / 196 * 196 + row / 14 % 14 * 14 + row % 14, "step * 128 + tid");
}

TEST_F(Simplify, Im2col) {
  const Expr row = step * 128 + tid;
  const Expr column = step * 32 + i % 32;
  expect(row / 14 / 14, "(step * 128 + tid) / 196");
  expect(row % 196 / 14, "(step * 128 + tid) / 14 % 14");
  expect(column % 64, "step % 2 * 32 + i % 32");
  expect(column / 64 / 3, "step / 6");
  expect(column / 64 % 3, "step / 2 % 3");
  const Expr h = row / 14 % 14 * 2 + column / 192 - 1;
  const Expr w = row % 14 * 2 + column / 64 % 3 - 1;
  expect(((row / 196 * 28 + h) * 28 + w) * 64 + column % 64,
         "(step * 128 + tid) / 14 * 3584 + step / 6 * 1792 + (step * 128 + tid) % 14 * 128 + "
         "step % 6 * 32 + i % 32 - 1856");
}

TEST_F(Simplify, DivisorsOfVariables) {
  facts.bind_divisor(n, 64);
  expect(n % 16, "0");
  expect((n + i) % 64, "i");
  expect((n + i) / 64, "n / 64");
  expect(n / 64 * 64, "n / 64 * 64");
  expect((n + 63) / 64, "n / 64");
}

TEST_F(Simplify, SymbolicDivisors) {
  facts.bind(n, {1, 1 << 20});
  facts.bind_loop(x, 0, n);
  expect((i * n + x) / n, "i");
  expect((i * n + x) % n, "x");
  expect(((i + 1) * n + x) / n, "i + 1");
  expect(n / n, "1");
  expect(n * 5 % n, "0");
  expect((i * n + x + 1) % n, "(i * n + x + 1) % n");
  expect(y / n * n + y % n, "y");
  // A divisor of 0 gives 0.
  facts.bind(n, {0, 1 << 20});
  EXPECT_FALSE(facts.proves_equal(y / n * n + y % n, y));
  EXPECT_FALSE(facts.proves_equal(n / n, 1));
}

TEST_F(Simplify, MinimaAndMaxima) {
  expect(min(i, 63), "i");
  expect(max(0, -(by * 64)), "0");
  expect(min(64, m - by * 64), "min(m - by * 64, 64)");
  expect(min(min(x, 8), min(5, x)), "min(x, 5)");
  expect(max(max(x, y), x), "max(x, y)");
  expect(min(m, by * 64 + 64) - by * 64, "min(m - by * 64, 64)");
  expect(min(n, bx * 128 + 128) - max(0, bx * 128), "min(n - bx * 128, 128)");
  expect(8 + i - max(i, 3), "min(i + 5, 8)");
  expect(min(x, y) + x, "x + min(x, y)");
  expect(abs(i - 64), "64 - i");
}

TEST_F(Simplify, Comparisons) {
  expect(by * 64 + i <= m - 1, "by * 64 + i < m");
  expect(by * 128 + 64 <= m * 2, "by * 64 + 31 < m");
  expect(i * 4 == j * 4, "i == j");
  expect(i + 3 != j + 5, "i != j + 2");
  expect(!(i < j), "j <= i");
  expect(i >= 63, "62 < i");
  expect(i + j < j + 5, "i < 5");
  expect(j % 2 == 3, "false");
  expect(i * 2 == j * 2 + 1, "false");
  expect(x == x + 1, "false");
  expect(x + y == y + 3, "x == 3");
  expect(x + 1 > x, "x < x + 1");
  expect(by * 64 < m && (i < j || i < 64), "true");
  expect(i < j && i < j, "i < j");
}

TEST_F(Simplify, ChoicesCastsAndLoads) {
  const Var c("c", bool_);
  expect(select(i < 64, i, j), "i");
  expect(select(!c, i, j), "select(c, j, i)");
  expect(select(c, i + 1, 1 + i), "i + 1");
  expect(cast(cast(i, int32), int64) + 1, "i + 1");
  expect(cast(cast(x, int32), int64), "cast(cast(x, int32), int64)");
  expect(cast(cast(x, int32), int16), "cast(x, int16)");
  const Var h("h", float16);
  expect(cast(cast(h, float32), float16), "cast(cast(h, float32), float16)");
  auto node = std::make_shared<BufferNode>();
  *node = {"A", float32, Scope::shared, {make_int(64)}, {}, {}};
  expect(make_load(Buffer(node), {(by * 64 + i) % 64}) + 1.0, "A[i] + float32(1.0)");
}

TEST_F(Simplify, KnownValues) {
  facts.bind_loop(x, 0, 1);
  expect(x + i, "i");
  facts.bind_value(x, i);
  expect(x + 1, "i + 1");
  facts.bind_value(x, by * 64 + i);
  expect(x + 1, "x + 1");
  expect(x - i, "x - i");
  expect(x - i - by * 64, "0");
  expect(x % 64, "x % 64");
}

TEST_F(Simplify, NothingIsAssumedOfUnboundedSums) {
  expect(x * 2 / 2, "x * 2 / 2");
  expect((x * 64 + i) / 64, "(x * 64 + i) / 64");
  expect((x * 64 + i) % 64, "i");
  expect((x * 6 + v / 8) % 3, "x * 6 % 3");
}

TEST_F(Simplify, ConstantsWrapWithoutAnError) {
  const Expr most = make_int(Interval::max);
  EXPECT_EQ(const_int(facts.simplify(raw::binary(BinaryOp::add, most, make_int(1)))),
            Interval::min);
  EXPECT_EQ(const_int(facts.simplify(raw::unary(UnaryOp::neg, make_int(Interval::min)))),
            Interval::min);
  facts.bind_value(x, most);
  EXPECT_EQ(const_int(facts.simplify(x * 2)), -2);
}

// ---- Limits ----

TEST_F(Simplify, HugeTreesAreLeftAlone) {
  Expr shared = x;
  for (int k = 0; k < 18; ++k) shared = shared + shared;
  EXPECT_EQ(facts.simplify(shared).node(), shared.node());
  EXPECT_EQ(facts.bounds(shared), Interval{});
  EXPECT_EQ(facts.divisor(shared), 1);
  EXPECT_FALSE(facts.proves(shared == 0));
  facts.bind_value(y, shared);
  EXPECT_EQ(facts.bounds(y), Interval{});
}

TEST_F(Simplify, DeepTreesStayWithinTheLimit) {
  Expr chain = x;
  for (int k = 0; k < 480; ++k) chain = chain / Var("d", int64);
  EXPECT_LE(facts.simplify(chain).node()->depth, max_expr_depth);
  std::vector<Expr> level;
  for (int k = 0; k < 256; ++k) level.push_back(Var("z" + std::to_string(k), int64) * (k + 1));
  while (level.size() > 1) {
    std::vector<Expr> next;
    for (std::size_t k = 0; k < level.size(); k += 2) next.push_back(level[k] + level[k + 1]);
    level = next;
  }
  EXPECT_LE(facts.simplify(level[0]).node()->depth, max_expr_depth);
}

// ---- Against all values ----

test::Pick rapidcheck_pick() {
  return [](int lo, int hi) { return *rc::gen::inRange(lo, hi + 1); };
}

void check_rewrite(const test::World& world, const Expr& e) {
  const Expr simple = world.facts.simplify(e);
  RC_LOG() << e.to_string() << "  ->  " << simple.to_string();
  RC_ASSERT(size_of(simple) <= size_of(e));
  RC_ASSERT(equal(world.facts.simplify(simple), simple));
  world.for_each([&](const test::Assignment& values) {
    RC_ASSERT(test::evaluate(simple, values) == test::evaluate(e, values));
  });
}

RC_GTEST_PROP(SimplifyLaw, IntegersKeepTheirValue, ()) {
  const test::Pick pick = rapidcheck_pick();
  const test::World world(pick);
  test::RandomExpr random(world, pick);
  for (int k = 0; k < 20; ++k) check_rewrite(world, random.integer(pick(0, 5)));
}

RC_GTEST_PROP(SimplifyLaw, ConditionsKeepTheirValue, ()) {
  const test::Pick pick = rapidcheck_pick();
  const test::World world(pick);
  test::RandomExpr random(world, pick);
  for (int k = 0; k < 20; ++k) check_rewrite(world, random.condition(pick(0, 4)));
}

// Sums of the same terms in another order have one normal form.
RC_GTEST_PROP(SimplifyLaw, EqualSumsLookAlike, ()) {
  const test::Pick pick = rapidcheck_pick();
  const test::World world(pick);
  test::RandomExpr random(world, pick);
  const Expr a = random.integer(1);
  const Expr b = random.integer(1);
  const Expr c = random.integer(1);
  const Expr one =
      world.facts.simplify(raw::binary(BinaryOp::add, raw::binary(BinaryOp::add, a, b), c));
  const Expr two =
      world.facts.simplify(raw::binary(BinaryOp::add, b, raw::binary(BinaryOp::add, c, a)));
  RC_ASSERT(one.to_string() == two.to_string());
  RC_ASSERT(world.facts.proves_equal(one, two));
}

}  // namespace
}  // namespace tilecopy::ir
