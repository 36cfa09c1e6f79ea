// Programs at the edge of the rules that are no errors.
#include <gtest/gtest.h>

#include "errors/error_case.h"
#include "ir/node.h"

namespace tilecopy::test {
namespace {

const ir::Hints& hints_of_last_copy(const Function& f) {
  const auto& body = ir::get<ir::Block>(f.kernel().body).body;
  return ir::get<ir::Copy>(body.back()).hints;
}

Function copy_with(const cuda::CopyOptions& options) {
  return function("f", [&] {
    Buffer a = tensor("A", {8, 8}, float32);
    kernel({1});
    Buffer tile = alloc_shared({8, 8}, float32);
    cuda::copy(a, tile, options);
  });
}

TEST(Legal, AnnotationTurnsAContradictionIntoACombination) {
  cuda::CopyOptions options{.disable_tma = true, .prefer_instruction = "tma"};
  options.annotations = {{"disable_tma", false}};
  const Function f = copy_with(options);
  EXPECT_EQ(hints_of_last_copy(f).disable_tma, false);
  EXPECT_EQ(hints_of_last_copy(f).prefer_instruction, PreferInstruction::tma);

  options.annotations = {{"prefer_instruction", "cp_async"}};
  const Function g = copy_with(options);
  EXPECT_EQ(hints_of_last_copy(g).disable_tma, true);
  EXPECT_EQ(hints_of_last_copy(g).prefer_instruction, PreferInstruction::cp_async);
}

TEST(Legal, AnnotationsBeatEveryOption) {
  cuda::CopyOptions options{.coalesced_width = 2,
                            .eviction_policy = EvictionPolicy::evict_first,
                            .loop_layout = Fragment::linear({8, 8}, 64, 1)};
  const Fragment other = Fragment::linear({8, 8}, 32, 2);
  options.annotations = {
      {"coalesced_width", 4}, {"eviction_policy", "evict_last"}, {"loop_layout", other}};
  const Function f = copy_with(options);
  EXPECT_EQ(hints_of_last_copy(f).coalesced_width, 4);
  EXPECT_EQ(hints_of_last_copy(f).eviction_policy, EvictionPolicy::evict_last);
  EXPECT_EQ(hints_of_last_copy(f).loop_layout, other);
  EXPECT_FALSE(hints_of_last_copy(f).disable_tma.has_value());
}

// The hints of NVIDIA GPUs say nothing to a processor, and still have to be right.
TEST(Legal, HintsMeanNothingToTheCpu) {
  const Function f = copy_with(
      {.coalesced_width = 4, .eviction_policy = "evict_first", .prefer_instruction = "tma"});
  Tensor a({8, 8}, float32);
  EXPECT_NO_THROW(compile(f, "cpu")(a));
}

TEST(Legal, EmptyTensorsDoNothing) {
  const CompiledKernel kernel = compile(function("copy_rows", [] {
    Var n = symbol("n");
    Buffer a = tensor("A", {n, 4}, float32);
    Buffer b = tensor("B", {n, 4}, float32);
    auto [bx] = tilecopy::kernel({ceildiv(n, 8)});
    Buffer tile = alloc_shared({8, 4}, float32);
    copy(a(bx * 8, 0), tile);
    copy(tile, b(bx * 8, 0));
  }));
  Tensor a({0, 4}, float32);
  Tensor b({0, 4}, float32);
  EXPECT_NO_THROW(kernel(a, b));
  EXPECT_NO_THROW(
      kernel(TensorView(nullptr, float32, {0, 4}), TensorView(nullptr, float32, {0, 4})));
  EXPECT_NO_THROW(kernel(TensorView(nullptr, float32, {0, 4}, {7, -3}), b));
}

TEST(Legal, EmptyConstantTensorsAndLoopsDoNothing) {
  const CompiledKernel kernel = compile(function("nothing", [] {
    Buffer a = tensor("A", {0, 4}, float32);
    Buffer b = tensor("B", {4}, float32);
    auto [bx] = tilecopy::kernel({2});
    Buffer tile = alloc_shared({4}, float32);
    fill(tile(range(2, 2)), 7);
    fill(a, 1);
    serial(0, [&](Var k) { b(k) = 1; });
    serial(4, 2, [&](Var k) { b(k) = 1; });
    parallel({Expr(0)}, [&](Var i) { b(i) = cast(bx, float32); });
    copy(a(range(0, 0), 0), tile(range(1, 1)));
  }));
  Tensor a({0, 4}, float32);
  Tensor b({4}, float32);
  kernel(a, b);
  for (float value : b.elements<float>()) EXPECT_EQ(value, 0);
}

const CompiledKernel& strided_add() {
  static const CompiledKernel kernel = compile(function("strided_add", [] {
    Var pitch = symbol("pitch");
    Var step = symbol("step");
    Buffer a = tensor("A", {3, 4}, float32, {pitch, step});
    Buffer b = tensor("B", {3, 4}, float32, {pitch, step});
    tilecopy::kernel({1});
    serial(3, [&](Var row) { parallel({4}, [&](Var i) { b(row, i) = a(row, i) + 1; }); });
  }));
  return kernel;
}

TEST(Legal, InterleavedViewsShareNothing) {
  Tensor both({3, 8}, float32);
  float* data = both.elements<float>().data();
  // The even and the odd columns; the left and the right half of each row.
  strided_add()(TensorView(data, float32, {3, 4}, {8, 2}),
                TensorView(data + 1, float32, {3, 4}, {8, 2}));
  strided_add()(TensorView(data, float32, {3, 4}, {8, 1}),
                TensorView(data + 4, float32, {3, 4}, {8, 1}));
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(both.at<float>(row, 1), 1);
    EXPECT_EQ(both.at<float>(row, 4), 1);
    EXPECT_EQ(both.at<float>(row, 5), 2);
    EXPECT_EQ(both.at<float>(row, 6), 1);
    EXPECT_EQ(both.at<float>(row, 7), 2);
  }
}

TEST(Legal, InputsMayOverlapEachOther) {
  const CompiledKernel kernel = compile(function("add", [] {
    Buffer a = tensor("A", {4}, float32);
    Buffer b = tensor("B", {4}, float32);
    Buffer c = tensor("C", {4}, float32);
    tilecopy::kernel({1});
    parallel({4}, [&](Var i) { c(i) = a(i) + b(i); });
  }));
  Tensor a({4}, float32);
  a.fill_random(1);
  Tensor c({4}, float32);
  kernel(a, a, c);
  EXPECT_EQ(c.at<float>(3), 2 * a.at<float>(3));
}

TEST(Legal, AWindowAsLargeAsThePaddedImage) {
  EXPECT_NO_THROW(function("f", [] {
    Buffer img = tensor("img", {1, 4, 6, 2}, float32);
    kernel({1});
    Buffer col = alloc_shared({1, 128}, float32);
    im2col(img, col, 0, 0, {6, 8}, 1, 1, 1);
    im2col(img, col, 0, 0, 2, 1, {3, 5}, 0);
    im2col(img, col, 0, 0, 1, 100, 1, 0);
  }));
}

TEST(Legal, ARegionOfExtentZeroAtTheEnd) {
  EXPECT_NO_THROW(function("f", [] {
    Buffer a = tensor("A", {8}, float32);
    kernel({1});
    Buffer tile = alloc_shared({8}, float32);
    copy(a(range(8, 8)), tile(range(0, 0)));
    copy(tile(range(0, 4)), tile(range(4, 8)));
  }));
}

TEST(Legal, AnExpressionAlmostTooDeep) {
  Var x("x", float32);
  Expr sum = x;
  for (int i = 0; i < 999; ++i) sum = sum + x;
  EXPECT_THROW(sum + x, UserError);
}

// What a stride of an extent of 1 says moves nothing.
TEST(Legal, AnyStrideOfASingleRow) {
  const CompiledKernel kernel = compile(function("one_row", [] {
    Buffer a = tensor("A", {symbol("n"), 4}, float32);
    tilecopy::kernel({1});
    fill(a, 3);
  }));
  Tensor a({1, 4}, float32);
  TensorView view = a;
  view.strides = {1LL << 62, 1};
  kernel(view);
  EXPECT_EQ(a.at<float>(0, 3), 3);
}

}  // namespace
}  // namespace tilecopy::test
