#include "ir/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/make.h"
#include "ir/raw.h"
#include "ir/verify_rules.h"
#include "tilecopy/error.h"

namespace tilecopy::ir {
namespace {

const Location here("user.cpp", 42, 1);

Buffer buffer(Scope scope, std::vector<Expr> shape, DType dtype = float32) {
  auto node = std::make_shared<BufferNode>();
  *node = {"A", dtype, scope, {}, {}, here};
  for (const Expr& e : shape) node->shape.push_back(coerce(e, int64));
  return Buffer(node);
}

template <typename Edit>
Buffer edited(const Buffer& original, Edit edit) {
  auto node = std::make_shared<BufferNode>(*original.node());
  edit(*node);
  return Buffer(node);
}

template <typename T, typename Edit>
Stmt edited(const Stmt& original, Edit edit) {
  auto node = std::make_shared<T>(get<T>(original));
  edit(*node);
  return node;
}

template <typename T, typename Edit>
Expr edited(const Expr& original, Edit edit) {
  auto node = std::make_shared<T>(get<T>(original));
  edit(*node);
  return Expr(node);
}

Stmt alloc(const Buffer& tile, std::optional<TileLayout> layout = {},
           std::optional<Fragment> fragment = {}) {
  auto s = make_stmt<Alloc>(here);
  s->buffer = tile;
  s->layout = std::move(layout);
  s->fragment = std::move(fragment);
  return s;
}

Region whole(const Buffer& b) {
  return {b, std::vector<Expr>(b.shape().size(), make_int(0)), b.shape()};
}

/// A sound kernel, whose parts the cases break.
struct Sound {
  Buffer a = buffer(Scope::global, {8, 8});
  Buffer img = buffer(Scope::global, {1, 8, 8, 4});
  Buffer tile = buffer(Scope::shared, {8, 8});
  Var n{"n", int64};
  Var flag{"flag", bool_};
  Var x{"x", float32};
  Var k{"k", int64};
  Kernel kernel;

  Sound() {
    kernel.name = "sound";
    kernel.where = here;
    kernel.params = {a, img, flag, x};
    kernel.symbols = {n};
    kernel.block = {Var("bx", int64)};
    kernel.grid = {n};
    kernel.threads = 32;
    kernel.body = make_block({alloc(tile)}, here);
  }

  Kernel with(std::vector<Stmt> statements, Level level = Level::tile) const {
    Kernel result = kernel;
    statements.insert(statements.begin(), alloc(tile));
    result.body = make_block(std::move(statements), here);
    result.level = level;
    return result;
  }
  Kernel device(std::vector<Stmt> statements) const {
    return with(std::move(statements), Level::device);
  }
  Kernel storing(const Expr& value) const { return with({make_store(tile, {0, 0}, value, here)}); }

