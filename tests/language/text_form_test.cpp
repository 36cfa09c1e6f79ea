#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "ir/make.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "language/parse.h"
#include "language/random_kernel.h"
#include "tilecopy/error.h"
#include "tilecopy/language.h"

namespace tilecopy {
namespace {

using ir::print;

std::shared_ptr<const ir::Kernel> read(const std::string& text) {
  return language::parse(text, "kernel.tc");
}

/// A kernel with one tensor, one tile and these statements.
std::string with(const std::string& statements) {
  return "function f(A: float16[n, 64], s: float32) {\n"
         "  kernel (bx: 4) threads 128 {\n"
         "    tile = alloc_shared float16[16, 64]\n" +
         statements + "\n  }\n}\n";
}

std::string body_of(const ir::Kernel& kernel) {
  std::string text;
  const auto& body = ir::get<ir::Block>(kernel.body).body;
  for (std::size_t i = 1; i < body.size(); ++i) text += print(body[i]);
  return text;
}

/// What the statements read and print as.
std::string printed(const std::string& statements) { return body_of(*read(with(statements))); }

Error error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error for:\n" << text;
  return Error(ErrorReport{});
}

void expect_stable(const std::string& text) {
  const auto kernel = read(text);
  ir::verify(*kernel);
  const std::string once = print(*kernel);
  const auto again = read(once);
  ir::verify(*again);
  EXPECT_EQ(print(*again), once);
}

std::vector<std::string> documented_kernels() {
  std::ifstream file(TILECOPY_SOURCE_DIR "/docs/text-form.md");
  EXPECT_TRUE(file) << "docs/text-form.md is missing";
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    } else if (line == "```tilecopy") {
      inside = true;
      blocks.emplace_back();
    }
  }
  return blocks;
}

// ---- Round trips ----

/// The kinds of nodes that kernels contain.
struct Seen {
  std::set<ir::ExprKind> exprs;
  std::set<ir::StmtKind> stmts;

  bool all() const {
    bool all = true;
#define TILECOPY_EXPR(Struct) all &= exprs.contains(ir::ExprKind::Struct);
#define TILECOPY_STMT(Struct, level) all &= stmts.contains(ir::StmtKind::Struct);
#include "ir/nodes.def"
    return all;
  }

  void add(const ir::Kernel& kernel) {
    ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
      stmts.insert(s->kind);
      ir::for_each_direct_expr(*s, [&](const Expr& root) {
        ir::for_each_expr(root, [&](const Expr& e) { exprs.insert(e.node()->kind); });
      });
    });
  }
};

void check_round_trip(const ir::Kernel& kernel) {
  ir::verify(kernel);
  const std::string text = print(kernel);
  RC_LOG(text);
  const auto again = read(text);
  ir::verify(*again);
  RC_ASSERT(print(*again) == text);
  RC_ASSERT(again->symbols.size() == kernel.symbols.size());
  for (std::size_t i = 0; i < kernel.symbols.size(); ++i) {
    RC_ASSERT(again->symbols[i].dtype() == kernel.symbols[i].dtype());
  }
}

TEST(TextForm, EveryKernelReadsBackAsItPrints) {
  Seen seen;
  // A hundred kernels of each level, and more if they happen to lack a kind.
  for (int i = 0; i < 20 && !(i > 0 && seen.all()); ++i) {
    ASSERT_TRUE(rc::check("tile level", [&] {
      const auto kernel = test::random_tile_kernel();
      seen.add(*kernel);
      check_round_trip(*kernel);
    }));
    ASSERT_TRUE(rc::check("device level", [&] {
      const auto kernel = test::random_device_kernel();
      seen.add(*kernel);
      check_round_trip(*kernel);
    }));
  }
  EXPECT_TRUE(seen.all());
}

