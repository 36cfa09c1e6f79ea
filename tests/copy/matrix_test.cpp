// ldmatrix and stmatrix: which copies take them, and, by a model of the two instructions, that
// every register of every thread meets the element of shared memory that its layout names.
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "pipe.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

constexpr std::int64_t lanes = 32;

// The accumulators and operands of 16-bit matrix instructions: a warp holds 16 x 16 elements, and
// warps follow each other along rows. With `columns`, pairs of registers run down columns.
Fragment mma(std::int64_t warps, bool columns = false) {
  IntTuple rows{8, 2, warps}, cols{2, 4, 2};
  IntTuple row_threads{4, 0, 32}, col_threads{0, 1, 0};
  IntTuple row_regs{0, 2, 0}, col_regs{1, 0, 4};
  if (columns) {
    return Fragment({16, 16 * warps},
                    Layout(IntTuple{cols, rows}, IntTuple{col_threads, row_threads}),
                    Layout(IntTuple{cols, rows}, IntTuple{col_regs, row_regs}));
  }
  return Fragment({16 * warps, 16},
                  Layout(IntTuple{rows, cols}, IntTuple{row_threads, col_threads}),
                  Layout(IntTuple{rows, cols}, IntTuple{row_regs, col_regs}));
}

struct MatrixCase {
  Fragment fragment;
  bool store = false;
  DType dtype = float16;
  std::vector<std::int64_t> tile = {};  ///< shared; the fragment's shape where empty
  std::vector<std::int64_t> origin = {0, 0};
  std::optional<TileLayout> layout = {};
  int threads = 0;  ///< the fragment's where 0
};

Function make(const MatrixCase& c) {
  return function("f", [&] {
    const std::vector<std::int64_t> shape = c.fragment.shape();
    const std::vector<std::int64_t> extent = c.tile.empty() ? shape : c.tile;
    Buffer out = tensor("out", {extent[0], extent[1]}, c.dtype);
    int threads = c.threads ? c.threads : static_cast<int>(c.fragment.threads());
    kernel({1}, {.threads = threads});
    Buffer shared = alloc_shared({extent[0], extent[1]}, c.dtype, "shared");
    if (c.layout) annotate_layout(shared, *c.layout);
    Buffer held = alloc_fragment({shape[0], shape[1]}, c.dtype, "held");
    annotate_layout(held, c.fragment);
    auto part = shared(range(c.origin[0], c.origin[0] + shape[0]),
                       range(c.origin[1], c.origin[1] + shape[1]));
    if (c.store) {
      clear(held);
      copy(held, part);
    } else {
      clear(shared);
      copy(part, held);
    }
    copy(shared, out);
  });
}

struct Lowered {
  explicit Lowered(const Function& function, const char* target = "cuda -arch=sm_90a") {
    passage.tile = function.shared();
    lower_through(passage, target::parse_target(target), {});
    plan = &passage.chosen()[1];
  }
  Passage passage;
  const planner::Decision* plan = nullptr;
};

// What register of what thread each element of shared memory meets, by offset.
using Meetings = std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

class Model {
 public:
  Model(const ir::Stmt& body, const Var& thread, std::int64_t threads)
      : thread_(thread), threads_(threads) {
    for (std::int64_t t = 0; t < threads; ++t) values_.push_back({{thread.node(), t}});
    run(body);
  }

  Meetings meetings;
  int instructions = 0;

 private:
  void run(const ir::Stmt& s) {
    if (const auto* block = ir::as<ir::Block>(s)) {
      for (const ir::Stmt& part : block->body) run(part);
    } else if (const auto* let = ir::as<ir::Let>(s)) {
      for (auto& values : values_) values[let->var.node()] = ir::test::evaluate(let->value, values);
    } else if (const auto* loop = ir::as<ir::For>(s)) {
      for (std::int64_t i = *ir::const_int(loop->begin); i < *ir::const_int(loop->end); ++i) {
        for (auto& values : values_) values[loop->var.node()] = i;
        run(loop->body);
      }
    } else if (const auto* instr = ir::as<ir::Instr>(s)) {
      matrices(*instr);
    }
  }

