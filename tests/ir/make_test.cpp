#include "ir/make.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/numeric_value.h"
#include "ir/evaluate.h"
#include "ir/raw.h"
#include "tilecopy/error.h"

namespace tilecopy::ir {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
const Expr nothing;

Var var(DType dtype = int64, const std::string& name = "x") { return Var(name, dtype); }

Buffer tile(std::vector<Expr> shape, DType dtype = int64) {
  auto node = std::make_shared<BufferNode>();
  *node = {"T", dtype, Scope::shared, std::move(shape), {}, {}};
  return Buffer(node);
}

Expr element() { return make_load(tile({make_int(8)}), {make_int(0)}); }

bool is_literal(const Expr& e) {
  if (const auto* c = as<IntConst>(e)) return c->literal;
  return get<FloatConst>(e).literal;
}

template <typename F>
ErrorReport report_of(F run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.report();
  }
  return {.code = "none",
          .name = {},
          .headline = {},
          .needed = {},
          .found = {},
          .help = {},
          .where = {}};
}

template <typename F>
std::string code_of(F run) {
  return report_of(run).code;
}

// ---- Dtypes ----

TEST(Make, LiteralsTakeTheDtypeOfTheOtherSide) {
  EXPECT_EQ((var(int8) + 1).dtype(), int8);
  EXPECT_EQ((1 + var(uint32)).dtype(), uint32);
  EXPECT_EQ((var(float16) * 2).dtype(), float16);
  EXPECT_EQ((var(float32) * 0.1).dtype(), float32);
  EXPECT_EQ(get<FloatConst>(get<Binary>(var(float32) * 0.1).b).value, double{0.1f});
  EXPECT_EQ(select(var(bool_), var(int16), 3).dtype(), int16);
  EXPECT_EQ((var(int8) < 1).dtype(), bool_);
}

TEST(Make, TwoLiteralsStayLiteral) {
  const Expr five = Expr(2) + 3;
  EXPECT_TRUE(is_literal(five));
  EXPECT_EQ((var(int8) + five).dtype(), int8);
  const Expr half = Expr(1) / 2.0;
  EXPECT_EQ(half.dtype(), float64);
  EXPECT_TRUE(is_literal(half));
  EXPECT_EQ(get<FloatConst>(half).value, 0.5);
  EXPECT_TRUE(is_literal(-Expr(1)));
  EXPECT_FALSE(is_literal(make_int(1) + 2));
  EXPECT_FALSE(is_literal(cast(1, int64)));
}

TEST(Make, LiteralsKeepTheirValue) {
  EXPECT_EQ(code_of([] { var(int8) + 128; }), "E0409");
  EXPECT_EQ(code_of([] { var(int8) + -128; }), "none");
  EXPECT_EQ(code_of([] { var(uint8) + -1; }), "E0409");
  EXPECT_EQ(const_int(get<Binary>(var(uint64) + -1).b), -1);
  EXPECT_EQ(report_of([] { var(uint8) + 256; }).found, "256");
}

TEST(Make, SignedIntegersWiden) {
  const Expr sum = var(int32) + var(int64);
  EXPECT_EQ(sum.dtype(), int64);
  EXPECT_EQ(get<Binary>(sum).a.node()->kind, ExprKind::Cast);
  EXPECT_EQ((var(int64) < var(int8)).dtype(), bool_);
  EXPECT_EQ((var(int16) + make_int(1)).dtype(), int64);
}

TEST(Make, OtherDtypesDoNotMix) {
  EXPECT_EQ(code_of([] { var(int32) + 1.5; }), "E0409");
  EXPECT_EQ(code_of([] { var(int32) + var(float32); }), "E0409");
  EXPECT_EQ(code_of([] { var(int32) + var(uint32); }), "E0409");
  EXPECT_EQ(code_of([] { var(uint8) + var(uint16); }), "E0409");
  EXPECT_EQ(code_of([] { var(float16) + var(bfloat16); }), "E0409");
  EXPECT_EQ(code_of([] { var(bool_) == var(int32); }), "E0409");
  EXPECT_EQ(code_of([] { var(bool_) && 1; }), "E0409");
  EXPECT_EQ(code_of([] { select(var(bool_), var(int32), var(float32)); }), "E0409");
}

