#include "ir/walk.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/make.h"

namespace tilecopy::ir {
namespace {

using Visit = std::function<void(const Expr&)>;

// Calls `f` for each operand of an expression, in order. An undefined safe value is none.
template <typename F>
void for_each_operand(const Expr& e, F&& f) {
  switch (e.node()->kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::VarNode: return;
    case ExprKind::Unary: return f(get<Unary>(e).a);
    case ExprKind::Binary: f(get<Binary>(e).a), f(get<Binary>(e).b); return;
    case ExprKind::Select:
      f(get<Select>(e).condition), f(get<Select>(e).a), f(get<Select>(e).b);
      return;
    case ExprKind::Cast: return f(get<Cast>(e).a);
    case ExprKind::Load:
      for (const Expr& index : get<Load>(e).indices) f(index);
      if (get<Load>(e).safe.defined()) f(get<Load>(e).safe);
      return;
  }
}

// Visits each node once. Shared nodes make the tree exponentially larger than the graph, so going
// through the tree could take for ever.
class Visitor {
 public:
  explicit Visitor(const Visit& visit) : visit_(visit) {}

  void run(const Expr& e) {
    if (!e.defined() || !seen_.insert(e.node()).second) return;
    visit_(e);
    for_each_operand(e, [this](const Expr& operand) { run(operand); });
  }

 private:
  const Visit& visit_;
  std::unordered_set<const ExprNode*> seen_;
};

class Substitution {
 public:
  explicit Substitution(const std::map<const ExprNode*, Expr>& replacement)
      : replacement_(replacement) {}

  Expr run(const Expr& e) {
    if (!e.defined()) return e;
    if (as<VarNode>(e)) {
      auto found = replacement_.find(e.node());
      return found == replacement_.end() ? e : coerce(found->second, e.dtype());
    }
    if (as<IntConst>(e) || as<FloatConst>(e)) return e;
    auto [place, fresh] = done_.try_emplace(e.node());
    if (!fresh) return place->second;
    const Expr result = changes_operand(e) ? rebuild(e) : e;
    return done_[e.node()] = result;
  }

 private:
  bool changes_operand(const Expr& e) {
    bool changed = false;
    for_each_operand(e, [&](const Expr& x) { changed |= run(x).node() != x.node(); });
    return changed;
  }

  Expr rebuild(const Expr& e) {
    switch (e.node()->kind) {
      case ExprKind::IntConst:
      case ExprKind::FloatConst:
      case ExprKind::VarNode: break;
      case ExprKind::Unary: return remake_unary(get<Unary>(e).op, run(get<Unary>(e).a));
      case ExprKind::Binary: {
        const auto& b = get<Binary>(e);
        return remake_binary(b.op, run(b.a), run(b.b));
      }
      case ExprKind::Select: {
        const auto& s = get<Select>(e);
        return make_select(run(s.condition), run(s.a), run(s.b));
      }
      case ExprKind::Cast: return make_cast(run(get<Cast>(e).a), e.dtype());
      case ExprKind::Load: {
        const auto& l = get<Load>(e);
        std::vector<Expr> indices;
        for (const Expr& index : l.indices) indices.push_back(run(index));
        return make_load(l.buffer, std::move(indices), run(l.safe));
      }
    }
    return e;
  }

  const std::map<const ExprNode*, Expr>& replacement_;
  std::unordered_map<const ExprNode*, Expr> done_;
};

void visit_all(const std::vector<Expr>& exprs, const Visit& visit) {
  for (const Expr& e : exprs) visit(e);
}

void visit_region(const Region& region, const Visit& visit) {
  visit_all(region.origin, visit);
  visit_all(region.extent, visit);
}

void visit_operands(const Instr& instr, const Visit& visit) {
  for (const InstrOperand& operand : instr.operands) {
    if (const auto* address = std::get_if<Address>(&operand)) {
      visit(address->offset);
    } else {
      visit(std::get<Expr>(operand));
    }
  }
}

void direct_exprs(const StmtNode& s, const Visit& visit) {
  switch (s.kind) {
    case StmtKind::Block:
    case StmtKind::Alloc: return;
    case StmtKind::For: {
      const auto& loop = static_cast<const For&>(s);
      return visit_all({loop.begin, loop.end}, visit);
    }
    case StmtKind::If: return visit(static_cast<const If&>(s).condition);
    case StmtKind::Store: {
      const auto& store = static_cast<const Store&>(s);
      visit_all(store.indices, visit);
      return visit(store.value);
    }
    case StmtKind::Parallel: return visit_all(static_cast<const Parallel&>(s).extents, visit);
    case StmtKind::Copy: {
      const auto& copy = static_cast<const Copy&>(s);
      visit_region(copy.src, visit);
      visit_region(copy.dst, visit);
      return visit(copy.safe);
    }
    case StmtKind::Im2col: {
      const auto& op = static_cast<const Im2col&>(s);
      visit_region(op.col, visit);
      return visit_all({op.nhw_step, op.c_step}, visit);
    }
    case StmtKind::Transpose: {
      const auto& op = static_cast<const Transpose&>(s);
      visit_region(op.src, visit);
      visit_region(op.dst, visit);
      return visit(op.safe);
    }
    case StmtKind::Fill: {
      const auto& fill = static_cast<const Fill&>(s);
      visit_region(fill.dst, visit);
      return visit(fill.value);
    }
    case StmtKind::Let: return visit(static_cast<const Let&>(s).value);
    case StmtKind::TensorMap:
      visit_all(static_cast<const TensorMap&>(s).dims, visit);
      return visit_all(static_cast<const TensorMap&>(s).strides, visit);
    case StmtKind::Instr: return visit_operands(static_cast<const Instr&>(s), visit);
  }
}

// Pushes the statements inside `s`, the last one first.
void push_nested(const Stmt& s, std::vector<Stmt>& stack) {
  switch (s->kind) {
    case StmtKind::Block: {
      const auto& body = get<Block>(s).body;
      stack.insert(stack.end(), body.rbegin(), body.rend());
      return;
    }
    case StmtKind::For: stack.push_back(get<For>(s).body); return;
    case StmtKind::If:
      stack.push_back(get<If>(s).else_body);
      stack.push_back(get<If>(s).then_body);
      return;
    case StmtKind::Parallel: stack.push_back(get<Parallel>(s).body); return;
    case StmtKind::Alloc:
    case StmtKind::Store:
    case StmtKind::Copy:
    case StmtKind::Im2col:
    case StmtKind::Transpose:
    case StmtKind::Fill:
    case StmtKind::Let:
    case StmtKind::TensorMap:
    case StmtKind::Instr: return;
  }
}

}  // namespace

void for_each_expr(const Expr& e, const Visit& visit) { Visitor(visit).run(e); }

void for_each_direct_expr(const StmtNode& s, const Visit& visit) {
  direct_exprs(s, [&](const Expr& e) {
    if (e.defined()) visit(e);
  });
}

void for_each_stmt(const Stmt& s, const std::function<void(const Stmt&)>& visit) {
  std::vector<Stmt> stack{s};
  while (!stack.empty()) {
    const Stmt next = std::move(stack.back());
    stack.pop_back();
    if (!next) continue;
    visit(next);
    push_nested(next, stack);
  }
}

Expr substitute(const Expr& e, const std::map<const ExprNode*, Expr>& replacement) {
  return Substitution(replacement).run(e);
}

}  // namespace tilecopy::ir
