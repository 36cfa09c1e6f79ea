// The planner by table: a kernel's tile operation, the method chosen on cpu, and the first failed
// rule of each better method.
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "pipe.h"
#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;

namespace {

// Plans without compiling.
std::vector<tc::CopyPlan> plan(const tc::Function& function) {
  tc::Passage passage;
  passage.tile = function.shared();
  tc::lower_through(passage, {}, "select_copies");
  std::vector<tc::CopyPlan> reports;
  for (const auto& decision : passage.decisions) reports.push_back(decision.report);
  return reports;
}

tc::CopyPlan plan_copy(const std::function<void()>& body) {
  return plan(tc::function("f", body)).at(0);
}

std::string parameter(const tc::CopyPlan& plan, const std::string& name) {
  for (const auto& [key, value] : plan.parameters) {
    if (key == name) return value;
  }
  return "<none>";
}

std::string failed_rule(const tc::CopyPlan& plan, const std::string& method) {
  for (const auto& rejected : plan.rejected) {
    if (rejected.method == method) return rejected.rule.id;
  }
  return "<none>";
}

struct Row {
  const char* what;
  std::int64_t rows, columns;  // of the tensors
  std::int64_t tile_rows, tile_columns;
  std::vector<tc::Expr> strides;  // of the source tensor
  tc::DType from, to;
  bool to_tile;  // global -> shared, else shared -> global
  const char* method;
  const char* stream_rule;
  const char* run_rule;
  const char* bounds;
};

const char* const proved = "proved, no checks";
const char* const checked = "checked once per row";

const Row rows[] = {
    {"whole tiles",
     512,
     512,
     64,
     128,
     {},
     tc::float32,
     tc::float32,
     true,
     "host_run",
     "host_stream.destination",
     "<none>",
     proved},
    {"ragged tiles",
     500,
     500,
     64,
     128,
     {},
     tc::float32,
     tc::float32,
     true,
     "host_run",
     "host_stream.destination",
     "<none>",
     checked},
    {"small destination",
     512,
     512,
     64,
     128,
     {},
     tc::float32,
     tc::float32,
     false,
     "host_run",
     "host_stream.size",
     "<none>",
     proved},
    {"large destination",
     4096,
     4096,
     64,
     128,
     {},
     tc::float32,
     tc::float32,
     false,
     "host_stream",
     "<none>",
     "<none>",
     proved},
    {"cast",
     4096,
     4096,
     64,
     128,
     {},
     tc::float32,
     tc::float16,
     false,
     "host_loop",
     "host_stream.dtype",
     "host_run.dtype",
     proved},
    {"column-major source",
     512,
     512,
     64,
     128,
     {1, 512},
     tc::float32,
     tc::float32,
     true,
     "host_loop",
     "host_stream.contiguous",
     "host_run.contiguous",
     proved},
    {"every second element",
     512,
     512,
     64,
     128,
     {1024, 2},
     tc::float32,
     tc::float32,
     true,
     "host_loop",
     "host_stream.contiguous",
     "host_run.contiguous",
     proved},
    {"padded rows",
     512,
     512,
     64,
     128,
     {520, 1},
     tc::float32,
     tc::float32,
     true,
     "host_run",
     "host_stream.destination",
     "<none>",
     proved},
    {"narrow tile",
     4096,
     4096,
     64,
     8,
     {},
     tc::float32,
     tc::float32,
     false,
     "host_loop",
     "host_stream.run_bytes",
     "host_run.run_bytes",
     proved},
    {"one byte wide elements",
     512,
     512,
     64,
     64,
     {},
     tc::uint8,
     tc::uint8,
     true,
     "host_run",
     "host_stream.destination",
     "<none>",
     proved},
};

tc::CopyPlan plan_row(const Row& row) {
  return plan_copy([&] {
    auto strides = row.to_tile ? row.strides : std::vector<tc::Expr>{};
    auto tensor =
        tc::tensor("A", {row.rows, row.columns}, row.to_tile ? row.from : row.to, strides);
    auto [bx, by] = tc::kernel(
        {tc::ceildiv(row.columns, row.tile_columns), tc::ceildiv(row.rows, row.tile_rows)});
    auto tile =
        tc::alloc_shared({row.tile_rows, row.tile_columns}, row.to_tile ? row.to : row.from);
    auto at = tensor(by * row.tile_rows, bx * row.tile_columns);
    if (row.to_tile) {
      tc::copy(at, tile);
    } else {
      tc::copy(tile, at);
    }
  });
}

TEST(Planner, Table) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    tc::CopyPlan result = plan_row(row);
    EXPECT_EQ(result.method, row.method);
    EXPECT_EQ(failed_rule(result, "host_stream"), row.stream_rule);
    EXPECT_EQ(failed_rule(result, "host_run"), row.run_rule);
    EXPECT_EQ(parameter(result, "bounds"), row.bounds);
  }
}