TEST(Make, OperationsTakeTheirOwnOperands) {
  EXPECT_EQ(code_of([] { var(float32) % var(float32); }), "E0409");
  EXPECT_EQ(code_of([] { var(float32) & var(float32); }), "E0409");
  EXPECT_EQ(code_of([] { var(bool_) + var(bool_); }), "E0409");
  EXPECT_EQ(code_of([] { var(int32) && var(int32); }), "E0409");
  EXPECT_EQ(code_of([] { !var(int32); }), "E0409");
  EXPECT_EQ(code_of([] { exp(var(int32)); }), "E0409");
  EXPECT_EQ(code_of([] { -var(bool_); }), "E0409");
  EXPECT_EQ(code_of([] { var(bool_) == var(bool_); }), "none");
  const ErrorReport report = report_of([] { var(float32) % 2; });
  EXPECT_EQ(report.needed, "an integer for %");
  EXPECT_EQ(report.found, "float32");
}

TEST(Make, ErrorsCarryTheUsersLine) {
  const int line = __LINE__ + 1;
  const ErrorReport report = report_of([] { var(int32) + var(float32); });
  EXPECT_EQ(report.where.line, line);
  EXPECT_EQ(std::string(report.where.file), __FILE__);
}

TEST(Make, EmptyExpressionsAndWrongConditionsAreErrors) {
  EXPECT_EQ(code_of([] { nothing + 1; }), "E0411");
  EXPECT_EQ(code_of([] { -nothing; }), "E0411");
  EXPECT_EQ(code_of([] { (void)nothing.dtype(); }), "E0411");
  EXPECT_EQ(code_of([] { (void)Var(make_int(1)).name(); }), "E0411");
  EXPECT_EQ(code_of([] { (void)Buffer().shape(); }), "E0411");
  EXPECT_EQ(code_of([] { make_load(Buffer(), {}); }), "E0411");
  EXPECT_EQ(code_of([] { select(var(int32), 1, 2); }), "E0420");
  EXPECT_EQ(code_of([] { select(nothing, 1, 2); }), "E0411");
  EXPECT_EQ(code_of([] { make_if(var(int32), nullptr); }), "E0420");
  EXPECT_EQ(code_of([] { make_load(tile({make_int(4)}), {var(float32)}); }), "E0420");
  EXPECT_EQ(code_of([] { make_store(tile({make_int(4)}), {var(bool_)}, 1); }), "E0420");
}

TEST(Make, IndicesAndStoredValuesAreConverted) {
  const Expr load = make_load(tile({make_int(4)}, float16), {var(int32)}, 0.1);
  EXPECT_EQ(get<Load>(load).indices[0].dtype(), int64);
  EXPECT_EQ(get<Load>(load).safe.dtype(), float16);
  const Stmt store = make_store(tile({make_int(4)}, int8), {var(int16)}, 300);
  EXPECT_EQ(get<Store>(store).indices[0].dtype(), int64);
  EXPECT_EQ(const_int(get<Store>(store).value), 44);
}

TEST(Make, DeepTreesAreAnError) {
  const Var x = var();
  Expr e = x;
  for (int i = 1; i < max_expr_depth; ++i) e = e + x;
  EXPECT_EQ(e.node()->depth, max_expr_depth);
  EXPECT_EQ(code_of([&] { e + x; }), "E0427");
  EXPECT_EQ(code_of([&] { abs(e); }), "E0427");
  EXPECT_EQ(code_of([&] { cast(e, int32); }), "E0427");
  EXPECT_EQ(code_of([&] { select(e == 0, 1, x); }), "E0427");
  EXPECT_EQ(code_of([&] { make_load(tile({make_int(8)}), {e}); }), "E0427");
}

// ---- Folding ----

constexpr DType int_dtypes[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};

std::int64_t corner_or_random(DType dtype) {
  const auto bits = *rc::gen::arbitrary<std::int64_t>();
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return test::stored(bits % 70, dtype);
    case 1: return test::stored(least >> (64 - tilecopy::bits(dtype)), dtype);
    case 2: return test::stored(-(least >> (64 - tilecopy::bits(dtype))) - 1, dtype);
    default: return test::stored(bits, dtype);
  }
}

// What each operation gives, against a second evaluator.
RC_GTEST_PROP(Fold, Integers, ()) {
  const DType dtype =
      *rc::gen::elementOf(std::vector<DType>(std::begin(int_dtypes), std::end(int_dtypes)));
  const Expr a = make_int(corner_or_random(dtype), dtype);
  const Expr b = make_int(corner_or_random(dtype), dtype);
  for (int i = 0; i <= static_cast<int>(BinaryOp::bit_or); ++i) {
    const auto op = static_cast<BinaryOp>(i);
    const std::int64_t expected = test::evaluate(raw::binary(op, a, b), {});
    Expr folded;
    try {
      folded = make_binary(op, a, b);
    } catch (const UserError& error) {
      RC_ASSERT(dtype == int64 && error.code() == "E0410");
      continue;
    }
    RC_LOG() << raw::binary(op, a, b).to_string() << " of " << to_string(dtype) << "\n";
    RC_ASSERT(const_int(folded).has_value());
    RC_ASSERT(*const_int(folded) == expected);
  }
}