  Stmt copy(const Expr& safe = {}) const {
    auto s = make_stmt<Copy>(here);
    s->src = whole(a);
    s->dst = whole(tile);
    s->safe = safe;
    return s;
  }
  Stmt tensor_map() const {
    auto s = make_stmt<TensorMap>(here);
    s->var = Var("map", uint64);
    s->tensor = a;
    s->dims = {8, n};
    s->strides = {32};
    s->box = {8, 8};
    s->element_strides = {1, 1};
    s->swizzle_bytes = 32;
    s->l2_promotion_bytes = 128;
    return s;
  }
  Stmt transpose() const {
    auto s = make_stmt<Transpose>(here);
    s->src = whole(a);
    s->dst = whole(tile);
    return s;
  }
  Stmt fill(const Expr& value) const {
    auto s = make_stmt<Fill>(here);
    s->dst = whole(tile);
    s->value = value;
    return s;
  }
  Stmt im2col(const Im2colWindow& window = {3, 1, 1, 1}) const {
    return std::make_shared<Im2col>(
        Im2col{{{Im2col::tag, here}, 0}, img, whole(tile), n, make_int(0), window, {}});
  }
  Stmt parallel(std::vector<Stmt> body) const {
    auto s = make_stmt<Parallel>(here);
    s->vars = {k};
    s->extents = {make_int(4)};
    s->body = make_block(std::move(body), here);
    return s;
  }
};

struct Case {
  std::string_view rule;
  std::function<Kernel(Sound)> broken;
};

Kernel changed(Sound s, const std::function<void(Kernel&)>& edit) {
  edit(s.kernel);
  return s.kernel;
}

const std::vector<Case>& kernel_cases() {
  static const std::vector<Case> cases = {
      {"kernel.body", [](Sound s) { return changed(s, [](Kernel& k) { k.body = nullptr; }); }},
      {"kernel.threads", [](Sound s) { return changed(s, [](Kernel& k) { k.threads = 0; }); }},
      {"kernel.params",
       [](Sound s) { return changed(s, [](Kernel& k) { k.params[0] = Buffer(); }); }},
      {"kernel.params",
       [](Sound s) {
         return changed(s, [](Kernel& k) { k.params[0] = buffer(Scope::shared, {4}); });
       }},
      {"kernel.params",
       [](Sound s) {
         const Buffer b = edited(s.a, [](BufferNode& node) { node.strides = {1}; });
         return changed(s, [&](Kernel& k) { k.params[0] = b; });
       }},
      {"kernel.symbols",
       [](Sound s) { return changed(s, [](Kernel& k) { k.symbols = {Var("n", int32)}; }); }},
      {"kernel.grid", [](Sound s) { return changed(s, [](Kernel& k) { k.grid.clear(); }); }},
      {"kernel.grid",
       [](Sound s) { return changed(s, [](Kernel& k) { k.grid = {make_bool(true)}; }); }},
      {"scope.variable",
       [](Sound s) { return changed(s, [](Kernel& k) { k.grid = {Var("lost", int64)}; }); }},
  };
  return cases;
}

const std::vector<Case>& stmt_cases() {
  static const std::vector<Case> cases = {
      {"stmt.complete", [](Sound s) { return s.with({nullptr}); }},
      {"stmt.complete", [](Sound s) { return s.with({s.fill({})}); }},
      {"stmt.complete", [](Sound s) { return s.with({alloc({})}); }},
      {"stmt.complete",
       [](Sound s) {
         return s.with({edited<Copy>(s.copy(), [](Copy& c) { c.src.buffer = {}; })});
       }},
      {"stmt.complete",
       [](Sound s) {
         return s.with({edited<Parallel>(s.parallel({}), [](Parallel& p) { p.vars = {Var()}; })});
       }},
      {"stmt.level", [](Sound s) { return s.device({s.copy()}); }},
      {"stmt.level", [](Sound s) { return s.with({make_instr("cp.async", {}, here)}); }},
      {"parallel.nesting", [](Sound s) { return s.with({s.parallel({s.fill(s.x)})}); }},
      {"scope.buffer",
       [](Sound s) {
         const Buffer lost = buffer(Scope::shared, {8});
         return s.with({make_store(lost, {0}, s.x, here)});
       }},
      {"scope.buffer",  // at the end of its block
       [](Sound s) {
         const Buffer inner = buffer(Scope::shared, {8});
         return s.with({make_block({alloc(inner)}), make_store(inner, {0}, s.x, here)});
       }},
      {"scope.once", [](Sound s) { return s.with({alloc(s.tile)}); }},
      {"scope.once",
       [](Sound s) {
         const Stmt inner = make_for(LoopKind::serial, s.k, 0, 4, make_block({}), here);
         return s.with({make_for(LoopKind::serial, s.k, 0, 4, inner, here)});
       }},
      {"region.rank",
       [](Sound s) {
         return s.with({edited<Copy>(s.copy(), [](Copy& c) { c.dst.extent.pop_back(); })});
       }},
      {"region.rank",
       [](Sound s) {
         return s.with({edited<Copy>(s.copy(), [&](Copy& c) { c.dst.origin[0] = s.x; })});
       }},
      {"alloc.tile", [](Sound s) { return s.with({alloc(buffer(Scope::global, {8}))}); }},
      {"alloc.tile", [](Sound s) { return s.with({alloc(buffer(Scope::shared, {s.n}))}); }},
      {"alloc.layout",
       [](Sound s) {
         return s.with({alloc(buffer(Scope::shared, {8}), TileLayout(row_major({4})))});
       }},
      {"alloc.layout",
       [](Sound s) {
         return s.with({alloc(buffer(Scope::shared, {8}), {}, Fragment::linear({8}, 4, 1))});
       }},
      {"for.dtype",
       [](Sound s) {
         const Stmt loop = make_for(LoopKind::serial, s.k, 0, 4, make_block({}), here);
         return s.with({edited<For>(loop, [](For& f) { f.end = make_int(4, int32); })});
       }},
      {"if.condition",
       [](Sound s) {
         const Stmt branch = make_if(s.flag, make_block({}), nullptr, here);
         return s.with({edited<If>(branch, [&](If& i) { i.condition = s.n; })});
       }},
      {"store.dtype",
       [](Sound s) {
         const Stmt store = make_store(s.tile, {0, 0}, s.x, here);
         return s.with({edited<Store>(store, [&](Store& st) { st.value = s.n; })});
       }},
      {"store.rank", [](Sound s) { return s.with({make_store(s.tile, {0}, s.x, here)}); }},
      {"store.offset",
       [](Sound s) {
         return s.device({make_store(s.tile, {0, 0}, s.x, here)});
       }},
      {"parallel.extents",
       [](Sound s) {
         return s.with({edited<Parallel>(s.parallel({}), [](Parallel& p) { p.extents.clear(); })});
       }},
      {"parallel.hints",
       [](Sound s) {
         return s.with(
             {edited<Parallel>(s.parallel({}), [](Parallel& p) { p.hints.disable_tma = true; })});
       }},
      {"safe.dtype", [](Sound s) { return s.with({s.copy(make_int(1))}); }},
      {"transpose.rank",
       [](Sound s) {
         return s.with(
             {edited<Transpose>(s.transpose(), [&](Transpose& t) { t.src = whole(s.img); })});
       }},
      {"im2col.operands",
       [](Sound s) {
         return s.with({edited<Im2col>(s.im2col(), [&](Im2col& i) { i.img = s.a; })});
       }},
      {"im2col.window",
       [](Sound s) {
         return s.with({s.im2col({3, 0, 1, 1})});
       }},
      {"fill.dtype", [](Sound s) { return s.with({s.fill(s.n)}); }},
      {"let.dtype",
       [](Sound s) {
         const Stmt let = make_let(Var("y", float32), s.x, here);
         return s.device({edited<Let>(let, [&](Let& l) { l.value = s.n; })});
       }},
      {"tensor_map.rank",
       [](Sound s) {
         return s.device({edited<TensorMap>(s.tensor_map(), [](TensorMap& m) { m.dims = {}; })});
       }},
      {"tensor_map.rank",
       [](Sound s) {
         return s.device({edited<TensorMap>(s.tensor_map(), [](TensorMap& m) { m.box = {8}; })});
       }},
      {"tensor_map.rank",  // im2col needs an image
       [](Sound s) {
         return s.device(
             {edited<TensorMap>(s.tensor_map(), [](TensorMap& m) { m.lower = m.upper = {0}; })});
       }},
      {"tensor_map.operands",
       [&](Sound s) {
         return s.device(
             {edited<TensorMap>(s.tensor_map(), [&](TensorMap& m) { m.tensor = s.tile; })});
       }},
      {"tensor_map.numbers",
       [](Sound s) {
         return s.device({edited<TensorMap>(s.tensor_map(), [](TensorMap& m) { m.box[1] = 257; })});
       }},
      {"tensor_map.numbers",
       [](Sound s) {
         return s.device(
             {edited<TensorMap>(s.tensor_map(), [](TensorMap& m) { m.swizzle_bytes = 16; })});
       }},
      {"scope.variable",  // the index of the thread, where it has no name
       [](Sound s) { return s.device({make_store(s.tile, {Var("thread", int64)}, s.x, here)}); }},
      {"instr.operands", [](Sound s) { return s.device({make_instr("", {}, here)}); }},
      {"instr.operands",
       [](Sound s) {
         return s.device({make_instr("cp.async", {Address{s.a, s.x}}, here)});
       }},
      {"scope.variable",  // at the end of its block
       [](Sound s) {
         const Var y("y", float32);
         return s.device({make_block({make_let(y, s.x)}), make_store(s.tile, {0}, y, here)});
       }},
  };
  return cases;
}

const std::vector<Case>& expr_cases() {
  static const std::vector<Case> cases = {
      {"expr.complete",
       [](Sound s) {
         return s.storing(edited<Unary>(make_unary(UnaryOp::neg, s.x), [](Unary& u) { u.a = {}; }));
       }},
      {"expr.complete",
       [](Sound s) {
         return s.storing(edited<Load>(make_load(s.a, {0, 0}), [](Load& l) { l.buffer = {}; }));
       }},
      {"expr.depth",
       [](Sound s) {
         return s.storing(
             edited<Unary>(make_unary(UnaryOp::neg, s.x), [](Unary& u) { u.depth = 1; }));
       }},
      {"const.range",
       [](Sound s) { return s.storing(raw::cast(raw::int_const(300, uint8), float32)); }},
      {"scope.variable", [](Sound s) { return s.storing(Var("lost", float32)); }},
      {"unary.dtype",
       [](Sound s) {
         return s.storing(
             edited<Unary>(make_unary(UnaryOp::neg, s.x), [&](Unary& u) { u.a = s.n; }));
       }},
      {"binary.dtype",
       [](Sound s) {
         return s.storing(
             edited<Binary>(make_binary(BinaryOp::add, s.x, s.x), [&](Binary& b) { b.b = s.n; }));
       }},
      {"binary.dtype",
       [](Sound s) {
         return s.storing(edited<Binary>(make_binary(BinaryOp::add, s.x, s.x),
                                         [](Binary& b) { b.op = BinaryOp::lt; }));
       }},
      {"select.dtype",
       [](Sound s) {
         return s.storing(edited<Select>(make_select(s.flag, s.x, make_float(1, float32)),
                                         [&](Select& e) { e.condition = s.n; }));
       }},
      {"scope.load", [](Sound s) { return s.storing(make_load(buffer(Scope::shared, {4}), {0})); }},
      {"load.dtype",
       [](Sound s) {
         return s.storing(
             edited<Load>(make_load(s.a, {0, 0}), [](Load& l) { l.safe = make_int(1); }));
       }},
      {"load.dtype",
       [](Sound s) {
         return s.storing(
             edited<Load>(make_load(s.a, {0, 0}), [&](Load& l) { l.indices[1] = s.x; }));
       }},
      {"load.rank", [](Sound s) { return s.storing(make_load(s.a, {0})); }},
      {"load.offset",
       [](Sound s) {
         return s.device({make_store(s.tile, {0}, make_load(s.a, {0, 0}), here)});
       }},
      {"load.offset",
       [](Sound s) { return s.device({make_store(s.tile, {0}, make_load(s.a, {0}, s.x), here)}); }},
  };
  return cases;
}

void expect_broken(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rule);
    try {
      verify(c.broken(Sound()));
      ADD_FAILURE() << "passed";
    } catch (const InternalError& error) {
      EXPECT_EQ(error.code(), "E0901");
      EXPECT_NE(error.report().found.find("rule " + std::string(c.rule) + ":"), std::string::npos)
          << error.what();
      EXPECT_EQ(error.where().line, 42) << error.what();
    }
  }
}

