// The text form of statements and kernels.
#include "ir/print.h"

#include <algorithm>
#include <utility>

#include "ir/make.h"
#include "ir/print_expr.h"
#include "ir/walk.h"

namespace tilecopy::ir {
namespace {

std::string_view alloc_word(Scope scope) {
  switch (scope) {
    case Scope::global: return "alloc_global";  // in broken kernels only
    case Scope::shared: return "alloc_shared";
    case Scope::fragment: return "alloc_fragment";
    case Scope::local: return "alloc_local";
  }
  return missing;
}

// The symbols in the order in which a reader of the parameters meets them.
std::vector<const ExprNode*> implied_symbols(const Kernel& kernel) {
  std::vector<const ExprNode*> met;
  auto visit = [&](const Expr& e) {
    const auto* var = as<VarNode>(e);
    const bool known = std::any_of(kernel.symbols.begin(), kernel.symbols.end(),
                                   [&](const Var& symbol) { return symbol.node() == var; });
    if (var && known && std::find(met.begin(), met.end(), var) == met.end()) met.push_back(var);
  };
  for (const Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor || !tensor->defined()) continue;
    for (const auto* list : {&tensor->node()->shape, &tensor->node()->strides}) {
      for (const Expr& e : *list) {
        if (e.defined()) for_each_expr(e, visit);
      }
    }
  }
  return met;
}

class Printer {
 public:
  std::string take() && { return std::move(out_); }

  void kernel(const Kernel& k);
  void stmt(const Stmt& s);

 private:
  void line_start() { out_.append(static_cast<std::size_t>(2 * depth_), ' '); }
  void line_end() { out_ += '\n'; }
  void open(std::string_view text);
  void close(std::string_view text = "}");
  void body(const Stmt& s);

  void params(const Kernel& k);
  void param(const Param& p);
  void grid(const Kernel& k);
  void alloc(const Alloc& s);
  void loop(const For& s);
  void branch(const If& s);
  void parallel(const Parallel& s);
  void copy(const Copy& s);
  void im2col(const Im2col& s);
  void tensor_map(const TensorMap& s);
  void instr(const Instr& s);
  void direction(const Region& src, const Region& dst, const Expr& safe);
  void pair(std::string_view word, const HeightWidth& value);
  void hints(const Hints& h);
  void type(DType dtype, const std::vector<Expr>& shape);
  void declare(const Var& var);