RC_GTEST_PROP(Fold, IntegerCasts, ()) {
  const std::vector<DType> all(std::begin(int_dtypes), std::end(int_dtypes));
  const DType from = *rc::gen::elementOf(all);
  const DType to = *rc::gen::elementOf(all);
  const Expr a = make_int(corner_or_random(from), from);
  RC_ASSERT(*const_int(make_cast(a, to)) == test::evaluate(raw::cast(a, to), {}));
}

// A float holds each narrower type's exact results closely enough to round them once more.
RC_GTEST_PROP(Fold, NarrowFloats, ()) {
  const DType dtype = *rc::gen::element(float8_e4m3fn, float8_e5m2, float16, bfloat16);
  const auto number = [&] {
    const float scale = std::ldexp(1.0f, *rc::gen::inRange(-20, 20));
    const float x = scale * static_cast<float>(*rc::gen::inRange(-4096, 4096));
    return numeric::to_double(numeric::from_double(x, dtype));
  };
  const auto a = static_cast<float>(number());
  const auto b = static_cast<float>(number());
  const auto expect = [&](BinaryOp op, float exact) {
    const double expected = numeric::to_double(numeric::from_double(exact, dtype));
    const Expr folded = make_binary(op, make_float(a, dtype), make_float(b, dtype));
    const double found = get<FloatConst>(folded).value;
    RC_ASSERT(std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(expected));
  };
  expect(BinaryOp::add, a + b);
  expect(BinaryOp::sub, a - b);
  expect(BinaryOp::mul, a * b);
  if (b != 0) expect(BinaryOp::div, a / b);
}

RC_GTEST_PROP(Fold, Floats32, ()) {
  const auto a = *rc::gen::arbitrary<float>();
  const auto b = *rc::gen::arbitrary<float>();
  const auto value = [&](BinaryOp op) {
    return get<FloatConst>(make_binary(op, make_float(a, float32), make_float(b, float32))).value;
  };
  RC_ASSERT(value(BinaryOp::add) == double{a + b});
  RC_ASSERT(value(BinaryOp::sub) == double{a - b});
  RC_ASSERT(value(BinaryOp::mul) == double{a * b});
  if (b != 0) RC_ASSERT(value(BinaryOp::div) == double{a / b});
  const float size = std::fabs(a);
  const Expr root = make_unary(UnaryOp::sqrt, make_float(size, float32));
  RC_ASSERT(get<FloatConst>(root).value == double{std::sqrt(size)});
}

TEST(Fold, FloatCorners) {
  const Expr nan = make_float(std::nan(""), float32);
  EXPECT_TRUE(std::isnan(get<FloatConst>(min(nan, make_float(1, float32))).value));
  const Expr zero = make_float(0.0, float32);
  EXPECT_TRUE(std::signbit(get<FloatConst>(min(zero, make_float(-0.0, float32))).value));
  EXPECT_FALSE(as<FloatConst>(-nan));
  EXPECT_EQ(get<FloatConst>(floor(make_float(-1.5, float16))).value, -2);
  EXPECT_EQ(get<FloatConst>(ceil(make_float(-1.5, float16))).value, -1);
  EXPECT_EQ(get<FloatConst>(abs(make_float(-1.5, float16))).value, 1.5);
  EXPECT_EQ(get<FloatConst>(make_float(1e9, float8_e4m3fn)).value, 448);
  EXPECT_EQ(const_int(nan == nan), 0);
  EXPECT_EQ(const_int(nan != nan), 1);
  EXPECT_EQ(const_int(cast(nan, int32)), 0);
  EXPECT_EQ(const_int(cast(1e30, int32)), std::numeric_limits<std::int32_t>::max());
}

TEST(Fold, FunctionsWhoseBitsDifferStay) {
  const Expr one = make_float(1, float32);
  for (const Expr& e : {exp(one), exp2(one), log(one), log2(one), sin(one), cos(one), tanh(one)}) {
    EXPECT_EQ(e.node()->kind, ExprKind::Unary) << e.to_string();
  }
}

