#include "codegen/c.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/diagnostic.h"
#include "codegen/c_expr.h"
#include "codegen/code_writer.h"
#include "ir/make.h"
#include "isa/isa.h"

namespace tilecopy::codegen {
namespace {

const char* const prelude =
#include "codegen/prelude_text.inc"
    ;
const char* const numeric_text =
#include "base/numeric_text.inc"
    ;

// Local tiles up to this size are C arrays, which the compiler can keep in registers.
constexpr std::int64_t most_array_bytes = 1024;

// Words that a kernel's names must not have in C; names are made unique against them.
constexpr const char* reserved[] = {"auto",        "break",    "case",     "char",
                                    "const",       "continue", "default",  "do",
                                    "double",      "else",     "enum",     "extern",
                                    "float",       "for",      "goto",     "if",
                                    "inline",      "int",      "long",     "register",
                                    "restrict",    "return",   "short",    "signed",
                                    "sizeof",      "static",   "struct",   "switch",
                                    "typedef",     "union",    "unsigned", "void",
                                    "volatile",    "while",    "tensors",  "symbols",
                                    "scalars",     "tiles",    "threads",  "memcpy",
                                    "block_tiles", "asm",      "main",     "exp",
                                    "exp2",        "log",      "log2",     "sin",
                                    "cos",         "tanh",     "floor",    "ceil",
                                    "sqrt",        "expf",     "exp2f",    "logf",
                                    "log2f",       "sinf",     "cosf",     "tanhf",
                                    "floorf",      "ceilf",    "sqrtf",    "math_errhandling"};

// A user's name for something, as a C name that no header of the C library can own: those are
// macros in capitals, names that begin with an underscore or with a prefix of theirs, and types in
// _t.
std::string c_name(const std::string& name) {
  bool small =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
  bool owned = (!small && name.size() > 1) || name.starts_with("_") || name.starts_with("tc_") ||
               name.starts_with("omp_") || name.ends_with("_t");
  return owned ? "user_" + name : name;
}

// A file name for a comment: neither a line end nor a backslash may carry it on into code.
std::string comment_text(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return std::iscntrl(c) || c == '\\'; },
      '?');
  return result;
}

class CKernelWriter {
 public:
  CKernelWriter(const CKernel& input, CodeWriter& out)
      : kernel_(*input.kernel),
        memory_(*input.memory),
        launch_(*input.launch),
        out_(out),
        facts_(ir::kernel_facts(kernel_)),
        exprs_(names_, facts_) {
    for (const char*& word : reserved_) names_.declare(&word, word);
  }

  bool write() {
    out_.blank();
    if (kernel_.where.known()) {
      out_.line(fmt::format("// {}, {}:{}", kernel_.name, comment_text(kernel_.where.file),
                            kernel_.where.line));
    }
    out_.open(fmt::format(
        "void {}(void *const *tensors, const int64_t *symbols, const uint64_t *scalars, char "
        "*tiles, int threads) {{",
        launch_.entry));
    parameters();
    grid_loops();
    out_.close();
    return exprs_.uses_numeric();
  }

 private:
  /// The C name of a variable or buffer from here on.
  template <typename T>
  const std::string& declare(const T& thing) {
    return names_.declare(thing.node(), c_name(thing.name()));
  }

  void parameters() {
    std::size_t tensor = 0, scalar = 0;
    for (const ir::Param& param : kernel_.params) {
      if (const auto* var = std::get_if<Var>(&param)) {
        std::string name = declare(*var);
        out_.line(fmt::format("{} {};", c_type(var->dtype()), name));
        out_.line(fmt::format("memcpy(&{}, &scalars[{}], sizeof {});", name, scalar++, name));
        continue;
      }
      const auto& buffer = std::get<Buffer>(param);
      std::string_view constant = launch_.tensors[tensor].written ? "" : "const ";
      out_.line(fmt::format("{}{} *restrict const {} = ({}{} *)tensors[{}];", constant,
                            c_type(buffer.dtype()), declare(buffer), constant,
                            c_type(buffer.dtype()), tensor));
      ++tensor;
    }
    for (std::size_t i = 0; i < kernel_.symbols.size(); ++i) {
      const Var& symbol = kernel_.symbols[i];
      out_.line(fmt::format("const int64_t {} = symbols[{}];", declare(symbol), i));
    }
  }

  void grid_loops() {
    std::vector<std::string> limits;
    for (std::size_t d = 0; d < kernel_.grid.size(); ++d) {
      std::string limit = names_.declare(&kernel_.grid[d], fmt::format("grid{}", d));
      limits.push_back(limit);
      out_.line(fmt::format("const int64_t {} = {};", limit, exprs_.expr(kernel_.grid[d])));
    }
    out_.directive("#ifdef _OPENMP");
    out_.directive(
        fmt::format("#pragma omp parallel for collapse({}) num_threads(threads) schedule(static)",
                    limits.size()));
    out_.directive("#endif");
    for (std::size_t d = limits.size(); d-- > 0;) {
      const Var& var = kernel_.block[d];
      std::string name = declare(var);
      out_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", name, limits[d]));
    }
    if (memory_.bytes > 0) {
      out_.line(fmt::format("char *restrict const block_tiles = tiles + TC_THREAD * (int64_t){};",
                            memory_.bytes));
    }
    braced(kernel_.body);
    for (std::size_t d = 0; d < limits.size(); ++d) out_.close();
  }

