// cp.async.bulk by table: a copy between global and shared memory; the runs of the plan, or the
// rule that failed. What is planned runs on a model that compares every element.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/make.h"
#include "tma_case.h"

namespace tilecopy {
namespace {

using test::Ints;
using test::Planned;

/// Blocks follow each other along the first dimension.
struct Row {
  const char* what;
  Ints shape, tile;
  std::int64_t blocks = 1;
  Ints origin = {}, strides = {};  ///< of the tensor's side; zeros, and row-major
  Ints tile_origin = {};           ///< the tile is larger by this
  DType dtype = float16, to = dtype;
  std::optional<TileLayout> layout = {};
  bool store = false, transposed = false;
  std::optional<double> safe = {};
  const char* arch = "sm_90a";
  cuda::CopyOptions options = {};
  const char* runs = "1";
  const char* run_bytes = "";
  const char* rule = "<none>";
  const char* peeled = "<none>";
  const char* method = "bulk";  ///< that the planner chooses
};

Ints or_zeros(const Ints& some, std::size_t rank) { return some.empty() ? Ints(rank, 0) : some; }

struct Made {
  Function function;
  std::optional<Var> block;
};

Made make(const Row& row) {
  std::optional<Var> block;
  Function made = function("f", [&] {
    Buffer a = tensor("A", {row.shape.begin(), row.shape.end()}, row.store ? row.to : row.dtype,
                      {row.strides.begin(), row.strides.end()});
    auto [bx] = kernel({row.blocks});
    block = bx;
    if (row.safe) annotate_safe_value(a, *row.safe);
    const Ints origin = or_zeros(row.origin, row.shape.size());
    const Ints inner = or_zeros(row.tile_origin, row.tile.size());
    std::vector<Expr> size;
    std::vector<Index> at, in;
    for (std::size_t d = 0; d < row.tile.size(); ++d) {
      Expr first = d == 0 ? bx * row.tile[0] + origin[0] : Expr(origin[d]);
      std::int64_t extent = row.tile[row.transposed ? row.tile.size() - 1 - d : d];
      at.emplace_back(range(first, first + extent));
      in.emplace_back(range(inner[d], inner[d] + row.tile[d]));
      size.emplace_back(inner[d] + row.tile[d]);
    }
    Buffer tile = alloc_shared(size, row.store ? row.dtype : row.to, "tile");
    if (row.layout) annotate_layout(tile, *row.layout);
    if (row.transposed) {
      transpose(Access(a, at), Access(tile, in));
    } else if (row.store) {
      cuda::copy(Access(tile, in), Access(a, at), row.options);
    } else {
      cuda::copy(Access(a, at), Access(tile, in), row.options);
    }
  });
  return {made, block};
}

// ---- A model of the device code ----

constexpr std::int64_t safe_element = -1;

// Executes what bulk lowered to. Both memories start at a multiple of 16 bytes.
class Model {
 public:
  Model(const ir::Stmt& body, ir::test::Assignment values, const Var& thread, int threads)
      : values_(std::move(values)) {
    for (std::int64_t t = 0; t < threads; ++t) {
      values_[thread.node()] = t;
      run(body);
    }
  }

  std::map<std::int64_t, std::int64_t> moved;  ///< destination to source, by offset in elements
  std::int64_t expected = 0, loaded = 0, arrivals = 0, commits = 0, runs = 0;
  std::string faults;

 private:
  void run(const ir::Stmt& s) {
    if (!s) return;
    if (const auto* block = ir::as<ir::Block>(s)) {
      for (const ir::Stmt& part : block->body) run(part);
    } else if (const auto* let = ir::as<ir::Let>(s)) {
      values_[let->var.node()] = value(let->value);
    } else if (const auto* branch = ir::as<ir::If>(s)) {
      run(value(branch->condition) ? branch->then_body : branch->else_body);
    } else if (const auto* loop = ir::as<ir::For>(s)) {
      for (std::int64_t i = value(loop->begin); i < value(loop->end); ++i) {
        values_[loop->var.node()] = i;
        run(loop->body);
      }
    } else if (const auto* store = ir::as<ir::Store>(s)) {
      move(value(store->indices[0]), source(store->value));
    } else if (const auto* instr = ir::as<ir::Instr>(s)) {
      execute(*instr);
    } else {
      faults += "an unexpected statement\n";
    }
  }

  std::int64_t source(const Expr& e) const {
    if (const auto* select = ir::as<ir::Select>(e)) {
      return source(value(select->condition) ? select->a : select->b);
    }
    const auto* load = ir::as<ir::Load>(e);
    return load ? value(load->indices[0]) : safe_element;
  }

