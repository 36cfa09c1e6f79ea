// im2col by threads, by table: an image, a tile of columns and hints; the method chosen, the bytes
// of one access, and the rule of tma_im2col that failed.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "pipe.h"
#include "target/target.h"
#include "tilecopy/tilecopy.h"

namespace tc = tilecopy;

namespace {

enum class Place { shared, fragment, local, global };

struct Row {
  const char* what;
  std::vector<tc::Expr> img = {2, 16, 16, 64};  // N, H, W, C
  std::vector<tc::Expr> strides = {};
  std::vector<std::int64_t> tile = {64, 32};
  tc::DType dtype = tc::float16;
  Place col = Place::shared;
  bool shared_img = false;  // the image is a tile
  std::int64_t first = 0;   // column of the tile at which the operation begins
  std::int64_t past = 0;    // columns that it leaves out at the end
  const char* arch = "sm_80";
  tc::cuda::Im2colOptions options = {};
  const char* method = "im2col_gather";
  const char* access = "16";
  const char* rule = "tma_im2col.arch";
};

tc::Buffer alloc_col(const Row& row) {
  std::vector<tc::Expr> shape = {row.tile[0], row.tile[1]};
  switch (row.col) {
    case Place::fragment: return tc::alloc_fragment(shape, row.dtype, "col");
    case Place::local: return tc::alloc_local(shape, row.dtype, "col");
    case Place::shared:
    case Place::global: break;
  }
  return tc::alloc_shared(shape, row.dtype, "col");
}

tc::Function function_of(const Row& row) {
  return tc::function("f", [&] {
    tc::Buffer img = tc::tensor("img", row.img, row.dtype, row.strides);
    tc::Buffer out = tc::tensor("out", {row.tile[0], row.tile[1]}, row.dtype);
    auto [m, k] = tc::kernel({8, 18});
    if (row.shared_img) img = tc::alloc_shared(row.img, row.dtype, "tile");
    tc::Buffer col = row.col == Place::global ? out : alloc_col(row);
    tc::Operand to = col;
    if (row.first != 0 || row.past != 0) {
      to = col(tc::Index(tc::range(0, row.tile[0])),
               tc::Index(tc::range(row.first, row.tile[1] - row.past)));
    }
    tc::cuda::im2col(img, to, m, k, 3, 1, 1, 1, row.options);
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
  return plan.rejected.empty() ? "<none>" : plan.rejected.front().rule.id;
}

std::vector<Row> rows() {
  tc::Var n = tc::symbol("n"), h = tc::symbol("h"), w = tc::symbol("w"), c = tc::symbol("c");
  return {
      // Widths of elements.
      {.what = "halves"},
      {.what = "bytes", .dtype = tc::uint8},
      {.what = "floats", .dtype = tc::float32},
      {.what = "doubles", .dtype = tc::float64},
      // Channels.
      {.what = "channels of 8 bytes", .img = {2, 16, 16, 4}, .access = "8"},
      {.what = "channels of 4 bytes", .img = {2, 16, 16, 2}, .access = "4"},
      {.what = "three channels", .img = {2, 16, 16, 3}, .access = "2"},
      {.what = "one channel", .img = {2, 16, 16, 1}, .access = "2"},
      {.what = "20 channels", .img = {2, 16, 16, 20}, .access = "8"},
      {.what = "three channels of bytes", .img = {2, 16, 16, 3}, .dtype = tc::uint8, .access = "1"},
      {.what = "symbolic channels", .img = {2, 16, 16, c}},
      {.what = "symbolic pixels", .img = {n, h, w, 64}},
      {.what = "all symbolic", .img = {n, h, w, c}},
      // Strides of the image.
      {.what = "padded pixels", .strides = {18432, 1152, 72, 1}},
      {.what = "pixels padded by 4 bytes", .strides = {16896, 1056, 66, 1}, .access = "4"},
      {.what = "odd pitch of images", .strides = {16385, 1024, 64, 1}, .access = "2"},
      {.what = "every second channel", .strides = {32768, 2048, 128, 2}, .access = "2"},
      {.what = "channels first", .strides = {16384, 16, 1, 256}, .access = "2"},
      {.what = "the same image again", .strides = {0, 1024, 64, 1}},
      // Tiles.
      {.what = "20 columns", .tile = {64, 20}, .access = "8"},
      {.what = "33 columns", .tile = {64, 33}, .access = "2"},
      {.what = "one row", .tile = {1, 32}},
      {.what = "one column", .tile = {64, 1}, .access = "2"},
      {.what = "one element", .tile = {1, 1}, .access = "2"},
      {.what = "from column 8", .first = 8},
      {.what = "from column 4", .first = 4, .access = "8"},
      {.what = "without the last 4 columns", .past = 4, .access = "8"},
      {.what = "without the last column", .past = 1, .access = "2"},
      // Memories.
      {.what = "into global memory", .col = Place::global},
      {.what = "into registers of each thread", .tile = {4, 32}, .col = Place::local},
      {.what = "into a fragment", .col = Place::fragment},
      {.what = "from a tile", .img = {1, 8, 8, 64}, .shared_img = true},
      {.what = "from a tile on sm_90a",
       .img = {1, 8, 8, 64},
       .shared_img = true,
       .arch = "sm_90a",
       .rule = "tma_im2col.scopes"},
      // Architectures and hints.
      {.what = "the TMA unit", .arch = "sm_90a", .method = "tma_im2col", .rule = "<none>"},
      {.what = "too few channels for the TMA unit",
       .img = {2, 16, 16, 4},
       .arch = "sm_90a",
       .access = "8",
       .rule = "tma_im2col.outer_stride"},
      {.what = "symbolic channels on sm_100a",
       .img = {2, 16, 16, c},
       .arch = "sm_100a",
       .rule = "tma_im2col.channels"},
      {.what = "no TMA",
       .arch = "sm_90a",
       .options = {.annotations = {{"disable_tma", true}}},
       .rule = "tma_im2col.disable_tma"},
      {.what = "plain loads preferred",
       .arch = "sm_90a",
       .options = {.annotations = {{"prefer_instruction", "sync"}}},
       .rule = "<none>"},
      {.what = "a policy", .options = {.eviction_policy = "evict_last"}},
      {.what = "width of 8 bytes",
       .options = {.annotations = {{"coalesced_width", 4}}},
       .access = "8"},
      {.what = "width of one element",
       .options = {.annotations = {{"coalesced_width", 1}}},
       .access = "2"},
  };
}

TEST(Im2colGather, Table) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.what);
    tc::CopyPlan result = plan(row);
    EXPECT_EQ(result.method, row.method);
    EXPECT_EQ(failed_rule(result), row.rule);
    if (result.method == "im2col_gather") {
      EXPECT_EQ(parameter(result, "access_bytes"), row.access);
    }
    EXPECT_TRUE(result.missed.empty());
  }
}

