// cp.async by table: a copy from global to shared memory and its hints; the method chosen, the
// bytes of one access, and the rule of cp_async that failed.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "pipe.h"
#include "target/target.h"
#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;

namespace {

struct Row {
  const char* what;
  std::vector<tc::Expr> shape = {512, 512};  // of the tensor
  std::vector<tc::Expr> strides = {};
  std::vector<std::int64_t> tile = {64, 64};
  std::vector<std::int64_t> shift = {0, 0};  // of the tiles, in elements
  tc::DType from = tc::float16;
  tc::DType to = tc::float16;
  const char* arch = "sm_80";
  tc::cuda::CopyOptions options = {};
  bool transposed = false;
  std::optional<double> safe = {};
  const char* method = "cp_async";
  const char* access = "16";  // bytes, of cp_async
  const char* rule = "<none>";
};

tc::Function function_of(const Row& row) {
  return tc::function("f", [&] {
    auto tensor = tc::tensor("A", row.shape, row.from, row.strides);
    auto [bx, by] = tc::kernel(
        {tc::ceildiv(row.shape[1], row.tile[1]), tc::ceildiv(row.shape[0], row.tile[0])});
    if (row.safe) tc::annotate_safe_value(tensor, *row.safe);
    auto tile = tc::alloc_shared({row.tile[0], row.tile[1]}, row.to, "tile");
    auto at = tensor(by * row.tile[0] + row.shift[0], bx * row.tile[1] + row.shift[1]);
    if (row.transposed) {
      tc::transpose(at, tile);
    } else {
      tc::cuda::copy(at, tile, row.options);
    }
  });
}

void lower_row(tc::Passage& passage, const Row& row, const char* stop_after) {
  passage.tile = function_of(row).shared();
  tc::lower_through(passage, tc::target::parse_target(std::string("cuda -arch=") + row.arch),
                    stop_after);
}

tc::CopyPlan plan(const Row& row) {
  tc::Passage passage;
  lower_row(passage, row, "select_copies");
  return passage.chosen().at(0).report;
}

// The device level as text.
std::string lowered(const Row& row) {
  tc::Passage passage;
  lower_row(passage, row, "lower");
  return tc::ir::print(passage.lowered());
}

std::string parameter(const tc::CopyPlan& plan, const std::string& name) {
  for (const auto& [key, value] : plan.parameters) {
    if (key == name) return value;
  }
  return "<none>";
}

std::string failed_rule(const tc::CopyPlan& plan) {
  for (const auto& rejected : plan.rejected) {
    if (rejected.method == "cp_async") return rejected.rule.id;
  }
  return "<none>";
}

std::string missed(const tc::CopyPlan& plan) {
  return plan.missed.empty() ? "<none>" : plan.missed.front();
}

constexpr auto prefer_cp_async = tc::PreferInstruction::cp_async;
const char* const axis = "cp_async.axis";
const char* const access = "cp_async.access";
const char* const policy = "cp_async.eviction_policy";

std::vector<Row> rows() {
  tc::Var n = tc::symbol("n");
  tc::Var s = tc::symbol("s");
  return {
      // Widths of elements.
      {.what = "halves"},
      {.what = "bytes", .from = tc::uint8, .to = tc::uint8},
      {.what = "floats", .from = tc::float32, .to = tc::float32},
      {.what = "doubles", .from = tc::float64, .to = tc::float64},
      // Pitches of the source.
      {.what = "pitch of 8 bytes", .shape = {512, 500}, .access = "8"},
      {.what = "pitch of 4 bytes", .shape = {512, 510}, .access = "4"},
      {.what = "pitch of 2 bytes", .shape = {512, 511}, .method = "simt", .rule = access},
      {.what = "odd pitch of floats",
       .shape = {512, 511},
       .from = tc::float32,
       .to = tc::float32,
       .access = "4"},
      {.what = "odd pitch of doubles",
       .shape = {512, 511},
       .from = tc::float64,
       .to = tc::float64,
       .access = "8"},
      {.what = "even pitch of bytes",
       .shape = {512, 510},
       .from = tc::uint8,
       .to = tc::uint8,
       .method = "simt",
       .rule = access},
      {.what = "symbolic pitch", .shape = {512, n}},
      {.what = "symbolic stride", .strides = {s, 1}},
      {.what = "padded rows", .strides = {520, 1}},
      {.what = "padded by 4 bytes", .strides = {514, 1}, .access = "4"},
      // Origins.
      {.what = "rows shifted", .shift = {1, 0}},
      {.what = "columns shifted by 8 bytes", .shift = {0, 4}, .access = "8"},
      {.what = "columns shifted by 4 bytes", .shift = {0, 2}, .access = "4"},
      {.what = "columns shifted by 2 bytes", .shift = {0, 1}, .method = "simt", .rule = access},
      {.what = "columns shifted to before the tensor", .shift = {0, -8}},
      // Tiles.
      {.what = "tile rows of 40 bytes", .tile = {64, 20}, .access = "8"},
      {.what = "tile rows of 4 bytes", .tile = {64, 2}, .access = "4"},
      {.what = "a column of halves", .tile = {64, 1}, .method = "simt", .rule = access},
      {.what = "a column of floats",
       .tile = {64, 1},
       .from = tc::float32,
       .to = tc::float32,
       .access = "4"},
      // Operands.
      {.what = "cast", .from = tc::float32, .method = "simt", .rule = "cp_async.dtype"},
      {.what = "column-major halves", .strides = {1, 512}, .method = "simt", .rule = axis},
      {.what = "column-major floats",
       .strides = {1, 512},
       .from = tc::float32,
       .to = tc::float32,
       .method = "simt",
       .rule = axis},
      // The tile of a transpose gets a layout that suits single elements.
      {.what = "transposed column-major source",
       .strides = {1, 512},
       .transposed = true,
       .access = "4"},
      {.what = "every second half", .strides = {1024, 2}, .method = "simt", .rule = access},
      {.what = "every second float",
       .strides = {1024, 2},
       .from = tc::float32,
       .to = tc::float32,
       .access = "4"},
      // Architectures and hints.
      {.what = "preferred on sm_90a",
       .arch = "sm_90a",
       .options = {.prefer_instruction = prefer_cp_async}},
      {.what = "no TMA on sm_90a", .arch = "sm_90a", .options = {.disable_tma = true}},
      {.what = "no TMA on sm_100a", .arch = "sm_100a", .options = {.disable_tma = true}},
      {.what = "preferred, but too narrow",
       .shape = {512, 511},
       .options = {.prefer_instruction = prefer_cp_async},
       .method = "simt",
       .rule = access},
      {.what = "plain loads preferred",
       .options = {.prefer_instruction = tc::PreferInstruction::sync},
       .method = "simt"},
      {.what = "a policy on sm_80", .options = {.eviction_policy = "evict_first"}},
      {.what = "a policy on sm_90a",
       .arch = "sm_90a",
       .options = {.disable_tma = true, .eviction_policy = "evict_first"},
       .method = "simt",
       .rule = policy},
      {.what = "width of 8 bytes", .options = {.coalesced_width = 4}, .access = "8"},
      {.what = "width of 4 bytes", .options = {.coalesced_width = 2}, .access = "4"},
      {.what = "loop layout of 16 bytes",
       .options = {.loop_layout = tc::Fragment::linear({64, 64}, 128, 8)}},
      {.what = "loop layout of 4 bytes",
       .options = {.loop_layout = tc::Fragment::linear({64, 64}, 128, 2)},
       .access = "4"},
      {.what = "loop layout of 2 bytes",
       .options = {.loop_layout = tc::Fragment::linear({64, 64}, 128, 1)},
       .method = "simt",
       .rule = access},
  };
}

TEST(CpAsync, Table) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.what);
    tc::CopyPlan result = plan(row);
    EXPECT_EQ(result.method, row.method);
    EXPECT_EQ(failed_rule(result), row.rule);
    if (result.method == "cp_async") {
      EXPECT_EQ(parameter(result, "access_bytes"), row.access);
    }
    EXPECT_EQ(missed(result) == "<none>", std::string(row.what) != "preferred, but too narrow");
  }
}