// Random trees need not reach each of these.
TEST(TextForm, EveryOperationReadsBack) {
  int made = 0;
  auto check = [&](DType dtype, auto make) {
    const std::string name(to_string(dtype));
    const auto kernel = read("function f(a: " + name + ", b: " + name + ") { kernel (i: 1) {\n" +
                             "x = alloc_local " + name + "[1]\ny = alloc_local bool[1] } }");
    const Var a = std::get<Var>(kernel->params[0]);
    const Var b = std::get<Var>(kernel->params[1]);
    Expr value;
    try {
      value = make(a, b);
    } catch (const UserError&) {
      return;  // not for this dtype
    }
    ir::Kernel storing = *kernel;
    std::vector<ir::Stmt> body = ir::get<ir::Block>(kernel->body).body;
    const auto& tile = ir::get<ir::Alloc>(body[value.dtype() == dtype ? 0 : 1]).buffer;
    body.push_back(ir::make_store(tile, {0}, value));
    storing.body = ir::make_block(body);
    ir::verify(storing);
    EXPECT_EQ(print(*read(print(storing))), print(storing));
    ++made;
  };
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
#define TILECOPY_UNARY(op, text, operands) \
  check(dtype, [](const Var& a, const Var&) { return ir::make_unary(ir::UnaryOp::op, a); });
#define TILECOPY_BINARY(op, text, precedence, operands, result) \
  check(dtype, [](const Var& a, const Var& b) { return ir::make_binary(ir::BinaryOp::op, a, b); });
#include "ir/ops.def"
  }
  EXPECT_GT(made, 200);
}

TEST(TextForm, DocumentedKernelsRead) {
  const std::vector<std::string> kernels = documented_kernels();
  EXPECT_GE(kernels.size(), 3u);
  for (const std::string& text : kernels) {
    SCOPED_TRACE(text);
    expect_stable(text);
  }
}

// ---- The look ----

TEST(TextForm, PrintsAsWritten) {
  const std::string text =
      R"(function scale(A: float16[4096, 4096], B: float16[n, m] strides [s, 1], alpha: float32) {
  kernel (bx: 32, by: (n + 63) / 64) threads 128 {
    tile = alloc_shared float16[64, 128] layout swizzle<3,4,3> o (64,128):(128,1)
    row = alloc_fragment float16[8, 4] layout fragment(shape=(8,4), thread=(8,4):(4,1), reg=(8,4):(0,0))
    copy A[by * 64 : +64, bx * 128 : +128] -> tile safe float16(1.0) {coalesced_width: 8, eviction_policy: evict_first, prefer_instruction: tma}
    for k in 0 .. 4 {
      if k % 2 == 1 && bx < 3 {
        fill tile = float16(0.0)
      } else {
        transpose A[k : +4, 0 : +8] -> row
      }
    }
    unrolled for k in 2 .. 5 {
      fill tile[k : +1, 3 : +1] = float16(inf)
    }
    parallel (i: 64, j: 128) {coalesced_width: 4} {
      sum = alloc_local float32[1]
      sum[0] = cast(tile[i, j], float32) * alpha
      tile[i, j] = select(i > j, cast(sum[0], float16), load(A[i, j], safe=float16(-inf)))
    }
    copy tile -> B[by * 64 : +64, bx * 128 : +128] {disable_tma: true}
  }
}
)";
  EXPECT_EQ(print(*read(text)), text);
}

TEST(TextForm, PrintsTheDeviceLevelAsWritten) {
  const std::string text =
      R"(device function f(m: symbol, n: symbol, A: float32[n * 2], k: uint64) {
  kernel () threads 1 {
    tile = alloc_shared float32[4, 8] layout (4,8):(8,1)
    let x: int64 = n * 4
    instr host.copy.2d(&A[x], &tile[0], 3 + n, 2.5, uint64(18446744073709551615))
    instr cuda.syncthreads()
    block {
      let y: int32 = cast(x, int32)
      A[cast(y, int64)] = tile[x % 32]
    }
    for i in 0 .. n {
      if A[i] < float32(0.0) {
        A[i] = float32(nan)
      }
    }
  }
}
)";
  EXPECT_EQ(print(*read(text)), text);
}