TEST(Fold, OverflowOfInt64IsAnError) {
  const Expr big = make_int(most);
  const Expr small = make_int(least);
  EXPECT_EQ(code_of([&] { big + 1; }), "E0410");
  EXPECT_EQ(code_of([&] { small - 1; }), "E0410");
  EXPECT_EQ(code_of([&] { big * 2; }), "E0410");
  EXPECT_EQ(code_of([&] { small / -1; }), "E0410");
  EXPECT_EQ(code_of([&] { -small; }), "E0410");
  EXPECT_EQ(code_of([&] { abs(small); }), "E0410");
  EXPECT_EQ(code_of([&] { Expr(most) + 1; }), "E0410");
  EXPECT_EQ(report_of([&] { big + 1; }).found, "9223372036854775807 + 1");
  EXPECT_EQ(const_int(make_int(127, int8) + 1), -128);
  EXPECT_EQ(const_int(make_int(least) / 0), 0);
  EXPECT_EQ(const_int(make_int(1) << 63), least);
}

TEST(Fold, LogicAndChoice) {
  EXPECT_EQ(const_int(Expr(true) && false), 0);
  EXPECT_EQ(const_int(!Expr(false)), 1);
  EXPECT_EQ(const_int(select(Expr(3) < 4, 7, 8)), 7);
  EXPECT_EQ(const_int(ceildiv(130, 64)), 3);
  EXPECT_EQ(ceildiv(var(), 64).to_string(), "(x + 63) / 64");
}

// ---- Identities ----

TEST(Identities, OfTrivialOperands) {
  const Var x = var();
  const Var c = var(bool_);
  for (const Expr& e : {x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1, min(x, x), max(x, x), -(-x)}) {
    EXPECT_EQ(e.node(), x.node()) << e.to_string();
  }
  for (const Expr& e : {c && true, true && c, c || false, false || c, !!c}) {
    EXPECT_EQ(e.node(), c.node()) << e.to_string();
  }
  for (const Expr& e : {x * 0, 0 * x, x % 1, c && false, false && c}) {
    EXPECT_EQ(const_int(e), 0) << e.to_string();
  }
  EXPECT_EQ(const_int(c || true), 1);
}

TEST(Identities, FloatsKeepTheirSignAndNaN) {
  const Var x = var(float32);
  EXPECT_EQ((x + 0).node()->kind, ExprKind::Binary);
  EXPECT_EQ((x * 0).node()->kind, ExprKind::Binary);
  EXPECT_EQ((x * 1).node()->kind, ExprKind::Binary);
  EXPECT_EQ(min(x, x).node()->kind, ExprKind::Binary);
}

TEST(Identities, LoadsStay) {
  const Var c = var(bool_);
  EXPECT_EQ((element() * 0).node()->kind, ExprKind::Binary);
  EXPECT_EQ((element() % 1).node()->kind, ExprKind::Binary);
  EXPECT_EQ((element() == 0 && false).node()->kind, ExprKind::Binary);
  EXPECT_EQ((element() * 1).node()->kind, ExprKind::Load);
}

// ---- Equality and strides ----

TEST(Equal, ComparesStructure) {
  const Var x = var();
  EXPECT_TRUE(equal(x * 2 + 1, x * 2 + 1));
  EXPECT_FALSE(equal(x * 2 + 1, 1 + x * 2));
  EXPECT_FALSE(equal(x, var()));
  EXPECT_FALSE(equal(make_int(1), make_int(1, int32)));
  EXPECT_TRUE(equal(make_int(1), Expr(1)));
  EXPECT_FALSE(equal(make_float(0.0, float32), make_float(-0.0, float32)));
  EXPECT_TRUE(equal(make_float(std::nan(""), float32), make_float(std::nan(""), float32)));
  EXPECT_TRUE(equal(nothing, nothing));
  EXPECT_FALSE(equal(x, nothing));
  const Buffer t = tile({make_int(8)});
  EXPECT_TRUE(equal(make_load(t, {x}), make_load(t, {x})));
  EXPECT_FALSE(equal(make_load(t, {x}), make_load(tile({make_int(8)}), {x})));
  EXPECT_FALSE(equal(make_load(t, {x}), make_load(t, {x}, 1)));
}

TEST(Strides, AreRowMajorUnlessGiven) {
  const Var n = var(int64, "n");
  const std::vector<Expr> strides = strides_of(tile({make_int(4), n, make_int(8)}));
  EXPECT_EQ(strides[0].to_string(), "n * 8");
  EXPECT_EQ(const_int(strides[1]), 8);
  EXPECT_EQ(const_int(strides[2]), 1);
  EXPECT_TRUE(strides_of(tile({})).empty());
  EXPECT_EQ(code_of([] { strides_of(tile({make_int(2), make_int(most), make_int(2)})); }), "E0410");
}

}  // namespace
}  // namespace tilecopy::ir