  // PTX ISA, ldmatrix: thread 8 i + r gives the address of row r of matrix i; lane l holds the
  // elements (l / 4, 2 (l % 4) + {0, 1}) of each, or with .trans those of the transposed matrix.
  void matrices(const ir::Instr& instr) {
    ++instructions;
    bool load = instr.name.starts_with("cuda.ldmatrix");
    bool trans = instr.name.ends_with("_trans");
    int count = instr.name[instr.name.find("_x") + 2] - '0';
    const auto& regs = std::get<ir::Address>(instr.operands[load ? 0 : 1]);
    const auto& row = std::get<ir::Address>(instr.operands[load ? 1 : 0]);
    for (std::int64_t warp = 0; warp < threads_; warp += lanes) {
      for (std::int64_t l = 0; l < lanes; ++l) {
        std::int64_t first = ir::test::evaluate(regs.offset, at(warp + l));
        for (int i = 0; i < count; ++i) {
          for (int k = 0; k < 2; ++k) {
            std::int64_t r = trans ? 2 * (l % 4) + k : l / 4;
            std::int64_t c = trans ? l / 4 : 2 * (l % 4) + k;
            std::int64_t offset = ir::test::evaluate(row.offset, at(warp + 8 * i + r)) + c;
            meetings[offset] = {warp + l, first + 2 * i + k};
          }
        }
      }
    }
  }

  const ir::test::Assignment& at(std::int64_t thread) const {
    return values_[static_cast<std::size_t>(thread)];
  }

  Var thread_;
  std::int64_t threads_;
  std::vector<ir::test::Assignment> values_;
};

void expect_exact(const MatrixCase& c, const char* parameter) {
  Lowered lowered(make(c));
  ASSERT_EQ(lowered.plan->report.method, "matrix") << to_string(c.fragment);
  SCOPED_TRACE(parameter);
  ir::Stmt body = lowered.plan->plan->method->lower(*lowered.plan->plan, lowered.plan->site);
  Model model(body, lowered.passage.simt.thread, c.fragment.threads());
  const std::vector<std::int64_t> shape = c.fragment.shape();
  ASSERT_EQ(model.meetings.size(), static_cast<std::size_t>(shape[0] * shape[1]));
  const std::vector<std::int64_t> tile = c.tile.empty() ? shape : c.tile;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      std::int64_t y = i + c.origin[0], x = j + c.origin[1];
      std::int64_t offset = c.layout ? (*c.layout)(IntTuple{y, x}) : y * tile[1] + x;
      auto want =
          std::pair(c.fragment.thread_of(IntTuple{i, j}), c.fragment.register_of(IntTuple{i, j}));
      ASSERT_TRUE(model.meetings.contains(offset)) << i << ", " << j;
      EXPECT_EQ(model.meetings.at(offset), want) << i << ", " << j;
    }
  }
}

TEST(Matrix, EveryRegisterMeetsItsElement) {
  for (bool store : {false, true}) {
    for (bool columns : {false, true}) {
      for (std::int64_t warps : {1, 2, 4}) {
        Fragment fragment = mma(warps, columns);
        const std::vector<std::int64_t> shape = fragment.shape();
        expect_exact({fragment, store}, "row-major");
        expect_exact({fragment, store, bfloat16, {shape[0] + 8, shape[1] + 16}, {8, 8}}, "a part");
        expect_exact({fragment,
                      store,
                      int16,
                      {shape[0], 64},
                      {0, 0},
                      swizzled_row_major({shape[0], 64}, 2, 128)},
                     "swizzled");
      }
    }
  }
}

std::string failed_rule(const MatrixCase& c, const char* target = "cuda -arch=sm_90a") {
  Lowered lowered(make(c), target);
  for (const RejectedMethod& rejected : lowered.plan->report.rejected) {
    if (rejected.method == "matrix") return rejected.rule.id;
  }
  return lowered.plan->report.method;
}

TEST(Matrix, WhatDoesNotFitSaysWhy) {
  const Fragment fragment = mma(4);
  EXPECT_EQ(failed_rule({fragment}), "matrix");
  EXPECT_EQ(failed_rule({fragment}, "cuda -arch=sm_80"), "matrix");
  EXPECT_EQ(failed_rule({fragment, true}, "cuda -arch=sm_80"), "matrix.arch");
  EXPECT_EQ(failed_rule({fragment, true}, "cuda -arch=sm_100a"), "matrix");
  EXPECT_EQ(failed_rule({fragment, false, float32}), "matrix.dtype");
  EXPECT_EQ(failed_rule({fragment, false, int8}), "matrix.dtype");
  EXPECT_EQ(failed_rule({fragment, false, float16, {}, {0, 0}, {}, 256}), "matrix.threads");
  EXPECT_EQ(failed_rule({fragment, false, float16, {64, 24}, {0, 4}}), "matrix.rows");
  EXPECT_EQ(failed_rule({fragment, false, float16, {64, 20}}), "matrix.rows");
  EXPECT_EQ(failed_rule({Fragment::linear({64, 16}, 128, 8)}), "matrix.fragment");
  EXPECT_EQ(failed_rule({fragment, false, float16, {}, {0, 0}, padded_row_major({64, 16}, 8)}),
            "matrix");
  EXPECT_EQ(failed_rule({fragment, false, float16, {}, {0, 0}, padded_row_major({64, 16}, 1)}),
            "matrix.rows");
}

}  // namespace
}  // namespace tilecopy