TEST(TextForm, PrintsThreadsAndTensorMapsAsWritten) {
  const std::string text =
      R"(device function f(A: float16[n, m], img: float16[4, 32, 32, 64]) {
  kernel (bx: n / 64) threads 128 as thread {
    tensor_map map = A dims (m, n) strides (m * 2) box (64, 64) element_strides (1, 1) swizzle 128 promotion 256
    tensor_map line = A dims (n * m) strides () box (256) element_strides (1) swizzle 0 promotion 0
    tensor_map taps = img dims (64, 32, 32, 4) strides (128, 4096, 131072) box (64, 128) element_strides (1, 2, 2, 1) lower (-1, -1) upper (-1, -1) swizzle 128 promotion 128
    tile = alloc_shared float16[64, 64]
    bar = alloc_shared uint64[1]
    if thread == 0 {
      instr cuda.tma_load_2d(&tile[0], map, &bar[0], 0, bx * 64)
      instr cuda.tma_im2col_hint(&tile[0], taps, &bar[0], 0, -1, -1, bx, 2, 0, uint64(1369094286720630784))
    }
  }
}
)";
  EXPECT_EQ(print(*read(text)), text);
  ir::verify(*read(text));
}

TEST(TextForm, TensorMapsAreChecked) {
  auto fails = [](const std::string& map) {
    const std::string text =
        "device function f(A: int8[4]) { kernel () {\n"
        "t = alloc_shared int8[4]\ntensor_map m = " +
        map + " } }";
    EXPECT_EQ(error_of(text).code(), "E0501") << map;
  };
  const std::string rest = " swizzle 0 promotion 0";
  fails("t dims (4) strides () box (4) element_strides (1)" + rest);
  fails("A dims () strides () box (4) element_strides (1)" + rest);
  fails("A dims (4, 4) strides () box (4, 4) element_strides (1, 1)" + rest);
  fails("A dims (4) strides () box (4, 4) element_strides (1)" + rest);
  fails("A dims (4) strides () box (257) element_strides (1)" + rest);
  fails("A dims (4) strides () box (4) element_strides (9)" + rest);
  fails("A dims (4) strides () box (4, 4) element_strides (1) lower (1) upper (1)" + rest);
  fails(
      "A dims (4, 4, 4) strides (4, 16) box (4, 1025) element_strides (1, 1, 1) lower (0) upper "
      "(0)" +
      rest);
  fails("A dims (4, 4, 4) strides (4, 16) box (4, 8) element_strides (1, 1, 1) lower (0)" + rest);
  fails("A dims (4) strides () box (4) element_strides (1) swizzle 16 promotion 0");
  fails("A dims (4) strides () box (4) element_strides (1) swizzle 0 promotion 32");
}

TEST(TextForm, HasShortWaysToWrite) {
  // Whole buffers, bare elements, and ranges by their end or extent.
  EXPECT_EQ(printed("copy A[bx * 16, 0] -> tile"), "copy A[bx * 16 : +16, 0 : +64] -> tile\n");
  EXPECT_EQ(printed("copy A[3, 0 : 8] -> tile[2, 8 : 16]"),
            "copy A[3, 0 : +8] -> tile[2, 8 : +8]\n");
  EXPECT_EQ(printed("fill tile[1, 2] = 0"), "fill tile[1 : +1, 2 : +1] = float16(0.0)\n");
  EXPECT_EQ(printed("fill tile[bx : bx + 2, 1] = 1"), "fill tile[bx : +2, 1] = float16(1.0)\n");
  // Annotations go into the statements that they are about.
  EXPECT_EQ(printed("annotate_safe_value A, 1\ncopy A[0, 0] -> tile"),
            "copy A[0 : +16, 0 : +64] -> tile safe float16(1.0)\n");
  EXPECT_EQ(printed("annotate_safe_value A, 1\ncopy A[0, 0] -> tile safe 2\ncopy A[0, 0] -> tile"),
            "copy A[0 : +16, 0 : +64] -> tile safe float16(2.0)\n"
            "copy A[0 : +16, 0 : +64] -> tile safe float16(1.0)\n");
  EXPECT_EQ(printed("copy A[0, 0] -> tile safe 2 {}\ncopy A[0, 0] -> tile"),
            "copy A[0 : +16, 0 : +64] -> tile safe float16(2.0)\n"
            "copy A[0 : +16, 0 : +64] -> tile\n");
  EXPECT_EQ(printed("if bx < 1 { annotate_safe_value A, 1 } else { copy A[0, 0] -> tile }\n"),
            "if bx < 1 {\n} else {\n  copy A[0 : +16, 0 : +64] -> tile\n}\n");
  const auto laid_out = read(with("annotate_layout tile, (16,64):(72,1)"));
  EXPECT_NE(print(*laid_out).find("float16[16, 64] layout (16,64):(72,1)\n"), std::string::npos);
  // Hints in any order, branches in a chain, comments.
  EXPECT_EQ(printed("copy A[0, 0] -> tile {prefer_instruction: sync, coalesced_width: 2} # why"),
            "copy A[0 : +16, 0 : +64] -> tile {coalesced_width: 2, prefer_instruction: sync}\n");
  EXPECT_EQ(printed("if bx < 1 { } else if bx < 2 { fill tile = 1 } // or"),
            "if bx < 1 {\n} else {\n  if bx < 2 {\n    fill tile = float16(1.0)\n  }\n}\n");
  EXPECT_EQ(printed("for k in 0..ceildiv(n, 4) { tile[k, 0] = -bx }"),
            "for k in 0 .. (n + 3) / 4 {\n  tile[k, 0] = cast(-bx, float16)\n}\n");
}

