// Walks a kernel with what is in scope and applies the rules of ir/verify_rules.h to every node.
#include "ir/verify.h"

#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ir/parts.h"
#include "ir/print.h"
#include "ir/verify_rules.h"

namespace tilecopy::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : site_{kernel, visible_} {}

  void kernel();

 private:
  template <typename Node>
  void apply(std::span<const VerifyRule<Node>> rules, const Node& node);
  void stmt(const Stmt& s);
  void body(const Stmt& s);
  void loop(const Parts& parts);
  void expr(const Expr& e);
  void declare(const void* node);
  void leave(std::size_t outside);
  [[noreturn]] void fail(std::string_view rule, const std::string& found) const;

  std::unordered_set<const void*> visible_;
  Site site_;
  std::vector<const void*> declared_;         // in order, to leave scopes by
  std::unordered_set<const ExprNode*> seen_;  // of the statement: nodes may be shared
  Stmt current_;
};

void Verifier::fail(std::string_view rule, const std::string& found) const {
  if (!current_) {
    raise_internal(fmt::format("rule {}: {} in function {}", rule, found, site_.kernel.name),
                   site_.kernel.where);
  }
  // Nested statements have their turn later: the first line tells which one is meant.
  std::string line = print(current_);
  line.resize(std::min(line.find('\n'), line.size()));
  raise_internal(fmt::format("rule {}: {} in `{}`", rule, found, line), current_->where);
}

template <typename Node>
void Verifier::apply(std::span<const VerifyRule<Node>> rules, const Node& node) {
  for (const VerifyRule<Node>& rule : rules) {
    if (rule.level && *rule.level != site_.kernel.level) continue;
    if (const Found found = rule.check(node, site_)) fail(rule.id, *found);
  }
}

void Verifier::declare(const void* node) {
  if (visible_.insert(node).second) declared_.push_back(node);
}

void Verifier::expr(const Expr& e) {
  if (!seen_.insert(e.node()).second) return;
  apply(expr_rules(), *e.node());
  for (const Expr& child : children_of(*e.node())) expr(child);
}

void Verifier::leave(std::size_t outside) {
  for (std::size_t i = outside; i < declared_.size(); ++i) visible_.erase(declared_[i]);
  declared_.resize(outside);
}

// A body ends the scope of what it declares even where it is no Block.
void Verifier::body(const Stmt& s) {
  const std::size_t outside = declared_.size();
  stmt(s);
  leave(outside);
}

void Verifier::loop(const Parts& parts) {
  const std::size_t outside = declared_.size();
  for (const Var& var : parts.vars) declare(var.node());
  for (const Stmt& s : parts.bodies) body(s);
  leave(outside);
}

void Verifier::stmt(const Stmt& s) {
  current_ = s;
  apply(stmt_rules(), *s);
  const Parts parts = parts_of(*s);
  seen_.clear();
  for (const Expr& e : parts.exprs) expr(e);
  switch (s->kind) {
    case StmtKind::Block: {
      const std::size_t outside = declared_.size();
      for (const Stmt& part : parts.bodies) stmt(part);
      leave(outside);
      break;
    }
    case StmtKind::Alloc: declare(get<Alloc>(s).buffer.node()); break;
    case StmtKind::Let: declare(get<Let>(s).var.node()); break;
    case StmtKind::TensorMap: declare(get<TensorMap>(s).var.node()); break;
    case StmtKind::Parallel:
      site_.in_parallel = true;
      loop(parts);
      site_.in_parallel = false;
      break;
    case StmtKind::For:
    case StmtKind::If: loop(parts); break;
    case StmtKind::Store:
    case StmtKind::Copy:
    case StmtKind::Im2col:
    case StmtKind::Transpose:
    case StmtKind::Fill:
    case StmtKind::Instr: break;
  }
}

void Verifier::kernel() {
  const Kernel& k = site_.kernel;
  apply(kernel_rules(), k);
  for (const Var& symbol : k.symbols) declare(symbol.node());
  for (const Param& param : k.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    declare(tensor ? static_cast<const void*>(tensor->node()) : std::get<Var>(param).node());
  }
  for (const Param& param : k.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) continue;
    for (const Expr& e : tensor->shape()) expr(e);
    for (const Expr& e : tensor->node()->strides) expr(e);
  }
  for (const Expr& e : k.grid) expr(e);
  for (const Var& index : k.block) declare(index.node());
  if (k.thread.defined()) declare(k.thread.node());
  body(k.body);
}

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).kernel(); }

}  // namespace tilecopy::ir