TEST(Planner, RejectionsNameNeededAndFound) {
  tc::CopyPlan result = plan_row(rows[2]);
  ASSERT_EQ(result.rejected.size(), 1u);
  EXPECT_EQ(result.rejected[0].rule.needed, "a tensor of 16777216 bytes or more");
  EXPECT_EQ(result.rejected[0].rule.found, "1048576 bytes");
}

TEST(Planner, SymbolicSizesBecomeGuards) {
  tc::Var n = tc::symbol("n");
  tc::CopyPlan result = plan_copy([&] {
    auto b = tc::tensor("B", {n, 256}, tc::float32);
    auto [bx] = tc::kernel({tc::ceildiv(n, 16)});
    auto tile = tc::alloc_shared({16, 256}, tc::float32);
    tc::copy(tile, b(bx * 16, 0));
  });
  EXPECT_EQ(result.method, "host_stream");
  EXPECT_EQ(parameter(result, "guard"), "n * 1024 >= 16777216");
}

TEST(Planner, ShortRowsFromGlobalArePrefetched) {
  EXPECT_EQ(parameter(plan_row(rows[0]), "prefetch"), "4096 elements ahead");  // 8 rows of 512
  EXPECT_EQ(parameter(plan_row(rows[2]), "prefetch"), "<none>");               // from a tile
}

TEST(Planner, Im2colFusesTapsOfDensePixelsOnly) {
  auto segment = [](std::vector<tc::Expr> strides, std::int64_t dilation) {
    return parameter(plan_copy([&] {
                       auto img = tc::tensor("img", {2, 9, 8, 3}, tc::float32, strides);
                       tc::kernel({1});
                       auto tile = tc::alloc_shared({16, 32}, tc::float32);
                       tc::im2col(img, tile, 0, 0, 3, 1, dilation, 1);
                     }),
                     "segment");
  };
  EXPECT_EQ(segment({}, 1), "a kernel row of 3 x 3 elements");
  EXPECT_EQ(segment({}, 2), "a tap of 3 channels");
  EXPECT_EQ(segment({288, 32, 4, 1}, 1), "a tap of 3 channels");
}

TEST(Planner, HintsAreRemarkedAndChangeNothing) {
  auto with = [](const tc::cuda::CopyOptions& options) {
    return plan_copy([&] {
      auto a = tc::tensor("A", {64, 64}, tc::float32);
      tc::kernel({1});
      auto tile = tc::alloc_shared({64, 64}, tc::float32);
      tc::cuda::copy(a, tile, options);
    });
  };
  tc::CopyPlan plain = with({});
  tc::CopyPlan hinted = with({.coalesced_width = 4,
                              .eviction_policy = "evict_last",
                              .prefer_instruction = tc::PreferInstruction::cp_async});
  EXPECT_EQ(plain.method, hinted.method);
  EXPECT_EQ(plain.parameters, hinted.parameters);
  EXPECT_TRUE(plain.remarks.empty());
  ASSERT_EQ(hinted.remarks.size(), 3u);
  EXPECT_NE(hinted.remarks[1].find("eviction_policy=evict_last"), std::string::npos);
}

