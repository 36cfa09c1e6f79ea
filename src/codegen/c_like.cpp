#include "codegen/c_like.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "isa/isa.h"

namespace tilecopy::codegen {

std::string c_name(const std::string& name) {
  bool small =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
  bool owned = (!small && name.size() > 1) || name.starts_with("_") || name.starts_with("tc_") ||
               name.starts_with("omp_") || name.ends_with("_t");
  return owned ? "user_" + name : name;
}

std::string comment_text(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return std::iscntrl(c) || c == '\\'; },
      '?');
  return result;
}

std::string CLikeWriter::declaration(const Var& var) {
  std::string_view type = var.dtype() == int64 ? exprs_.declare_int(var) : c_type(var.dtype());
  return fmt::format("const {} {}", type, declare(var));
}

void CLikeWriter::let(const ir::Let& let) {
  std::string value = exprs_.expr(let.value);
  if (is_int(let.var.dtype())) facts_.bind(let.var, facts_.bounds(let.value));
  out_.line(fmt::format("{} = {};", declaration(let.var), value));
}

void CLikeWriter::stmt(const ir::Stmt& s) {
  switch (s->kind) {
    case ir::StmtKind::Block: return block(ir::get<ir::Block>(s));
    case ir::StmtKind::Alloc: return alloc(ir::get<ir::Alloc>(s));
    case ir::StmtKind::For: return loop(ir::get<ir::For>(s));
    case ir::StmtKind::If: return branch(ir::get<ir::If>(s));
    case ir::StmtKind::Store: {
      const auto& store = ir::get<ir::Store>(s);
      return out_.line(fmt::format("{}[{}] = {};", exprs_.name(store.buffer),
                                   exprs_.expr(store.indices[0]), exprs_.expr(store.value)));
    }
    case ir::StmtKind::Let: return let(ir::get<ir::Let>(s));
    case ir::StmtKind::TensorMap: return;  // a parameter
    case ir::StmtKind::Instr: return instr(ir::get<ir::Instr>(s));
    case ir::StmtKind::Parallel:
    case ir::StmtKind::Copy:
    case ir::StmtKind::Im2col:
    case ir::StmtKind::Transpose:
    case ir::StmtKind::Fill:
      raise_internal("a tile-level statement reached the C writer", s->where);
  }
}

void CLikeWriter::mark_line(Location where) {
  if (!where.known() || (where.line == marked_.line && where.file == marked_.file)) return;
  marked_ = where;
  out_.line(fmt::format("// {}:{}", comment_text(where.file), where.line));
}

void CLikeWriter::block(const ir::Block& b) {
  mark_line(b.where);
  bool scope =
      std::any_of(b.body.begin(), b.body.end(), [&](const ir::Stmt& s) { return needs_scope(*s); });
  if (scope) out_.open("{");
  body(b);
  if (scope) out_.close();
}

void CLikeWriter::body(const ir::Block& b) {
  names_.open_scope();
  for (const ir::Stmt& s : b.body) stmt(s);
  names_.close_scope();
}

void CLikeWriter::braced(const ir::Stmt& s) {
  const auto* b = ir::as<ir::Block>(s);
  if (!b) return stmt(s);
  mark_line(b->where);
  if (b->body.size() == 1) return braced(b->body[0]);
  body(*b);
}

void CLikeWriter::loop(const ir::For& f) {
  mark_line(f.where);
  std::string begin = exprs_.expr(f.begin);
  std::string end = exprs_.expr(f.end, 8);
  names_.open_scope();
  facts_.bind_loop(f.var, f.begin, f.end);
  std::string_view type = exprs_.declare_int(f.var);
  std::string var = declare(f.var);
  if (std::string directive = unroll(f); !directive.empty()) out_.directive(directive);
  out_.open(fmt::format("for ({3} {0} = {1}; {0} < {2}; ++{0}) {{", var, begin, end, type));
  braced(f.body);
  out_.close();
  names_.close_scope();
}

void CLikeWriter::branch(const ir::If& i) {
  out_.open(fmt::format("if ({}) {{", exprs_.expr(i.condition)));
  braced(i.then_body);
  if (i.else_body) {
    out_.close("} else {");
    out_.indent();
    braced(i.else_body);
  }
  out_.close();
}

void CLikeWriter::instr(const ir::Instr& i) {
  const isa::InstrRow* row = isa::find_instruction(i.name);
  if (!row) raise_internal("unknown instruction " + i.name, i.where);
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const ir::InstrOperand& operand : i.operands) {
    if (const auto* address = std::get_if<ir::Address>(&operand)) {
      arguments.push_back(
          fmt::format("&{}[{}]", exprs_.name(address->buffer), exprs_.expr(address->offset)));
    } else {
      arguments.push_back(exprs_.expr(std::get<Expr>(operand)));
    }
  }
  int element = 0;
  if (const auto* first = i.operands.empty() ? nullptr : std::get_if<ir::Address>(&i.operands[0])) {
    element = bytes(first->buffer.dtype());
  }
  arguments.push_back(fmt::arg("bytes", element));
  out_.line(fmt::vformat(row->text, arguments) + ";");
}

}  // namespace tilecopy::codegen