  std::string out_;
  Names names_;
  ExprPrinter expr_{out_, names_};
  int depth_ = 0;
};

void Printer::declare(const Var& var) {
  out_ += var.defined() ? names_.declare(var.node(), var.name()) : missing;
}

void Printer::open(std::string_view text) {
  out_.append(text).append("{\n");
  names_.open_scope();
  ++depth_;
}

void Printer::close(std::string_view text) {
  --depth_;
  names_.close_scope();
  line_start();
  out_ += text;
}

void Printer::body(const Stmt& s) {
  if (const auto* block = as<Block>(s)) {
    for (const Stmt& nested : block->body) stmt(nested);
  } else if (s) {
    stmt(s);
  }
}

void Printer::type(DType dtype, const std::vector<Expr>& shape) {
  out_.append(to_string(dtype)).append("[");
  expr_.exprs(shape);
  out_ += ']';
}

void Printer::param(const Param& p) {
  if (const auto* var = std::get_if<Var>(&p)) {
    declare(*var);
    out_.append(": ").append(var->defined() ? to_string(var->dtype()) : missing);
    return;
  }
  const Buffer& tensor = std::get<Buffer>(p);
  expr_.name(tensor);
  out_ += ": ";
  if (!tensor.defined()) {
    out_ += missing;
    return;
  }
  type(tensor.dtype(), tensor.shape());
  if (tensor.node()->strides.empty()) return;
  out_ += " strides [";
  expr_.exprs(tensor.node()->strides);
  out_ += ']';
}

void Printer::params(const Kernel& k) {
  const std::vector<const ExprNode*> implied = implied_symbols(k);
  const bool is_implied =
      std::equal(k.symbols.begin(), k.symbols.end(), implied.begin(), implied.end(),
                 [](const Var& symbol, const ExprNode* node) { return symbol.node() == node; });
  std::string_view separator = "";
  if (!is_implied) {
    for (const Var& symbol : k.symbols) {
      out_ += std::exchange(separator, ", ");
      declare(symbol);
      out_ += ": symbol";
    }
  }
  for (const Param& p : k.params) {
    out_ += std::exchange(separator, ", ");
    param(p);
  }
}

void Printer::grid(const Kernel& k) {
  out_ += "kernel (";
  for (std::size_t i = 0; i < k.block.size() || i < k.grid.size(); ++i) {
    if (i > 0) out_ += ", ";
    declare(i < k.block.size() ? k.block[i] : Var());
    out_ += ": ";
    expr_.expr(i < k.grid.size() ? k.grid[i] : Expr());
  }
  out_.append(") threads ").append(std::to_string(k.threads)).append(" ");
  if (!k.thread.defined()) return;
  out_ += "as ";
  declare(k.thread);
  out_ += ' ';
}

void Printer::kernel(const Kernel& k) {
  if (k.level == Level::device) out_ += "device ";
  out_.append("function ").append(identifier(k.name)).append("(");
  // Parameters claim their names before the symbols inside of their shapes do.
  for (const Param& p : k.params) {
    if (const auto* tensor = std::get_if<Buffer>(&p); tensor && tensor->defined()) {
      names_.of(tensor->node(), tensor->name());
    } else if (const auto* var = std::get_if<Var>(&p); var && var->defined()) {
      names_.of(var->node(), var->name());
    }
  }
  params(k);
  open(") ");
  line_start();
  grid(k);
  open("");
  body(k.body);
  close("}\n");
  close("}\n");
}

void Printer::alloc(const Alloc& s) {
  expr_.name(s.buffer);
  out_.append(" = ");
  if (!s.buffer.defined()) {
    out_ += missing;
    return;
  }
  out_.append(alloc_word(s.buffer.scope())).append(" ");
  type(s.buffer.dtype(), s.buffer.shape());
  if (s.layout) out_.append(" layout ").append(to_string(*s.layout));
  if (s.fragment) out_.append(" layout ").append(to_string(*s.fragment));
}

void Printer::loop(const For& s) {
  if (s.loop == LoopKind::unrolled) out_ += "unrolled ";
  out_ += "for ";
  names_.open_scope();
  declare(s.var);
  out_ += " in ";
  expr_.expr(s.begin);
  out_ += " .. ";
  expr_.expr(s.end);
  open(" ");
  body(s.body);
  close();
  names_.close_scope();
}

void Printer::branch(const If& s) {
  out_ += "if ";
  expr_.expr(s.condition);
  open(" ");
  body(s.then_body);
  if (s.else_body) {
    close("} else ");
    open("");
    body(s.else_body);
  }
  close();
}

void Printer::hints(const Hints& h) {
  if (h.empty()) return;
  std::string text;
  auto add = [&](std::string_view key, std::string_view value) {
    text.append(text.empty() ? " {" : ", ").append(key).append(": ").append(value);
  };
  if (h.coalesced_width) add("coalesced_width", std::to_string(*h.coalesced_width));
  if (h.disable_tma) add("disable_tma", *h.disable_tma ? "true" : "false");
  if (h.eviction_policy) add("eviction_policy", to_string(*h.eviction_policy));
  if (h.prefer_instruction) add("prefer_instruction", to_string(*h.prefer_instruction));
  if (h.loop_layout) add("loop_layout", to_string(*h.loop_layout));
  out_ += text + "}";
}

void Printer::parallel(const Parallel& s) {
  out_ += "parallel (";
  names_.open_scope();
  for (std::size_t i = 0; i < s.vars.size() || i < s.extents.size(); ++i) {
    if (i > 0) out_ += ", ";
    declare(i < s.vars.size() ? s.vars[i] : Var());
    out_ += ": ";
    expr_.expr(i < s.extents.size() ? s.extents[i] : Expr());
  }
  out_ += ')';
  hints(s.hints);
  open(" ");
  body(s.body);
  close();
  names_.close_scope();
}

void Printer::direction(const Region& src, const Region& dst, const Expr& safe) {
  expr_.region(src);
  out_ += " -> ";
  expr_.region(dst);
  if (is_zero(safe)) return;
  out_ += " safe ";
  expr_.expr(safe);
}

void Printer::copy(const Copy& s) {
  out_ += "copy ";
  direction(s.src, s.dst, s.safe);
  hints(s.hints);
}

void Printer::pair(std::string_view word, const HeightWidth& value) {
  out_.append(" ").append(word).append(" ");
  if (value.h == value.w) {
    out_ += std::to_string(value.h);
  } else {
    out_.append("(").append(std::to_string(value.h)).append(", ");
    out_.append(std::to_string(value.w)).append(")");
  }
}

void Printer::im2col(const Im2col& s) {
  out_ += "im2col ";
  expr_.name(s.img);
  out_ += " -> ";
  expr_.region(s.col);
  out_ += " step (";
  expr_.expr(s.nhw_step);
  out_ += ", ";
  expr_.expr(s.c_step);
  out_ += ')';
  pair("kernel", s.window.kernel);
  pair("stride", s.window.stride);
  pair("dilation", s.window.dilation);
  pair("pad", s.window.pad);
  hints(s.hints);
}

void Printer::tensor_map(const TensorMap& s) {
  auto exprs = [&](const char* name, const std::vector<Expr>& list) {
    out_.append(name).append(" (");
    std::string_view separator = "";
    for (const Expr& e : list) {
      out_ += std::exchange(separator, ", ");
      expr_.expr(e);
    }
    out_ += ')';
  };
  auto numbers = [&](const char* name, const std::vector<std::int64_t>& list) {
    std::vector<Expr> values;
    for (std::int64_t value : list) values.push_back(make_int(value));
    exprs(name, values);
  };
  out_ += "tensor_map ";
  declare(s.var);
  out_.append(" = ").append(names_.of(s.tensor.node(), s.tensor.name()));
  exprs(" dims", s.dims);
  exprs(" strides", s.strides);
  numbers(" box", s.box);
  numbers(" element_strides", s.element_strides);
  if (s.im2col()) {
    numbers(" lower", s.lower);
    numbers(" upper", s.upper);
  }
  out_ += " swizzle " + std::to_string(s.swizzle_bytes);
  out_ += " promotion " + std::to_string(s.l2_promotion_bytes);
}

void Printer::instr(const Instr& s) {
  out_.append("instr ").append(s.name).append("(");
  std::string_view separator = "";
  for (const InstrOperand& operand : s.operands) {
    out_ += std::exchange(separator, ", ");
    if (const auto* address = std::get_if<Address>(&operand)) {
      out_ += '&';
      expr_.element(address->buffer, {&address->offset, 1});
    } else {
      expr_.expr(std::get<Expr>(operand));
    }
  }
  out_ += ')';
}

void Printer::stmt(const Stmt& s) {
  line_start();
  if (!s) {
    out_.append(missing).append("\n");
    return;
  }
  switch (s->kind) {
    case StmtKind::Block:
      open("block ");
      body(s);
      close();
      break;
    case StmtKind::Alloc: alloc(get<Alloc>(s)); break;
    case StmtKind::For: loop(get<For>(s)); break;
    case StmtKind::If: branch(get<If>(s)); break;
    case StmtKind::Store:
      expr_.element(get<Store>(s).buffer, get<Store>(s).indices);
      out_ += " = ";
      expr_.expr(get<Store>(s).value);
      break;
    case StmtKind::Parallel: parallel(get<Parallel>(s)); break;
    case StmtKind::Copy: copy(get<Copy>(s)); break;
    case StmtKind::Im2col: im2col(get<Im2col>(s)); break;
    case StmtKind::Transpose:
      out_ += "transpose ";
      direction(get<Transpose>(s).src, get<Transpose>(s).dst, get<Transpose>(s).safe);
      break;
    case StmtKind::Fill:
      out_ += "fill ";
      expr_.region(get<Fill>(s).dst);
      out_ += " = ";
      expr_.expr(get<Fill>(s).value);
      break;
    case StmtKind::Let: {
      const auto& let = get<Let>(s);
      out_ += "let ";
      declare(let.var);
      out_.append(": ").append(let.var.defined() ? to_string(let.var.dtype()) : missing);
      out_ += " = ";
      expr_.expr(let.value);
      break;
    }
    case StmtKind::TensorMap: tensor_map(get<TensorMap>(s)); break;
    case StmtKind::Instr: instr(get<Instr>(s)); break;
  }
  line_end();
}

}  // namespace

std::string print(const Kernel& kernel) {
  Printer printer;
  printer.kernel(kernel);
  return std::move(printer).take();
}

std::string print(const Expr& e) {
  std::string text;
  Names names;
  ExprPrinter(text, names).expr(e);
  return text;
}

std::string print(const Stmt& s) {
  Printer printer;
  printer.stmt(s);
  return std::move(printer).take();
}

}  // namespace tilecopy::ir