TEST(Planner, AnUnmetPreferenceNamesTheRulesOfItsOwnWays) {
  auto missed = [](const char* instruction, bool store) {
    tc::Function f = tc::function("f", [&] {
      auto a = tc::tensor("A", {64, 33}, tc::float32);
      tc::kernel({1}, {.threads = 128});
      auto tile = tc::alloc_shared({64, 33}, tc::float32);
      if (store) {
        tc::cuda::copy(tile, a, {.prefer_instruction = instruction});
      } else {
        tc::cuda::copy(a(0, 1), tile, {.prefer_instruction = instruction});
      }
    });
    tc::Passage passage;
    passage.tile = f.shared();
    tc::lower_through(passage, tc::target::parse_target("cuda -arch=sm_90a"), "select_copies");
    const std::vector<std::string>& list = passage.chosen().at(0).report.missed;
    return list.empty() ? std::string() : list.at(0);
  };
  const std::string tma = missed("tma", false);
  EXPECT_NE(tma.find("rule tma.outer_stride: needed"), std::string::npos) << tma;
  EXPECT_NE(tma.find("found 132 bytes"), std::string::npos) << tma;
  EXPECT_EQ(missed("cp_async", true),
            "prefer_instruction=cp_async: not met, this operation has no such way");
}

TEST(Planner, ANamedMethodComesBeforeCostsAndHints) {
  tc::Function f = tc::function("f", [&] {
    auto a = tc::tensor("A", {64, 64}, tc::float32);
    tc::kernel({1}, {.threads = 128});
    auto tile = tc::alloc_shared({2, 64}, tc::float32);
    tc::cuda::copy(a(0, 0), tile, {.prefer_instruction = "cp_async"});
  });
  auto planned = [&](const char* method) {
    tc::Passage passage;
    passage.tile = f.shared();
    tc::lower_through(passage, tc::target::parse_target("cuda -arch=sm_90a"), "select_copies",
                      {.method = method});
    return passage.chosen().at(0).report;
  };
  EXPECT_EQ(planned("").method, "cp_async");
  for (const char* method : {"bulk", "tma", "simt"}) EXPECT_EQ(planned(method).method, method);
  EXPECT_EQ(planned("bulk").missed.at(0),
            "prefer_instruction=cp_async: not met, the option `method` comes first");
  // Where its rules fail, the usual order holds.
  EXPECT_EQ(planned("matrix").method, "cp_async");
  EXPECT_EQ(planned("host_run").method, "cp_async");
}

TEST(Planner, FragmentsAreDealtInTheWidestAccessOfTheMemoryBesideThem) {
  auto access = [](const char* arch, bool beside_shared) {
    tc::Function f = tc::function("f", [&] {
      auto a = tc::tensor("A", {64, 128}, tc::float32);
      auto b = tc::tensor("B", {64, 128}, tc::float32);
      tc::kernel({1}, {.threads = 128});
      auto held = tc::alloc_fragment({64, 128}, tc::float32);
      tc::copy(a, held);
      if (!beside_shared) return tc::copy(held, b), void();
      auto tile = tc::alloc_shared({64, 128}, tc::float32);
      tc::copy(held, tile);
      tc::copy(tile, b);
    });
    tc::Passage passage;
    passage.tile = f.shared();
    tc::lower_through(passage, tc::target::parse_target(std::string("cuda -arch=") + arch),
                      "select_copies");
    return parameter(passage.chosen().at(0).report, "access_bytes");
  };
  EXPECT_EQ(access("sm_90a", false), "16 in, 16 out");
  EXPECT_EQ(access("sm_100a", false), "32 in, 32 out");
  EXPECT_EQ(access("sm_100a", true), "16 in, 16 out");
}

TEST(Planner, HandlesFindTheirPlans) {
  tc::CopyHandle second;
  std::vector<tc::CopyPlan> plans = plan(tc::function("f", [&] {
    auto a = tc::tensor("A", {64}, tc::float32);
    auto b = tc::tensor("B", {64}, tc::float32);
    tc::kernel({1});
    auto tile = tc::alloc_shared({64}, tc::float32, "tile");
    tc::copy(a, tile);
    second = tc::copy(tile, b);
  }));
  EXPECT_EQ(plans.at(static_cast<std::size_t>(second.id)).operation, "copy tile -> B");
}

}  // namespace