TEST(CpAsync, RejectionsSayTheBytes) {
  tc::CopyPlan result = plan({.what = "", .shape = {512, 511}});
  ASSERT_EQ(result.rejected.back().method, "cp_async");
  EXPECT_EQ(result.rejected.back().rule.found, "2 bytes");
}

TEST(CpAsync, WidthsThatItDoesNotHaveAreMissed) {
  tc::CopyPlan narrow = plan({.what = "", .options = {.coalesced_width = 1}});
  EXPECT_EQ(narrow.method, "cp_async");
  EXPECT_EQ(parameter(narrow, "access_bytes"), "16");
  EXPECT_NE(missed(narrow).find("2 bytes are less than the 4"), std::string::npos);
  tc::CopyPlan wide = plan({.what = "", .options = {.coalesced_width = 16}});
  EXPECT_EQ(parameter(wide, "access_bytes"), "16");
  EXPECT_NE(missed(wide).find("8 elements are proved"), std::string::npos);
}

TEST(CpAsync, GuardsNameWhatLaunchDecides) {
  tc::Var n = tc::symbol("n");
  tc::CopyPlan result = plan({.what = "", .shape = {512, n}});
  std::vector<std::string> guards = {"n is a multiple of 8", "A is 16-byte aligned"};
  EXPECT_EQ(result.guards, guards);
}

TEST(CpAsync, OutOfBounds) {
  auto ends = [](std::vector<tc::Expr> shape, std::optional<double> safe) {
    return parameter(plan({.what = "", .shape = std::move(shape), .safe = safe}), "out_of_bounds");
  };
  EXPECT_EQ(ends({512, 512}, {}), "<none>");
  EXPECT_EQ(ends({500, 512}, {}), "zeros by cp.async");
  EXPECT_EQ(ends({500, 512}, 1.0), "the safe value by stores");
  EXPECT_EQ(ends({500, 512}, -0.0), "the safe value by stores");
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

// Each thread commits once, whichever way its tile goes.
TEST(CpAsync, OneCommitForEveryPath) {
  for (std::int64_t height : {512, 500}) {
    for (std::optional<double> safe : {std::optional<double>(), std::optional<double>(1.0)}) {
      std::string text = lowered({.what = "", .shape = {height, 512}, .safe = safe});
      SCOPED_TRACE(text);
      EXPECT_EQ(count(text, "cuda.cp_async_commit"), 1);
      EXPECT_EQ(count(text, "cuda.cp_async("), height == 512 ? 1 : 2);
    }
  }
}

TEST(CpAsync, PoliciesAreOperands) {
  std::string text = lowered({.what = "", .options = {.eviction_policy = "evict_last"}});
  EXPECT_EQ(count(text, "cuda.cp_async_hint("), 1) << text;
}

}  // namespace
