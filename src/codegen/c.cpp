#include "codegen/c.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/c_like.h"
#include "codegen/code_writer.h"
#include "ir/make.h"

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

class CKernelWriter final : CLikeWriter {
 public:
  CKernelWriter(const CKernel& input, CodeWriter& out)
      : CLikeWriter(*input.kernel, out, IndexWidth::wide),
        memory_(*input.memory),
        launch_(*input.launch) {
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

  void alloc(const ir::Alloc& a) override {
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

  std::string unroll(const ir::For& loop) const override {
    if (loop.loop != ir::LoopKind::unrolled) return {};
    std::int64_t count = *ir::const_int(loop.end) - *ir::const_int(loop.begin);
    return fmt::format("#pragma GCC unroll {}", std::clamp<std::int64_t>(count, 1, 64));
  }

  const lower::TileMemory& memory_;
  const run::LaunchPlan& launch_;
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
