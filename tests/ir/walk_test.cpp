#include "ir/walk.h"

#include <gtest/gtest.h>

#include "ir/make.h"
#include "tilecopy/error.h"

namespace tilecopy::ir {
namespace {

Buffer tile() {
  auto node = std::make_shared<BufferNode>();
  *node = {"T", int64, Scope::shared, {make_int(8)}, {}, {}};
  return Buffer(node);
}

std::vector<std::string> parts(const Expr& e) {
  std::vector<std::string> out;
  for_each_expr(e, [&](const Expr& part) { out.push_back(part.to_string()); });
  return out;
}

// x + x, and so on: 2^levels leaves in levels + 1 nodes.
Expr doubled(const Expr& x, int levels) {
  Expr e = x;
  for (int i = 0; i < levels; ++i) e = e + e;
  return e;
}

TEST(Walk, ParentsComeBeforeChildren) {
  const Var x("x", int64);
  const Expr e = select(x < 1, make_load(tile(), {x * 2}, 5), -x);
  EXPECT_EQ(parts(e),
            (std::vector<std::string>{e.to_string(), "x < 1", "x", "1", "load(T[x * 2], safe=5)",
                                      "x * 2", "2", "5", "-x"}));
  EXPECT_TRUE(parts(Expr()).empty());
}

TEST(Walk, SharedNodesAreVisitedOnce) {
  const Var x("x", int64);
  int count = 0;
  for_each_expr(doubled(x, 19), [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 20);
}

TEST(Walk, DirectExpressionsOfStatements) {
  const Var i("i", int64);
  const Stmt store = make_store(tile(), {i + 1}, i * 3);
  const Stmt loop = make_for(LoopKind::serial, i, 2, 9, make_block({store}));
  auto direct = [](const Stmt& s) {
    std::vector<std::string> out;
    for_each_direct_expr(*s, [&](const Expr& e) { out.push_back(e.to_string()); });
    return out;
  };
  EXPECT_EQ(direct(store), (std::vector<std::string>{"i + 1", "i * 3"}));
  EXPECT_EQ(direct(loop), (std::vector<std::string>{"2", "9"}));
  const Stmt copy = [&] {
    auto node = make_stmt<Copy>({});
    node->src = {tile(), {i}, {make_int(4)}};
    node->dst = {tile(), {i * 2}, {make_int(4)}};
    return node;
  }();
  EXPECT_EQ(direct(copy), (std::vector<std::string>{"i", "4", "i * 2", "4"}));
  const Stmt instr = make_instr("ld", {Address{tile(), i + 7}, make_int(3)});
  EXPECT_EQ(direct(instr), (std::vector<std::string>{"i + 7", "3"}));
}

TEST(Walk, StatementsInOrder) {
  const Var i("i", int64);
  const Stmt a = make_store(tile(), {i}, 1);
  const Stmt b = make_store(tile(), {i}, 2);
  const Stmt c = make_store(tile(), {i}, 3);
  const Stmt branch = make_if(i < 3, a, b);
  const Stmt loop = make_for(LoopKind::serial, i, 0, 4, branch);
  std::vector<const StmtNode*> seen;
  const Stmt block = make_block({loop, c});
  for_each_stmt(block, [&](const Stmt& s) { seen.push_back(s.get()); });
  EXPECT_EQ(seen, (std::vector<const StmtNode*>{block.get(), loop.get(), branch.get(), a.get(),
                                                b.get(), c.get()}));
}

TEST(Substitute, ReplacesAndFolds) {
  const Var x("x", int64);
  const Var y("y", int64);
  const Expr e = x * 4 + y;
  EXPECT_EQ(substitute(e, {{x.node(), make_int(3)}}).to_string(), "12 + y");
  EXPECT_EQ(substitute(e, {{x.node(), Expr(0)}}).node(), y.node());
  EXPECT_EQ(substitute(e, {{x.node(), y}, {y.node(), x}}).to_string(), "y * 4 + x");
  EXPECT_EQ(substitute(e, {}).node(), e.node());
  const Expr load = make_load(tile(), {x}, 1);
  EXPECT_EQ(substitute(load, {{x.node(), y + 1}}).to_string(), "load(T[y + 1], safe=1)");
}

TEST(Substitute, KeepsTheVariablesDtype) {
  const Var s("s", int32);
  EXPECT_EQ(substitute(s + 1, {{s.node(), Expr(5)}}).dtype(), int32);
}

TEST(Substitute, SharedNodesAreRewrittenOnce) {
  const Var x("x", int64);
  const Var y("y", int64);
  const Expr e = substitute(doubled(x, 19), {{x.node(), y}});
  EXPECT_EQ(e.node()->depth, 20);
}

}  // namespace
}  // namespace tilecopy::ir
