// Makers of statements.
#include "base/diagnostic.h"
#include "ir/make.h"

namespace tilecopy::ir {
namespace {

void require_bool(const Expr& condition, Location where) {
  if (!condition.defined())
    raise(ErrorCode::E0411, where, {.needed = "a condition", .found = "an empty expression"});
  if (condition.dtype() == bool_) return;
  raise(
      ErrorCode::E0420, where,
      {.needed = "a condition of dtype bool", .found = std::string(to_string(condition.dtype()))});
}

Expr to_integer(const Expr& e, DType dtype, Location where) {
  if (!e.defined())
    raise(ErrorCode::E0411, where, {.needed = "an index or limit", .found = "an empty expression"});
  if (is_int(e.dtype())) return coerce(e, dtype, where);
  raise(ErrorCode::E0420, where,
        {.needed = "an index or limit of an integer dtype",
         .found = std::string(to_string(e.dtype()))});
}

}  // namespace

Stmt make_block(std::vector<Stmt> body, Location where) {
  auto node = make_stmt<Block>(where);
  node->body = std::move(body);
  return node;
}

Stmt make_for(LoopKind loop, const Var& var, const Expr& begin, const Expr& end, Stmt body,
              Location where) {
  auto node = make_stmt<For>(where);
  node->loop = loop;
  node->var = var;
  node->begin = to_integer(begin, var.dtype(), where);
  node->end = to_integer(end, var.dtype(), where);
  node->body = std::move(body);
  return node;
}

Stmt make_if(const Expr& condition, Stmt then_body, Stmt else_body, Location where) {
  require_bool(condition, where);
  auto node = make_stmt<If>(where);
  node->condition = condition;
  node->then_body = std::move(then_body);
  node->else_body = std::move(else_body);
  return node;
}

Stmt make_store(const Buffer& buffer, std::vector<Expr> indices, const Expr& value,
                Location where) {
  if (!buffer.defined())
    raise(ErrorCode::E0411, where, {.needed = "a buffer to write", .found = "an empty buffer"});
  for (Expr& index : indices) index = to_integer(index, int64, where);
  auto node = make_stmt<Store>(where);
  node->buffer = buffer;
  node->indices = std::move(indices);
  node->value = coerce(value, buffer.dtype(), where);
  return node;
}

Stmt make_let(const Var& var, const Expr& value, Location where) {
  auto node = make_stmt<Let>(where);
  node->var = var;
  node->value = coerce(value, var.dtype(), where);
  return node;
}

Stmt make_instr(std::string_view name, std::vector<InstrOperand> operands, Location where) {
  auto node = make_stmt<Instr>(where);
  node->name = std::string(name);
  node->operands = std::move(operands);
  return node;
}

}  // namespace tilecopy::ir