TEST(Im2colGather, EveryRowLowers) {
  for (const Row& row : rows()) {
    if (row.method != std::string("im2col_gather")) continue;
    SCOPED_TRACE(row.what);
    EXPECT_NO_THROW(lowered(row));
  }
}

TEST(Im2colGather, GuardsNameWhatLaunchDecides) {
  tc::Var c = tc::symbol("c");
  tc::CopyPlan result = plan({.what = "", .img = {2, 16, 16, c}});
  std::vector<std::string> guards = {"c is a multiple of 8", "img is 16-byte aligned"};
  EXPECT_EQ(result.guards, guards);
  EXPECT_EQ(parameter(result, "taps"), "3 x 3 of c channels");
}

TEST(Im2colGather, WidthsThatItDoesNotHaveAreMissed) {
  tc::CopyPlan result = plan({.what = "", .options = {.annotations = {{"coalesced_width", 16}}}});
  EXPECT_EQ(parameter(result, "access_bytes"), "16");
  ASSERT_EQ(result.missed.size(), 1u);
  EXPECT_NE(result.missed[0].find("8 channels are proved"), std::string::npos);
}

// The policy is for global memory on either side.
TEST(Im2colGather, Policies) {
  tc::cuda::Im2colOptions options = {.eviction_policy = "evict_first"};
  auto has = [&](const Row& row, const char* instruction) {
    return lowered(row).find(instruction) != std::string::npos;
  };
  Row to_shared = {.what = "", .options = options};
  EXPECT_TRUE(has(to_shared, "cuda.load_hint"));
  EXPECT_FALSE(has(to_shared, "cuda.store_hint"));
  Row from_shared = {.what = "",
                     .img = {1, 8, 8, 64},
                     .col = Place::global,
                     .shared_img = true,
                     .options = options};
  EXPECT_FALSE(has(from_shared, "cuda.load_hint"));
  EXPECT_TRUE(has(from_shared, "cuda.store_hint"));
}

}  // namespace