TEST(Verify, SoundKernelsPass) {
  const Sound s;
  EXPECT_NO_THROW(verify(s.kernel));
  const Stmt loop = make_for(LoopKind::serial, s.k, 0, 4, make_block({}), here);
  EXPECT_NO_THROW(verify(s.with({s.copy(), s.transpose(), s.fill(s.x), s.im2col(), loop, loop,
                                 s.parallel({make_store(s.tile, {s.k, 0}, s.x)})})));
  EXPECT_NO_THROW(verify(s.device({make_let(s.k, 3), make_store(s.tile, {s.k}, s.x),
                                   make_instr("cp.async", {Address{s.a, s.k}, s.x})})));
  Kernel simt = s.device({s.tensor_map(), make_store(s.tile, {s.k}, s.x)});
  simt.thread = s.k;
  EXPECT_NO_THROW(verify(simt));
}

TEST(Verify, BrokenKernelsAreRefused) { expect_broken(kernel_cases()); }
TEST(Verify, BrokenStatementsAreRefused) { expect_broken(stmt_cases()); }
TEST(Verify, BrokenExpressionsAreRefused) { expect_broken(expr_cases()); }

TEST(Verify, EveryRuleHasACase) {
  std::set<std::string_view> covered;
  for (const auto* cases : {&kernel_cases(), &stmt_cases(), &expr_cases()}) {
    for (const Case& c : *cases) covered.insert(c.rule);
  }
  for (const auto& rule : kernel_rules()) EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
  for (const auto& rule : stmt_rules()) EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
  for (const auto& rule : expr_rules()) EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
}

TEST(Verify, TellsTheStatement) {
  const Sound s;
  try {
    verify(s.with({s.fill(s.n)}));
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.report().found, "rule fill.dtype: int64 into float32 in `fill A = n`");
  }
}

}  // namespace
}  // namespace tilecopy::ir