  // PTX ISA, cp.async.bulk: addresses and the size are multiples of 16.
  void execute(const ir::Instr& instr) {
    if (instr.name == "cuda.expect_tx") {
      ++arrivals;
      expected += value(std::get<Expr>(instr.operands[1]));
    } else if (instr.name == "cuda.bulk_commit") {
      ++commits;
    } else if (instr.name.starts_with("cuda.bulk_load") ||
               instr.name.starts_with("cuda.bulk_store")) {
      const auto& to = std::get<ir::Address>(instr.operands[0]);
      const auto& from = std::get<ir::Address>(instr.operands[1]);
      std::int64_t element = bytes(to.buffer.dtype());
      std::int64_t size = value(std::get<Expr>(instr.operands[2]));
      std::int64_t dst = value(to.offset), src = value(from.offset);
      if (size <= 0 || size % 16 || dst * element % 16 || src * element % 16) {
        faults += fmt::format("{} bytes from element {} to {}\n", size, src, dst);
      }
      ++runs;
      if (instr.name.starts_with("cuda.bulk_load")) loaded += size;
      for (std::int64_t i = 0; i < size / element; ++i) move(dst + i, src + i);
    } else {
      faults += "unexpected " + instr.name + "\n";
    }
  }

  void move(std::int64_t dst, std::int64_t src) {
    if (!moved.emplace(dst, src).second) faults += fmt::format("element {} twice\n", dst);
  }

  std::int64_t value(const Expr& e) const { return ir::test::evaluate(e, values_); }

  ir::test::Assignment values_;
};

// What the copy means, in the words of the language: destination to source.
std::map<std::int64_t, std::int64_t> meaning(const Row& row, std::int64_t block, bool* whole) {
  std::size_t rank = row.tile.size();
  Ints strides = row.strides, size = row.tile;
  if (strides.empty()) {
    strides.assign(rank, 1);
    for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * row.shape[d];
  }
  const Ints origin = or_zeros(row.origin, rank), inner = or_zeros(row.tile_origin, rank);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    count *= row.tile[d];
    size[d] += inner[d];
  }
  TileLayout layout = row.layout ? *row.layout : TileLayout(row_major(size));
  std::map<std::int64_t, std::int64_t> result;
  *whole = true;
  for (std::int64_t i = 0; i < count; ++i) {
    Ints in = inner;
    std::int64_t rest = i, outer = 0;
    bool inside = true;
    for (std::size_t d = rank; d-- > 0;) {
      std::int64_t index = rest % row.tile[d];
      rest /= row.tile[d];
      in[d] += index;
      std::size_t e = row.transposed ? rank - 1 - d : d;
      std::int64_t at = origin[e] + index + (e == 0 ? block * row.tile[0] : 0);
      inside &= at >= 0 && at < row.shape[e];
      outer += at * strides[e];
    }
    *whole &= inside;
    std::int64_t tile = layout(IntTuple(in));
    if (!row.store) result[tile] = inside ? outer : safe_element;
    if (row.store && inside) result[outer] = tile;
  }
  return result;
}

void expect_moves(const Row& row, const Made& made, const Planned& planned) {
  const planner::Simt& simt = *planned.site->simt;
  for (std::int64_t block = 0; block < row.blocks; ++block) {
    SCOPED_TRACE(block);
    bool whole = true;
    const auto wanted = meaning(row, block, &whole);
    Model model(planned.lowered(), {{made.block->node(), block}}, simt.thread, simt.threads);
    EXPECT_EQ(model.faults, "");
    EXPECT_TRUE(model.moved == wanted) << "elements in the wrong places";
    EXPECT_EQ(std::to_string(model.runs), whole ? row.runs : "0");
    EXPECT_EQ(model.arrivals, row.store ? 0 : 1);
    EXPECT_EQ(model.commits, row.store ? 1 : 0);
    EXPECT_EQ(model.expected, model.loaded);
    EXPECT_EQ(model.expected, whole ? planned.plan->barrier_bytes : 0);
  }
}

// ---- The table ----

const cuda::CopyOptions prefer_tma = {.prefer_instruction = PreferInstruction::tma};

std::vector<Row> lengths() {
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

std::vector<Row> places() {
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
      {.what = "transpose",
       .shape = {64, 64},
       .tile = {64, 64},
       .transposed = true,
       .rule = "bulk.contiguous",
       .method = "simt"},
  };
}

std::vector<Row> bounds_and_hints() {
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
    for (const Row& row : rows) {
      SCOPED_TRACE(row.what);
      Made made = make(row);
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
  Row row{.what = "", .shape = {60, 512}, .tile = {16, 512}, .blocks = 4};
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
