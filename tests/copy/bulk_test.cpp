// cp.async.bulk by table: a copy between global and shared memory; the runs of the plan, or the
// rule that failed. What is planned runs on a model that compares every element.
#include <gtest/gtest.h>

#include "bulk_case.h"

namespace tilecopy {
namespace {

using test::BulkCase;
using test::MadeCase;
using test::make;
using test::Planned;

// ---- The table ----

const cuda::CopyOptions prefer_tma = {.prefer_instruction = PreferInstruction::tma};

std::vector<BulkCase> lengths() {
  return {
      {.what = "part of a vector",
       .shape = {8192},
       .tile = {1024},
       .blocks = 8,
       .run_bytes = "2048"},
      {.what = "whole rows",
       .shape = {64, 512},
       .tile = {16, 512},
       .blocks = 4,
       .run_bytes = "16384"},
      {.what = "whole planes",
       .shape = {8, 16, 64},
       .tile = {2, 16, 64},
       .blocks = 4,
       .run_bytes = "4096"},
      {.what = "1024 bytes", .shape = {4096}, .tile = {512}, .run_bytes = "1024"},
      {.what = "1008 bytes",
       .shape = {4096},
       .tile = {504},
       .rule = "bulk.run_bytes",
       .method = "cp_async"},
      {.what = "1008 bytes preferred",
       .shape = {4096},
       .tile = {504},
       .options = prefer_tma,
       .run_bytes = "1008"},
      {.what = "16 bytes preferred",
       .shape = {4096},
       .tile = {8},
       .options = prefer_tma,
       .run_bytes = "16"},
      {.what = "8 bytes preferred",
       .shape = {4096},
       .tile = {4},
       .options = prefer_tma,
       .rule = "bulk.run_bytes",
       .method = "cp_async"},
      {.what = "long parts of rows",
       .shape = {64, 2048},
       .tile = {8, 1024},
       .blocks = 8,
       .runs = "8",
       .run_bytes = "2048"},
      {.what = "parts of rows below 2 KiB",
       .shape = {64, 2048},
       .tile = {8, 1016},
       .rule = "bulk.run_bytes",
       .method = "cp_async"},
      {.what = "preferred, but TMA does better",
       .shape = {64, 512},
       .tile = {16, 256},
       .options = prefer_tma,
       .rule = "bulk.run_bytes",
       .method = "tma"},
      {.what = "preferred, and TMA cannot",
       .shape = {60, 512},
       .tile = {16, 256},
       .blocks = 4,
       .safe = 1.0,
       .options = prefer_tma,
       .runs = "16",
       .run_bytes = "512"},
      {.what = "64 runs",
       .shape = {100, 512},
       .tile = {64, 32},
       .blocks = 2,
       .safe = 1.0,
       .options = prefer_tma,
       .runs = "64",
       .run_bytes = "64"},
      {.what = "65 runs",
       .shape = {100, 512},
       .tile = {65, 32},
       .blocks = 2,
       .safe = 1.0,
       .options = prefer_tma,
       .rule = "bulk.runs",
       .method = "cp_async"},
      {.what = "65 long runs",
       .shape = {65, 2048},
       .tile = {65, 1024},
       .rule = "bulk.runs",
       .method = "cp_async"},
      {.what = "planes of rows",
       .shape = {8, 16, 4096},
       .tile = {2, 8, 2048},
       .dtype = uint8,
       .runs = "16",
       .run_bytes = "2048"},
      {.what = "parts of planes",
       .shape = {8, 16, 256},
       .tile = {2, 8, 256},
       .runs = "2",
       .run_bytes = "4096"},
  };
}

std::vector<BulkCase> places() {
  return {
      {.what = "floats", .shape = {4096}, .tile = {512}, .dtype = float32, .run_bytes = "2048"},
      {.what = "doubles", .shape = {4096}, .tile = {512}, .dtype = float64, .run_bytes = "4096"},
      {.what = "bytes", .shape = {4096}, .tile = {1024}, .dtype = uint8, .run_bytes = "1024"},
      {.what = "a tail",
       .shape = {2058},
       .tile = {1029},
       .run_bytes = "2048",
       .peeled = "0 elements before and 5 after, by threads"},
      {.what = "a tail of each block, whose starts differ",
       .shape = {2058},
       .tile = {1029},
       .blocks = 2,
       .rule = "bulk.alignment",
       .method = "simt"},
      {.what = "a head",
       .shape = {4096},
       .tile = {1020},
       .origin = {4},
       .tile_origin = {4},
       .run_bytes = "2032",
       .peeled = "4 elements before and 0 after, by threads"},
      {.what = "both",
       .shape = {4096},
       .tile = {1024},
       .origin = {12},
       .tile_origin = {4},
       .run_bytes = "2032",
       .peeled = "4 elements before and 4 after, by threads"},
      {.what = "nothing between",
       .shape = {4096},
       .tile = {9},
       .origin = {4},
       .tile_origin = {4},
       .options = prefer_tma,
       .rule = "bulk.run_bytes",
       .method = "simt"},
      {.what = "one side past 16 bytes",
       .shape = {4096},
       .tile = {1024},
       .origin = {4},
       .rule = "bulk.alignment",
       .method = "cp_async"},
      {.what = "rows past 16 bytes",
       .shape = {8, 4096},
       .tile = {4, 1024},
       .origin = {0, 4},
       .tile_origin = {0, 4},
       .rule = "bulk.alignment",
       .method = "cp_async"},
      {.what = "rows of 2056 bytes",
       .shape = {8, 4096},
       .tile = {4, 1028},
       .rule = "bulk.run_bytes",
       .method = "cp_async"},
      {.what = "rows 3000 bytes apart",
       .shape = {8, 1500},
       .tile = {4, 1024},
       .rule = "bulk.row_stride",
       .method = "cp_async"},
      {.what = "padded tensor",
       .shape = {8, 1024},
       .tile = {4, 1024},
       .blocks = 2,
       .strides = {1032, 1},
       .runs = "4",
       .run_bytes = "2048"},
      {.what = "padded tile",
       .shape = {8, 1024},
       .tile = {4, 1024},
       .blocks = 2,
       .layout = padded_row_major({4, 1024}, 8),
       .runs = "4",
       .run_bytes = "2048"},
      {.what = "tile padded by an element",
       .shape = {8, 1024},
       .tile = {4, 1024},
       .layout = padded_row_major({4, 1024}, 1),
       .rule = "bulk.row_stride",
       .method = "simt"},
      {.what = "swizzled tile",
       .shape = {64, 64},
       .tile = {64, 64},
       .layout = swizzled_row_major({64, 64}, 2, 128),
       .rule = "bulk.contiguous",
       .method = "tma"},
      {.what = "column-major tensor",
       .shape = {64, 64},
       .tile = {64, 64},
       .strides = {1, 64},
       .rule = "bulk.contiguous",
       .method = "simt"},
      {.what = "column-major on both sides",
       .shape = {64, 64},
       .tile = {64, 64},
       .strides = {1, 64},
       .layout = column_major({64, 64}),
       .run_bytes = "8192"},
      {.what = "every second element",
       .shape = {64, 64},
       .tile = {64, 64},
       .strides = {128, 2},
       .rule = "bulk.contiguous",
       .method = "simt"},
  };
}

std::vector<BulkCase> bounds_and_hints() {
  return {
      {.what = "ragged rows",
       .shape = {60, 512},
       .tile = {16, 512},
       .blocks = 4,
       .run_bytes = "16384"},
      {.what = "ragged vector",
       .shape = {1000},
       .tile = {512},
       .blocks = 2,
       .dtype = float32,
       .run_bytes = "2048"},
      {.what = "ragged with a tail",
       .shape = {4100},
       .tile = {1029},
       .blocks = 1,
       .origin = {8},
       .run_bytes = "2048",
       .peeled = "0 elements before and 5 after, by threads"},
      {.what = "before the tensor",
       .shape = {64, 512},
       .tile = {16, 512},
       .blocks = 5,
       .origin = {-8, 0},
       .safe = 2.0,
       .run_bytes = "16384"},
      {.what = "no whole tile",
       .shape = {64, 500},
       .tile = {16, 512},
       .rule = "bulk.whole_tiles",
       .method = "cp_async"},
      {.what = "store",
       .shape = {64, 512},
       .tile = {16, 512},
       .blocks = 4,
       .store = true,
       .run_bytes = "16384"},
      {.what = "store of rows",
       .shape = {64, 2048},
       .tile = {8, 1024},
       .blocks = 8,
       .store = true,
       .runs = "8",
       .run_bytes = "2048"},
      {.what = "ragged store",
       .shape = {60, 512},
       .tile = {16, 512},
       .blocks = 4,
       .store = true,
       .run_bytes = "16384"},
      {.what = "store with head and tail",
       .shape = {4096},
       .tile = {1024},
       .origin = {12},
       .tile_origin = {4},
       .store = true,
       .run_bytes = "2032",
       .peeled = "4 elements before and 4 after, by threads"},
      {.what = "store past 16 bytes",
       .shape = {4096},
       .tile = {1024},
       .origin = {4},
       .store = true,
       .rule = "bulk.alignment",
       .method = "simt"},
      {.what = "short store",
       .shape = {4096},
       .tile = {256},
       .store = true,
       .rule = "bulk.run_bytes",
       .method = "simt"},
      {.what = "cast",
       .shape = {4096},
       .tile = {1024},
       .dtype = float32,
       .to = float16,
       .rule = "bulk.dtype",
       .method = "simt"},
      {.what = "sm_80",
       .shape = {4096},
       .tile = {1024},
       .arch = "sm_80",
       .rule = "bulk.arch",
       .method = "cp_async"},
      {.what = "sm_100a", .shape = {4096}, .tile = {1024}, .arch = "sm_100a", .run_bytes = "2048"},
      {.what = "no TMA",
       .shape = {4096},
       .tile = {1024},
       .options = {.disable_tma = true},
       .rule = "bulk.disable_tma",
       .method = "cp_async"},
      {.what = "cp.async preferred",
       .shape = {4096},
       .tile = {1024},
       .options = {.prefer_instruction = PreferInstruction::cp_async},
       .run_bytes = "2048",
       .method = "cp_async"},
      {.what = "policy",
       .shape = {4096},
       .tile = {1024},
       .options = {.eviction_policy = "evict_first"},
       .run_bytes = "2048"},
      {.what = "2 MiB",
       .shape = {1024, 1024},
       .tile = {1024, 1024},
       .rule = "bulk.barrier_bytes",
       .method = "cp_async"},
  };
}

TEST(Bulk, Table) {
  for (const auto& rows : {lengths(), places(), bounds_and_hints()}) {
    for (const BulkCase& row : rows) {
      SCOPED_TRACE(row.what);
      MadeCase made = make(row);
      Planned planned(made.function, (std::string("cuda -arch=") + row.arch).c_str(), true,
                      planner::bulk);
      EXPECT_EQ(planned.rule(), row.rule);
      EXPECT_EQ(planned.passage.chosen().at(0).report.method, row.method);
      if (!planned.plan) continue;
      EXPECT_EQ(planned.parameter("runs"), row.runs);
      EXPECT_EQ(planned.parameter("run_bytes"), row.run_bytes);
      EXPECT_EQ(planned.parameter("peeled"), row.peeled);
      expect_moves(row, made, planned);
    }
  }
}

TEST(Bulk, PlansSayTheirNumbers) {
  BulkCase row{.what = "", .shape = {60, 512}, .tile = {16, 512}, .blocks = 4};
  row.options = {.eviction_policy = "evict_last"};
  Planned load(make(row).function, test::hopper, true, planner::bulk);
  EXPECT_EQ(load.parameter("barrier_bytes"), "16384");
  EXPECT_EQ(load.parameter("bounds"), "one test of the tile; ragged tiles by threads");
  EXPECT_EQ(load.parameter("eviction"), "evict_last");
  EXPECT_EQ(load.plan->barrier_bytes, 16384);
  row.store = true;
  row.shape = {64, 512};
  Planned store(make(row).function, test::hopper, true, planner::bulk);
  EXPECT_EQ(store.parameter("barrier_bytes"), "<none>");
  EXPECT_EQ(store.parameter("bounds"), "proved, no checks");
  EXPECT_EQ(store.plan->barrier_bytes, 0);
}

TEST(Bulk, RejectionsNameNeededAndFound) {
  Planned planned(make({.what = "", .shape = {64, 512}, .tile = {16, 256}}).function, test::hopper,
                  true, planner::bulk);
  ASSERT_FALSE(planned.plan);
  EXPECT_EQ(planned.rules->failed()->needed, "runs of 2048 bytes or more");
  EXPECT_EQ(planned.rules->failed()->found, "16 runs of 512 bytes");
}

// ---- Operands, and what only a launch decides ----

std::string rule_of(const std::function<void()>& body, bool usual = true) {
  return Planned(function("f", body), test::hopper, usual, planner::bulk).rule();
}

TEST(Bulk, MovesBetweenGlobalAndSharedMemory) {
  EXPECT_EQ(rule_of([] {
              Buffer a = tensor("A", {64, 64}, float16);
              kernel({1});
              copy(a, alloc_fragment({64, 64}, float16));
            }),
            "bulk.scope");
  EXPECT_EQ(rule_of([] {
              kernel({1});
              clear(alloc_shared({64, 64}, float16));
            }),
            "bulk.scope");
}

TEST(Bulk, ReadsOnlyWhatTheKernelDoesNotWrite) {
  auto both_ways = [] {
    Buffer a = tensor("A", {64, 64}, float16);
    kernel({1});
    Buffer tile = alloc_shared({64, 64}, float16);
    copy(a, tile);
    copy(tile, a);
  };
  EXPECT_EQ(rule_of(both_ways), "bulk.source_written");
}

TEST(Bulk, ExtentsAreConstant) {
  Var n = symbol("n");
  EXPECT_EQ(rule_of([&] {
              Buffer a = tensor("A", {n, 64}, float16);
              kernel({1});
              Buffer tile = alloc_shared({64, 64}, float16);
              copy(a(range(0, n), range(0, 64)), tile(range(0, n), range(0, 64)));
            }),
            "bulk.extents");
}

TEST(Bulk, AlignmentIsGuardedAndNeverTakenForGranted) {
  Var n = symbol("n");
  auto rows = [&] {
    Buffer a = tensor("A", {64, n}, float16);
    auto [bx] = kernel({ceildiv(n, 1024)});
    copy(a(0, bx * 1024), alloc_shared({8, 1024}, float16));
  };
  Planned usual(function("f", rows), test::hopper, true, planner::bulk);
  ASSERT_TRUE(usual.plan) << usual.rule();
  std::vector<std::string> guards;
  for (const planner::Guard& guard : usual.plan->guards) guards.push_back(guard.text);
  EXPECT_EQ(guards, (std::vector<std::string>{"A is 16-byte aligned", "n is a multiple of 8"}));
  EXPECT_EQ(rule_of(rows, false), "bulk.alignment");
}

}  // namespace
}  // namespace tilecopy