TEST(TextForm, Im2colHasDefaults) {
  const std::string head =
      "function f(img: float16[2, 8, 8, 4]) { kernel (bx: 4) threads 32 {\n"
      "col = alloc_shared float16[16, 36]\n im2col img -> col step (bx, 0) ";
  EXPECT_EQ(body_of(*read(head + "kernel 3 } }")),
            "im2col img -> col step (bx, 0) kernel 3 stride 1 dilation 1 pad 0\n");
  EXPECT_EQ(
      body_of(*read(head + "kernel (3, 1) stride 2 pad (1, 0) {eviction_policy: evict_last} } }")),
      "im2col img -> col step (bx, 0) kernel (3, 1) stride 2 dilation 1 pad (1, 0) "
      "{eviction_policy: evict_last}\n");
}

std::string expr(const std::string& text) {
  const std::string line = printed("tile[0, 0] = cast(" + text + ", float16)");
  const std::string head = "tile[0, 0] = cast(";
  if (!line.starts_with(head)) return line;
  return line.substr(head.size(), line.size() - head.size() - std::string(", float16)\n").size());
}

TEST(TextForm, WritesFewParentheses) {
  for (const char* text :
       {"bx + n * 2 - 1", "(bx + n) * 2", "bx - (n - 1)", "bx - n - 1", "bx / (n * 2)", "-bx * n",
        "-(bx + n)", "bx << n + 1", "(bx << n) + 1", "bx & n | 1", "bx & (n | 1)", "bx ^ n & 1",
        "min(bx + 1, n) % 3", "abs(bx - n)", "select(bx < n && !(n == 3), bx, n)", "bx * -1",
        "bx - -9223372036854775808", "s + float32(0.5)", "exp(s) / sqrt(-s)"}) {
    EXPECT_EQ(expr(text), text);
  }
}

