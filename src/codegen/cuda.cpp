#include "codegen/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/diagnostic.h"
#include "codegen/c_like.h"
#include "codegen/cuda_text.h"
#include "ir/make.h"
#include "ir/walk.h"

namespace tilecopy::codegen {
namespace {

// Words that a kernel's names must not have in CUDA C++.
constexpr std::string_view reserved =
    "abs alignas alignof and and_eq asm assert auto bitand bitor blockDim blockIdx bool break "
    "case catch ceil ceilf char class clock co_await co_return co_yield compl concept const "
    "const_cast consteval constexpr constinit continue cos cosf decltype default delete dim3 "
    "do double dynamic_cast else enum exp exp2 exp2f expf explicit export extern false float "
    "floor floorf for friend goto gridDim half i386 if inline int linux log log2 log2f logf "
    "long main max memcpy min mutable namespace new noexcept not not_eq nullptr operator or "
    "or_eq printf private protected public register reinterpret_cast requires restrict return "
    "round short signbit signed sin sinf sizeof sqrt sqrtf static static_assert static_cast "
    "struct switch tanh tanhf template this threadIdx thread_local throw true try typedef "
    "typeid typename uint2 uint4 union unix unsigned using virtual void volatile warpSize "
    "while xor xor_eq";

// Serial loops up to here are left to the compiler.
constexpr std::int64_t most_unrolled = 16;

class CudaKernelWriter final : CLikeWriter {
 public:
  CudaKernelWriter(const CudaKernel& input, CodeWriter& out)
      : CLikeWriter(*input.kernel, out, IndexWidth::proved), input_(input) {
    reserve_names();
    if (!kernel_.thread.defined()) raise_internal(kernel_.name + " names no thread index");
    facts_.bind_loop(kernel_.thread, ir::make_int(0), ir::make_int(kernel_.threads));
    // A launch has fewer than 2^31 blocks.
    for (const Var& index : kernel_.block) facts_.assume(index < Expr(INT32_MAX));
  }

  void write() {
    out_.blank();
    if (kernel_.where.known()) {
      out_.line(fmt::format("// {}, {}:{}", kernel_.name, comment_text(kernel_.where.file),
                            kernel_.where.line));
    }
    out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__({})", kernel_.threads));
    out_.open(fmt::format("{}({}) {{", input_.entry, parameters()));
    out_.line(fmt::format("{} = threadIdx.x;", declaration(kernel_.thread)));
    block_indices();
    braced(kernel_.body);
    out_.close();
  }

 private:
  void reserve_names() {
    for (std::size_t at = 0; at < reserved.size();) {
      std::size_t end = std::min(reserved.find(' ', at), reserved.size());
      // Each word is an object of its own: its place in the list.
      names_.declare(reserved.data() + at, reserved.substr(at, end - at));
      at = end + 1;
    }
  }

  std::string parameters() {
    std::string result;
    auto add = [&](const std::string& text) { result += (result.empty() ? "" : ", ") + text; };
    std::size_t tensor = 0;
    for (const ir::Param& param : kernel_.params) {
      const auto* buffer = std::get_if<Buffer>(&param);
      if (!buffer) continue;
      add(fmt::format("{}{}* __restrict__ {}", input_.written[tensor++] ? "" : "const ",
                      c_type(buffer->dtype()), declare(*buffer)));
    }
    for (const Var& symbol : kernel_.symbols) add("int64_t " + declare(symbol));
    for (const ir::Param& param : kernel_.params) {
      const auto* var = std::get_if<Var>(&param);
      if (var) add(fmt::format("{} {}", c_type(var->dtype()), declare(*var)));
    }
    ir::for_each_stmt(kernel_.body, [&](const ir::Stmt& s) {
      const auto* map = ir::as<ir::TensorMap>(s);
      if (map) add("const __grid_constant__ tc_tensor_map " + declare(map->var));
    });
    return result;
  }

  // The block indices out of the flat one: digits by the extents of the grid. These are at least 1
  // and fit 32 bits: else there is no launch.
  void block_indices() {
    std::string rest = "blockIdx.x";
    for (std::size_t d = 0; d < kernel_.grid.size(); ++d) {
      const Expr& extent = kernel_.grid[d];
      if (facts_.bounds(extent).hi <= 1) {
        out_.line(fmt::format("{} = 0;", declaration(kernel_.block[d])));
        continue;
      }
      if (d + 1 == kernel_.grid.size()) {
        out_.line(fmt::format("{} = {};", declaration(kernel_.block[d]), rest));
        continue;
      }
      std::string limit = names_.declare(&extent, fmt::format("grid{}", d));
      out_.line(fmt::format("const unsigned {} = {};", limit, exprs_.expr(extent)));
      out_.line(fmt::format("{} = {} % {};", declaration(kernel_.block[d]), rest, limit));
      rest = fmt::format("{} / {}", rest, limit);
      if (d + 2 < kernel_.grid.size()) {
        std::string name = names_.declare(&kernel_.block[d], fmt::format("rest{}", d));
        out_.line(fmt::format("const unsigned {} = {};", name, rest));
        rest = name;
      }
    }
  }

  void alloc(const ir::Alloc& a) override {
    const Buffer& tile = a.buffer;
    std::string name = declare(tile);
    if (tile.scope() == Scope::shared) {
      return out_.line(fmt::format("{0}* const {1} = ({0}*)(tc_shared + {2});",
                                   c_type(tile.dtype()), name,
                                   input_.shared_offsets->at(tile.node())));
    }
    std::int64_t elements = 1;
    for (const Expr& extent : tile.shape()) elements *= *ir::const_int(extent);
    if (a.layout) elements = a.layout->cosize();
    out_.line(fmt::format("alignas(16) {} {}[{}];", c_type(tile.dtype()), name, elements));
  }

  // Staging registers of operations side by side have the same names.
  bool needs_scope(const ir::StmtNode& s) const override {
    return s.kind == ir::StmtKind::Let || s.kind == ir::StmtKind::Alloc;
  }

  // NOTE: left alone, the compiler unrolls serial loops of hundreds of iterations in full, which
  // takes it long.
  std::string unroll(const ir::For& loop) const override {
    if (loop.loop == ir::LoopKind::unrolled) return "#pragma unroll";
    auto begin = ir::const_int(loop.begin);
    auto end = ir::const_int(loop.end);
    return begin && end && *end - *begin > most_unrolled ? "#pragma unroll 4" : "";
  }

  const CudaKernel& input_;
};

}  // namespace

std::string cuda_entry(const CudaKernel& kernel) {
  CodeWriter writer;
  CudaKernelWriter(kernel, writer).write();
  return writer.take();
}

std::string cuda_source(std::string_view entries) {
  return "// Generated by tilecopy " TILECOPY_VERSION
         ". Compile with -fmad=false: a product and a sum round one by one.\n" +
         cuda_prelude(entries) + std::string(entries);
}

}  // namespace tilecopy::codegen
