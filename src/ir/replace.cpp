#include "ir/replace.h"

#include "ir/make.h"

namespace tilecopy::ir {
namespace {

class BufferReplacer {
 public:
  explicit BufferReplacer(const Replacement& replacement) : replacement_(replacement) {}

  Stmt stmt(const Stmt& s) const {
    switch (s->kind) {
      case StmtKind::Block: {
        auto result = std::make_shared<Block>(get<Block>(s));
        for (Stmt& part : result->body) part = stmt(part);
        return result;
      }
      case StmtKind::Alloc: {
        auto result = std::make_shared<Alloc>(get<Alloc>(s));
        change(result->buffer);
        return result;
      }
      case StmtKind::For: {
        auto result = std::make_shared<For>(get<For>(s));
        change(result->begin);
        change(result->end);
        result->body = stmt(result->body);
        return result;
      }
      case StmtKind::If: {
        auto result = std::make_shared<If>(get<If>(s));
        change(result->condition);
        result->then_body = stmt(result->then_body);
        if (result->else_body) result->else_body = stmt(result->else_body);
        return result;
      }
      case StmtKind::Store: {
        auto result = std::make_shared<Store>(get<Store>(s));
        change(result->buffer);
        for (Expr& e : result->indices) change(e);
        change(result->value);
        return result;
      }
      case StmtKind::Parallel: {
        auto result = std::make_shared<Parallel>(get<Parallel>(s));
        for (Expr& e : result->extents) change(e);
        result->body = stmt(result->body);
        return result;
      }
      case StmtKind::Copy: return transfer<Copy>(s);
      case StmtKind::Transpose: return transfer<Transpose>(s);
      case StmtKind::Im2col: {
        auto result = std::make_shared<Im2col>(get<Im2col>(s));
        change(result->img);
        change(result->col);
        change(result->nhw_step);
        change(result->c_step);
        return result;
      }
      case StmtKind::Fill: {
        auto result = std::make_shared<Fill>(get<Fill>(s));
        change(result->dst);
        change(result->value);
        return result;
      }
      case StmtKind::Let:
      case StmtKind::TensorMap:
      case StmtKind::Instr: return s;
    }
    return s;
  }

 private:
  template <typename T>
  Stmt transfer(const Stmt& s) const {
    auto result = std::make_shared<T>(get<T>(s));
    change(result->src);
    change(result->dst);
    change(result->safe);
    return result;
  }

  void change(Buffer& buffer) const {
    auto it = replacement_.find(buffer.node());
    if (it != replacement_.end()) buffer = it->second;
  }

  void change(Region& region) const {
    change(region.buffer);
    for (Expr& e : region.origin) change(e);
    for (Expr& e : region.extent) change(e);
  }

  void change(Expr& e) const {
    if (e.defined()) e = expr(e);
  }

  Expr expr(const Expr& e) const {
    switch (e.node()->kind) {
      case ExprKind::IntConst:
      case ExprKind::FloatConst:
      case ExprKind::VarNode: return e;
      case ExprKind::Unary: return make_unary(get<Unary>(e).op, expr(get<Unary>(e).a));
      case ExprKind::Binary: {
        const auto& b = get<Binary>(e);
        return make_binary(b.op, expr(b.a), expr(b.b));
      }
      case ExprKind::Select: {
        const auto& s = get<Select>(e);
        return make_select(expr(s.condition), expr(s.a), expr(s.b));
      }
      case ExprKind::Cast: return make_cast(expr(get<Cast>(e).a), e.dtype());
      case ExprKind::Load: {
        const auto& load = get<Load>(e);
        Buffer buffer = load.buffer;
        change(buffer);
        std::vector<Expr> indices = load.indices;
        for (Expr& index : indices) change(index);
        return make_load(buffer, std::move(indices), load.safe);
      }
    }
    return e;
  }

  const Replacement& replacement_;
};

}  // namespace

Stmt replace_buffers(const Stmt& s, const Replacement& replacement) {
  return BufferReplacer(replacement).stmt(s);
}

}  // namespace tilecopy::ir
