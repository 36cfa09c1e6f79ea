// What the C++ language records, as kernel text.
#include <gtest/gtest.h>

#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

// The statements that `body` records after A[64, 96], B[n, 64] and tile[64, 96], all of float16.
struct Scene {
  Buffer a, b, tile;
  Var bx, n;
};

Function record(const std::function<void(Scene&)>& body) {
  return function("f", [&] {
    Scene s{{}, {}, {}, {}, symbol("n")};
    s.a = tensor("A", {64, 96}, float16);
    s.b = tensor("B", {s.n, 64}, float16);
    s.bx = kernel({4}, {.threads = 96})[0];
    s.tile = alloc_shared({64, 96}, float16, "tile");
    body(s);
  });
}

std::string recorded(const std::function<void(Scene&)>& body) {
  const std::string before =
      "function f(A: float16[64, 96], B: float16[n, 64]) {\n"
      "  kernel (bx: 4) threads 96 {\n"
      "    tile = alloc_shared float16[64, 96]\n";
  const std::string after = "  }\n}\n";
  const std::string text = record(body).text();
  EXPECT_TRUE(text.starts_with(before) && text.ends_with(after)) << text;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

// ---- Operands ----

TEST(Language, WholeBuffers) {
  EXPECT_EQ(recorded([](Scene& s) { copy(s.a, s.tile); }), "    copy A -> tile\n");
}

TEST(Language, AnElementBorrowsTheExtentsOfTheOtherSide) {
  EXPECT_EQ(recorded([](Scene& s) { copy(s.b(s.bx * 64, 0), s.tile(range(0, 64), range(0, 48))); }),
            "    copy B[bx * 64 : +64, 0 : +48] -> tile[0 : +64, 0 : +48]\n");
  EXPECT_EQ(recorded([](Scene& s) { copy(s.tile, s.b(s.bx, 8)); }),
            "    copy tile -> B[bx : +64, 8 : +96]\n");
}

TEST(Language, AnElementBorrowsOnlyExtentsOtherThanOne) {
  EXPECT_EQ(recorded([](Scene& s) {
              Buffer row = alloc_local({96}, float16, "row");
              copy(s.tile(range(3, 4), range(0, 96)), row(0));
            }),
            "    row = alloc_local float16[96]\n"
            "    copy tile[3, 0 : +96] -> row\n");
}

TEST(Language, AnElementOfHigherRankBorrowsForItsLastDimensions) {
  EXPECT_EQ(recorded([](Scene& s) {
              Buffer row = alloc_local({96}, float16, "row");
              copy(row, s.tile(5, 0));
            }),
            "    row = alloc_local float16[96]\n"
            "    copy row -> tile[5, 0 : +96]\n");
}

TEST(Language, TwoElementsCopyOne) {
  EXPECT_EQ(recorded([](Scene& s) { copy(s.a(1, 2), s.tile(s.bx, 4)); }),
            "    copy A[1 : +1, 2 : +1] -> tile[bx : +1, 4 : +1]\n");
}

TEST(Language, UnitDimensionsMayDifferInNumberAndPlace) {
  EXPECT_EQ(recorded([](Scene& s) {
              Buffer cube = alloc_shared({1, 64, 1, 96}, float16, "cube");
              copy(s.a, cube);
              copy(cube(0, range(0, 64), 0, 7), s.b(range(0, 64), 3));
            }),
            "    cube = alloc_shared float16[1, 64, 1, 96]\n"
            "    copy A -> cube\n"
            "    copy cube[0, 0 : +64, 0, 7] -> B[0 : +64, 3]\n");
}

TEST(Language, ExtentsAreEqualByProof) {
  EXPECT_EQ(recorded([](Scene& s) {
              copy(s.b(range(s.n - 8, s.n), range(0, 64)),
                   s.tile(range(s.bx, s.bx + 8), range(16, 80)));
            }),
            "    copy B[n - 8 : +8, 0 : +64] -> tile[bx : +8, 16 : +64]\n");
}

TEST(Language, AStepOfOneIsNoStep) {
  EXPECT_EQ(recorded([](Scene& s) { fill(s.tile(range(0, 64, 1), 5), 1); }),
            "    fill tile[0 : +64, 5] = float16(1.0)\n");
}

TEST(Language, TransposeMatchesSwappedExtents) {
  EXPECT_EQ(recorded([](Scene& s) { transpose(s.tile(range(0, 64), range(0, 32)), s.b(0, 0)); }),
            "    transpose tile[0 : +64, 0 : +32] -> B[0 : +32, 0 : +64]\n");
}

TEST(Language, FillCastsItsValue) {
  EXPECT_EQ(recorded([](Scene& s) {
              fill(s.tile, 0.1);
              clear(s.tile);
            }),
            "    fill tile = float16(0.0999755859375)\n"
            "    fill tile = float16(0.0)\n");
}

TEST(Language, Im2col) {
  EXPECT_EQ(recorded([](Scene& s) {
              Buffer img = alloc_shared({2, 8, 12, 4}, float16, "img");
              im2col(img, s.tile, s.bx, 0, 3, 1, {1, 2}, 1);
            }),
            "    img = alloc_shared float16[2, 8, 12, 4]\n"
            "    im2col img -> tile step (bx, 0) kernel 3 stride 1 dilation (1, 2) pad 1\n");
}

// ---- Safe values ----

TEST(Language, ASafeValueHoldsToTheEndOfItsLoop) {
  EXPECT_EQ(recorded([](Scene& s) {
              copy(s.a, s.tile);
              annotate_safe_value(s.a, 1);
              copy(s.a, s.tile);
              serial(2, [&](Var) {
                copy(s.a, s.tile);
                annotate_safe_value(s.a, 2);
                copy(s.a, s.tile);
              });
              copy(s.a, s.tile);
              copy(s.tile, s.a);
            }),
            "    copy A -> tile\n"
            "    copy A -> tile safe float16(1.0)\n"
            "    for k in 0 .. 2 {\n"
            "      copy A -> tile safe float16(1.0)\n"
            "      copy A -> tile safe float16(2.0)\n"
            "    }\n"
            "    copy A -> tile safe float16(1.0)\n"
            "    copy tile -> A\n");
}

TEST(Language, ASafeValueOfABranchIsNotTheOtherBranchs) {
  EXPECT_EQ(recorded([](Scene& s) {
              if_then(
                  s.bx == 0,
                  [&] {
                    annotate_safe_value(s.a, 2);
                    copy(s.a, s.tile);
                  },
                  [&] { copy(s.a, s.tile); });
            }),
            "    if bx == 0 {\n"
            "      copy A -> tile safe float16(2.0)\n"
            "    } else {\n"
            "      copy A -> tile\n"
            "    }\n");
}

TEST(Language, AReadSeesTheSafeValueOfItsPlace) {
  EXPECT_EQ(recorded([](Scene& s) {
              annotate_safe_value(s.a, 3);
              s.tile(0, 0) = s.a(s.bx, 0);
            }),
            "    tile[0, 0] = load(A[bx, 0], safe=float16(3.0))\n");
}

// ---- Layouts ----

TEST(Language, AnnotatedLayoutsBelongToTheAllocation) {
  EXPECT_EQ(record([](Scene& s) {
              annotate_layout(s.tile, swizzled_row_major({64, 96}, 2, 64));
              serial(2, [&](Var) { annotate_layout(s.tile, padded_row_major({64, 96}, 8)); });
            }).text(),
            "function f(A: float16[64, 96], B: float16[n, 64]) {\n"
            "  kernel (bx: 4) threads 96 {\n"
            "    tile = alloc_shared float16[64, 96] layout (64,96):(104,1)\n"
            "    for k in 0 .. 2 {\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(Language, AnnotatedFragments) {
  EXPECT_EQ(recorded([](Scene&) {
              Buffer sums = alloc_fragment({96}, float32, "sums");
              annotate_layout(sums, Fragment::linear({96}, 96, 1));
            }),
            "    sums = alloc_fragment float32[96] layout fragment(shape=(96), thread=(96):(1), "
            "reg=(96):(0))\n");
}

// ---- Loops, branches and elements ----

TEST(Language, Loops) {
  EXPECT_EQ(recorded([](Scene& s) {
              serial(s.bx, s.n, [&](Var k) { s.tile(k, 0) = 1; });
              unrolled(4, [&](Var k) { s.tile(k, 0) += 1; });
              parallel({64, 96}, [&](Var i, Var j) { s.tile(i, j) *= 2; });
            }),
            "    for k in bx .. n {\n"
            "      tile[k, 0] = float16(1.0)\n"
            "    }\n"
            "    unrolled for k in 0 .. 4 {\n"
            "      tile[k, 0] = tile[k, 0] + float16(1.0)\n"
            "    }\n"
            "    parallel (i: 64, j: 96) {\n"
            "      tile[i, j] = tile[i, j] * float16(2.0)\n"
            "    }\n");
}

TEST(Language, NestedLoopsHaveNamesOfTheirOwn) {
  EXPECT_EQ(recorded([](Scene& s) {
              serial(2,
                     [&](Var outer) { serial(3, [&](Var inner) { s.tile(outer, inner) = 1; }); });
            }),
            "    for k in 0 .. 2 {\n"
            "      for k_1 in 0 .. 3 {\n"
            "        tile[k, k_1] = float16(1.0)\n"
            "      }\n"
            "    }\n");
}

TEST(Language, TilesWithoutANameAreNumbered) {
  EXPECT_EQ(recorded([](Scene&) {
              alloc_shared({8}, float32);
              alloc_shared({8}, int8);
              alloc_local({1}, bool_);
            }),
            "    shared = alloc_shared float32[8]\n"
            "    shared_1 = alloc_shared int8[8]\n"
            "    local = alloc_local bool[1]\n");
}

TEST(Language, AssigningOneElementToAnotherCopiesItsValue) {
  EXPECT_EQ(recorded([](Scene& s) {
              Buffer wide = alloc_local({1}, float32, "wide");
              s.tile(0, 1) = s.tile(1, 0);
              wide(0) = s.tile(2, 2);
            }),
            "    wide = alloc_local float32[1]\n"
            "    tile[0, 1] = tile[1, 0]\n"
            "    wide[0] = cast(tile[2, 2], float32)\n");
}

// ---- Declarations ----

TEST(Language, TensorsSymbolsAndScalars) {
  const Function f = function("f", [] {
    Var n = symbol("n");
    tensor("A", {n, n * 2}, int8, {symbol("pitch"), 1});
    scalar("scale", float32);
    tensor("B", {}, float64);
    kernel({ceildiv(n, 64), 2, 3}, {.threads = 1});
  });
  EXPECT_EQ(f.name(), "f");
  EXPECT_EQ(f.text(),
            "function f(A: int8[n, n * 2] strides [pitch, 1], scale: float32, B: float64[]) {\n"
            "  kernel (bx: (n + 63) / 64, by: 2, bz: 3) threads 1 {\n"
            "  }\n"
            "}\n");
}

TEST(Language, BlockIndicesAvoidTakenNames) {
  const Function f = function("f", [] {
    tensor("bx", {4}, int8);
    kernel({4});
  });
  EXPECT_EQ(f.text(),
            "function f(bx: int8[4]) {\n"
            "  kernel (bx_1: 4) threads 128 {\n"
            "  }\n"
            "}\n");
}

TEST(Language, FunctionsMayBeWrittenInsideOthers) {
  std::string inner;
  const Function outer = function("outer", [&] {
    Buffer a = tensor("A", {8}, float32);
    kernel({1});
    inner = function("inner", [] {
              Buffer b = tensor("B", {8}, float32);
              kernel({1});
              clear(b);
            }).text();
    fill(a, 2);
  });
  EXPECT_NE(inner.find("fill B = float32(0.0)"), std::string::npos);
  EXPECT_NE(outer.text().find("fill A = float32(2.0)"), std::string::npos);
  EXPECT_EQ(outer.text().find("B"), std::string::npos);
}

TEST(Language, AFailedFunctionLeavesNothingBehind) {
  EXPECT_THROW(function("f", [] { kernel({0, -1}); }), UserError);
  EXPECT_THROW(tensor("A", {8}, float32), UserError);
  EXPECT_THROW(function("f", [] { throw std::runtime_error("the user's own"); }),
               std::runtime_error);
  EXPECT_NO_THROW(function("f", [] { kernel({1}); }));
}

// ---- Hints and handles ----

TEST(Language, HintsAreRecordedOnTheOperation) {
  EXPECT_EQ(recorded([](Scene& s) {
              cuda::copy(s.a, s.tile,
                         {.coalesced_width = 8,
                          .eviction_policy = "evict_first",
                          .prefer_instruction = PreferInstruction::cp_async});
              copy(s.a, s.tile, {.annotations = {{"disable_tma", true}}});
              copy(s.a, s.tile, {.annotations = {{"disable_tma", false}}});
              parallel({64}, [](Var) {}, {.coalesced_width = 2});
            }),
            "    copy A -> tile {coalesced_width: 8, eviction_policy: evict_first, "
            "prefer_instruction: cp_async}\n"
            "    copy A -> tile {disable_tma: true}\n"
            "    copy A -> tile {disable_tma: false}\n"
            "    parallel (i: 64) {coalesced_width: 2} {\n"
            "    }\n");
}

TEST(Language, HandlesNameThePlansOfTheirOperations) {
  CopyHandle first, second, third;
  const CompiledKernel kernel = compile(record([&](Scene& s) {
    first = copy(s.a, s.tile);
    clear(s.tile);
    serial(2, [&](Var) { second = transpose(s.tile(range(0, 8), range(0, 8)), s.tile(16, 16)); });
    third = copy(s.tile(0, 0), s.b(range(0, 64), range(0, 64)));
  }));
  EXPECT_EQ(kernel.plans().size(), 4U);
  EXPECT_EQ(kernel.plan(first).operation, "copy A -> tile");
  EXPECT_EQ(kernel.plan(second).operation, "transpose tile -> tile");
  EXPECT_EQ(kernel.plan(third).operation, "copy tile -> B");
  EXPECT_EQ(kernel.plan(third).id, third.id);
  EXPECT_GT(kernel.plan(third).where.line, kernel.plan(first).where.line);
}

TEST(Language, NamesOfHints) {
  for (const char* name : {"evict_normal", "evict_first", "evict_last"}) {
    EXPECT_EQ(to_string(*parse_eviction_policy(name)), name);
  }
  for (const char* name : {"tma", "cp_async", "sync"}) {
    EXPECT_EQ(to_string(*parse_prefer_instruction(name)), name);
  }
  EXPECT_FALSE(parse_eviction_policy("tma"));
  EXPECT_FALSE(parse_prefer_instruction(""));
}

}  // namespace
}  // namespace tilecopy