TEST(TextForm, SpellsConstants) {
  auto constant = [](const std::string& dtype, const std::string& value) {
    const auto kernel =
        read("function f(A: " + dtype + "[4]) { kernel (b: 1) { A[0] = " + value + " } }");
    const ir::Stmt& s = ir::get<ir::Block>(kernel->body).body[0];
    return print(ir::get<ir::Store>(s).value);
  };
  EXPECT_EQ(constant("int64", "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(constant("int32", "4"), "int32(4)");
  EXPECT_EQ(constant("int8", "int8(-128)"), "int8(-128)");
  EXPECT_EQ(constant("uint64", "uint64(18446744073709551615)"), "uint64(18446744073709551615)");
  EXPECT_EQ(constant("bool", "true"), "true");
  EXPECT_EQ(constant("float64", "0.1"), "0.1");
  EXPECT_EQ(constant("float64", "-0.0"), "-0.0");
  EXPECT_EQ(constant("float64", "1e300"), "1e+300");
  EXPECT_EQ(constant("float64", "double(nan)"), "float64(nan)");
  EXPECT_EQ(constant("float16", "half(0.1)"), "float16(0.0999755859375)");
  EXPECT_EQ(constant("bfloat16", "bf16(-inf)"), "bfloat16(-inf)");
  EXPECT_EQ(constant("float8_e4m3fn", "2"), "float8_e4m3fn(2.0)");
}

// ---- Names ----

TEST(TextForm, NamesAreScoped) {
  const std::string text =
      "for i in 0 .. 4 {\n  tile[i, 0] = float16(1.0)\n}\n"
      "for i in 0 .. 8 {\n  tile[i, 1] = float16(2.0)\n}\n";
  EXPECT_EQ(printed(text), text);
  EXPECT_EQ(printed("for i in 0 .. 4 { for i in 0 .. 8 { tile[i, 0] = 1 } tile[i, 1] = 2 }"),
            "for i in 0 .. 4 {\n  for i_1 in 0 .. 8 {\n    tile[i_1, 0] = float16(1.0)\n  }\n"
            "  tile[i, 1] = float16(2.0)\n}\n");
}

TEST(TextForm, WordsAreNotReserved) {
  expect_stable(
      "function function(copy: float16[min, 64], safe: float32) {\n"
      "  kernel (kernel: 4) threads 32 {\n"
      "    for = alloc_shared float16[16, 64]\n"
      "    layout = alloc_shared float16[16, 64]\n"
      "    copy copy[0, 0] -> for\n"
      "    copy for -> layout safe 1\n"
      "    step = alloc_local float32[4]\n"
      "    copy[kernel, min] = for[0, 1] + layout[0, 1]\n"
      "    step[0] = safe + min(safe, float32(2.0)) + load(step[1], safe=3)\n"
      "    else = alloc_local float32[4]\n"
      "    if kernel < 1 { else[0] = safe }\n"
      "    else[1] = safe\n"
      "  }\n}\n");
}

TEST(TextForm, SymbolsKeepTheirOrder) {
  const auto kernel = read("function f(m: symbol, A: float16[n, m]) { kernel (b: n) { } }");
  ASSERT_EQ(kernel->symbols.size(), 2u);
  EXPECT_EQ(kernel->symbols[0].name(), "m");
  EXPECT_EQ(print(*kernel).substr(0, 52), "function f(m: symbol, n: symbol, A: float16[n, m]) {");
  const auto implied =
      read("function f(A: float16[n * 2, m], B: float16[n]) { kernel (b: n) { } }");
  EXPECT_EQ(implied->symbols[0].name(), "n");
  EXPECT_EQ(print(*implied).find("symbol"), std::string::npos);
}

// ---- Errors ----

struct Fault {
  std::string statements;
  std::string code;
  std::string found;  ///< part of the report's `found`
};

TEST(TextForm, FaultsAreReportedWhereTheyAre) {
  const std::vector<Fault> faults = {
      {"copy A[0, 0] tile", "E0501", "'tile' in column 14"},
      {"copy A[0, 0] -> tlie", "E0502", "'tlie'"},
      {"copy 3 -> tile", "E0501", "'3'"},
      {"copy s -> tile", "E0501", "'s'"},
      {"copy A[0, 0] -> tile {coalesced_width: 3}", "E0205", "3"},
      {"copy A[0, 0] -> tile {width: 3}", "E0202", "width"},
      {"copy A[0, 0] -> tile {coalesced_width: yes}", "E0203", "string"},
      {"copy A[0, 0] -> tile {prefer_instruction: dma}", "E0201", "dma"},
      {"copy A[0, 0] -> tile {coalesced_width: 2, coalesced_width: 2}", "E0501", "coalesced_width"},
      {"copy A[0, 0] -> tile safe bx", "E0416", "bx"},
      {"copy A[0 : 8 : 2, 0] -> tile", "E0103", "2"},
      {"copy A[0, 0, 0] -> tile", "E0102", "3"},
      {"fill tile = 99999999999999999999", "E0501", "99999999999999999999"},
      {"fill tile = 1e999", "E0501", "1e999"},
      {"fill tile = int8(128)", "E0501", "128"},
      {"fill tile = uint8(-1)", "E0501", "'1'"},
      {"fill tile = float16(1e6)", "E0501", "1e6"},
      {"fill tile = float16(bx)", "E0501", "bx"},
      {"fill tile = bool(1)", "E0501", "'1'"},
      {"fill tile = maxx(bx, 1)", "E0502", "maxx"},
      {"fill tile = abs(bx, 1)", "E0501", "'abs'"},
      {"fill tile = min(bx)", "E0501", "'min'"},
      {"fill tile = tile + 1", "E0501", "tile"},
      {"fill tile = s[0]", "E0501", "'['"},
      {"fill tile = s + bx", "E0409", "float32"},
      {"fill tile = select(bx, 1, 2)", "E0420", "int64"},
      {"if bx { }", "E0420", "int64"},
      {"else { }", "E0501", "'else'"},
      {"tile = 3", "E0501", "'3'"},
      {"tile = alloc_shared float16[2]", "E0405", "tile"},
      {"t = alloc_shared float17[2]", "E0501", "float17"},
      {"t = alloc_shared float16[2] layout (3,2):(1,3)", "E0415", ""},
      {"t = alloc_shared float16[2] layout (2:1", "E0501", "the end"},
      {"t = alloc_shared float16[2] layout (2)):1", "E0501", "')'"},
      {"parallel (i: 4) {disable_tma: true} { }", "E0202", "disable_tma"},
      {"parallel (i: 4, i: 4) { }", "E0405", "'i'"},
      {"parallel (i: 4) { fill tile = 0 }", "E0418", "fill"},
      {"let x: int64 = 3", "E0501", "'let'"},
      {"instr host.copy()", "E0501", "'instr'"},
      {"for 3 in 0 .. 4 { }", "E0501", "'3'"},
      {"for k in 0 { }", "E0501", "'{'"},
      {"fill tile = $", "E0501", "'$'"},
      {"fill tile = \xc3\xa9", "E0501", "0xc3"},
      {"fill tile = 1 }", "E0501", "'}'"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.statements);
    const Error error = error_of(with("\n" + fault.statements));
    EXPECT_EQ(error.code(), fault.code) << error.what();
    EXPECT_NE(error.report().found.find(fault.found), std::string::npos) << error.what();
    EXPECT_GE(error.where().line, 5) << error.what();
    EXPECT_STREQ(error.where().file, "kernel.tc");
  }
}

TEST(TextForm, FaultsOutsideOfTheBody) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "E0501"},
      {"kernel", "E0501"},
      {"function f() { }", "E0501"},
      {"function true() { kernel (b: 1) { } }", "E0501"},
      {"function f() { kernel () { } }", "E0408"},
      {"function f() { kernel (b: 1) threads 0 { } }", "E0407"},
      {"function f() { kernel (b: 1) threads 9999999999 { } }", "E0501"},
      {"function f() { kernel (b: 1) { } } x", "E0501"},
      {"function f() { kernel (b: n) { } }", "E0502"},
      {"function f(n: symbol) { kernel (b: n) { } }", "E0406"},
      {"function f(A: float16[n * 2]) { kernel (b: n) { } }", "E0406"},
      {"function f(A: float16[A]) { kernel (b: 1) { } }", "E0405"},
      {"function f(A: float16[4], B: float16[A[0]]) { kernel (b: 1) { } }", "E0401"},
      {"function f(n: symbol, n: symbol) { kernel (b: 1) { } }", "E0405"},
      {"function f(A: float16[4] strides [1, 2]) { kernel (b: 1) { } }", "E0413"},
      {"device function f(A: float16[4], A: int8) { kernel () { } }", "E0405"},
      {"device function f(A: float16[4], B: float16[A[0]]) { kernel () { } }", "E0401"},
      {"device function f(A: float16[4]) { kernel () { A[0, 1] = 1 } }", "E0102"},
      {"device function f(A: float16[4]) { kernel () { A[true] = 1 } }", "E0420"},
      {"device function f(A: float16[4]) { kernel () as { } }", "E0501"},
      {"function f(A: float16[4]) { kernel (i: 1) as thread { A[0] = 1 } }", "E0501"},
      {"device function f(A: int8[4]) { kernel () { tensor_map m = A dims (4) strides () } }",
       "E0501"},
      {"device function f(A: int8[4]) { kernel () { tensor_map m = B dims (4) } }", "E0502"},
      {"device function f(A: float16[4]) { kernel () { fill A = 1 } }", "E0501"},
      {"device function f(A: float16[4]) { kernel () { instr x.(1) } }", "E0501"},
      {"device function f(A: float16[4]) { kernel () { A[0] = load(A[0], safe=1) } }", "E0501"},
      {"device function f() { kernel () { t = alloc_shared int8[0] } }", "E0107"},
      {"device function f() { kernel () { t = alloc_shared int8[4] layout 5:1 } }", "E0415"},
  };
  for (const auto& [text, code] : faults) EXPECT_EQ(error_of(text).code(), code) << text;
}