  void stmt(const ir::Stmt& s) {
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
      case ir::StmtKind::Let: {
        const auto& let = ir::get<ir::Let>(s);
        std::string value = exprs_.expr(let.value);
        if (is_int(let.var.dtype())) facts_.bind(let.var, facts_.bounds(let.value));
        return out_.line(
            fmt::format("const {} {} = {};", c_type(let.var.dtype()), declare(let.var), value));
      }
      case ir::StmtKind::Instr: return instr(ir::get<ir::Instr>(s));
      case ir::StmtKind::Parallel:
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill:
        raise_internal("a tile-level statement reached the C writer", s->where);
    }
  }

  // A comment at the first statement of each of the user's lines.
  void mark_line(Location where) {
    if (!where.known() || (where.line == marked_.line && where.file == marked_.file)) return;
    marked_ = where;
    out_.line(fmt::format("// {}:{}", comment_text(where.file), where.line));
  }

  void block(const ir::Block& b) {
    mark_line(b.where);
    bool scope = std::any_of(b.body.begin(), b.body.end(),
                             [](const ir::Stmt& s) { return s->kind == ir::StmtKind::Let; });
    if (scope) out_.open("{");
    body(b);
    if (scope) out_.close();
  }

  void body(const ir::Block& b) {
    names_.open_scope();
    for (const ir::Stmt& s : b.body) stmt(s);
    names_.close_scope();
  }

  // What stands in the braces of a loop or branch: a block, or blocks of a single block, brings
  // none of its own.
  void braced(const ir::Stmt& s) {
    const auto* b = ir::as<ir::Block>(s);
    if (!b) return stmt(s);
    mark_line(b->where);
    if (b->body.size() == 1) return braced(b->body[0]);
    body(*b);
  }

  void alloc(const ir::Alloc& a) {
    const Buffer& tile = a.buffer;
    std::string name = declare(tile);
    std::int64_t elements = 1;
    for (const Expr& extent : tile.shape()) elements *= *ir::const_int(extent);
    if (a.layout) elements = a.layout->cosize();
    if (tile.scope() == Scope::local && elements * bytes(tile.dtype()) <= most_array_bytes) {
      return out_.line(fmt::format("{} {}[{}];", c_type(tile.dtype()), name, elements));
    }
    out_.line(fmt::format("{0} *restrict const {1} = ({0} *)(block_tiles + {2});",
                          c_type(tile.dtype()), name, memory_.offsets.at(tile.node())));
  }

  void loop(const ir::For& f) {
    mark_line(f.where);
    std::string begin = exprs_.expr(f.begin);
    std::string end = exprs_.expr(f.end, 8);
    names_.open_scope();
    facts_.bind_loop(f.var, f.begin, f.end);
    std::string var = declare(f.var);
    if (f.loop == ir::LoopKind::unrolled) {
      std::int64_t count = *ir::const_int(f.end) - *ir::const_int(f.begin);
      out_.directive(fmt::format("#pragma GCC unroll {}", std::clamp<std::int64_t>(count, 1, 64)));
    }
    out_.open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", var, begin, end));
    braced(f.body);
    out_.close();
    names_.close_scope();
  }

  void branch(const ir::If& i) {
    out_.open(fmt::format("if ({}) {{", exprs_.expr(i.condition)));
    braced(i.then_body);
    if (i.else_body) {
      out_.close("} else {");
      out_.indent();
      braced(i.else_body);
    }
    out_.close();
  }

  void instr(const ir::Instr& i) {
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
    if (!i.operands.empty()) {
      const auto& first = std::get<ir::Address>(i.operands[0]);
      int element = bytes(first.buffer.dtype());
      arguments.push_back(fmt::arg("bytes", element));
    }
    out_.line(fmt::vformat(row->text, arguments) + ";");
  }

  const ir::Kernel& kernel_;
  const lower::TileMemory& memory_;
  const run::LaunchPlan& launch_;
  CodeWriter& out_;
  ir::Names names_;
  ir::Facts facts_;
  CExprWriter exprs_;
  Location marked_;
  std::vector<const char*> reserved_{std::begin(reserved), std::end(reserved)};
};

}  // namespace

std::string generate_c(std::span<const CKernel> kernels) {
  CodeWriter body;
  bool numeric = false;
  for (const CKernel& kernel : kernels) numeric |= CKernelWriter(kernel, body).write();
  std::string source = "// Generated by tilecopy " TILECOPY_VERSION ".\n";
  source += prelude;
  if (numeric) source += numeric_text;
  return source + body.take();
}

}  // namespace tilecopy::codegen