TEST(TextForm, SuggestsTheNearestName) {
  EXPECT_EQ(error_of(with("copy A[0, 0] -> tlie")).report().help, "did you mean 'tile'?");
  EXPECT_EQ(error_of(with("fill tile = maxx(bx, 1)")).report().help, "did you mean 'max'?");
  EXPECT_EQ(error_of(with("fill wholly_different = 1")).report().help.find("did you mean"),
            std::string::npos);
}

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(TextForm, NestingIsBounded) {
  auto parens = [](int n) { return with("fill tile = " + repeat("(", n) + "1" + repeat(")", n)); };
  auto ifs = [](int n) { return with(repeat("if true {", n) + repeat("}", n)); };
  expect_stable(parens(500));
  expect_stable(ifs(200));
  EXPECT_EQ(error_of(parens(5000)).code(), "E0501");
  EXPECT_EQ(error_of(ifs(5000)).code(), "E0429");
  EXPECT_EQ(error_of(with(repeat("if true { } else ", 5000) + "{ }")).code(), "E0429");
  EXPECT_EQ(error_of(with("fill tile = bx" + repeat(" + bx * bx", 5000))).code(), "E0427");
  EXPECT_EQ(error_of(with("fill tile = " + repeat("-", 5000) + "s")).code(), "E0427");
  EXPECT_EQ(error_of(with("x = alloc_local int8[1] layout " + repeat("(", 5000))).code(), "E0501");
}

// ---- Any text ----

/// Reads text that may be anything: a kernel that then obeys all rules, or an error for the user.
void read_anything(const std::string& text) {
  std::shared_ptr<const ir::Kernel> kernel;
  try {
    kernel = language::parse(text, "fuzz");
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    return;
  }
  ir::verify(*kernel);
  const std::string once = print(*kernel);
  const std::string again = print(*language::parse(once, "fuzz"));
  if (again != once) throw std::logic_error("reads back as\n" + again);
}

std::string mutated(std::string text, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"(",         ")",        "[",
                                                  "]",         "{",        "}",
                                                  ",",         ":",        "-",
                                                  "->",        "..",       "=",
                                                  "safe ",     "if ",      "for ",
                                                  "i",         "0",        "-1",
                                                  "1e9",       "true",     "int8(",
                                                  "load(",     "fill ",    "A",
                                                  "tile",      "\n",       "\xff",
                                                  "#",         "layout ",  "symbol",
                                                  "&",         "!",        "9223372036854775807",
                                                  "block {",   "else ",    "select(",
                                                  "fragment(", "swizzle<", ": +",
                                                  "+",         "%",        "/"};
  auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, below(12));
    switch (below(6)) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(below(text.size() + 1), below(40))); break;
      case 3: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 4: text.replace(at, length, pieces[below(pieces.size())]); break;
      default: text.insert(at, pieces[below(pieces.size())]); break;
    }
  }
  return text;
}

TEST(TextForm, AnyTextIsReadOrRefused) {
  std::vector<std::string> corpus = documented_kernels();
  corpus.push_back(
      with("copy A[bx * 16, 0] -> tile safe 1 {prefer_instruction: tma}\n"
           "parallel (i: 16, j: 64) { tile[i, j] = tile[i, j] * 2 }"));
  corpus.push_back(
      "device function f(A: float32[n]) { kernel (b: n) threads 32 {\n"
      "let x: int64 = b * 4\n instr host.copy(&A[x], &A[0], n)\n"
      "block { if A[x] < 0.0 { A[x] = -A[x] } } } }");
  std::mt19937 random(20240229);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = mutated(corpus[static_cast<std::size_t>(i) % corpus.size()], random);
    try {
      read_anything(text);
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\nfor the text:\n" << text;
    }
  }
}

}  // namespace
}  // namespace tilecopy
