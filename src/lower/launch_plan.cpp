#include <fmt/format.h>

#include <functional>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

using run::SizeProgram;

class SizeCompiler {
 public:
  SizeCompiler(const ir::Kernel& kernel, const run::LaunchPlan& plan) {
    for (std::size_t i = 0; i < kernel.symbols.size(); ++i) {
      inputs_[kernel.symbols[i].node()] = {SizeProgram::Op::symbol, static_cast<std::int64_t>(i)};
    }
    for (std::size_t p = 0; p < kernel.params.size(); ++p) {
      const auto* scalar = std::get_if<Var>(&kernel.params[p]);
      if (scalar) inputs_[scalar->node()] = {SizeProgram::Op::scalar, ~plan.order[p]};
    }
  }

  SizeProgram compile(const Expr& e, Location where) const {
    SizeProgram program;
    emit(e, program, where);
    return program;
  }

 private:
  void emit(const Expr& e, SizeProgram& program, Location where) const {
    if (auto value = ir::const_int(e)) {
      program.steps.push_back({SizeProgram::Op::constant, *value});
      return;
    }
    if (auto input = inputs_.find(e.node()); input != inputs_.end()) {
      program.steps.push_back(input->second);
      return;
    }
    if (const auto* cast = ir::as<ir::Cast>(e); cast && is_int(cast->a.dtype())) {
      return emit(cast->a, program, where);
    }
    const auto* binary = ir::as<ir::Binary>(e);
    auto op = binary ? size_op(binary->op) : std::nullopt;
    if (!op) {
      raise(ErrorCode::E0428, where,
            {.needed = "symbols, integers and + - * / % min max", .found = e.to_string()});
    }
    emit(binary->a, program, where);
    emit(binary->b, program, where);
    program.steps.push_back({*op, 0});
  }

  static std::optional<SizeProgram::Op> size_op(ir::BinaryOp op) {
    if (op == ir::BinaryOp::add) return SizeProgram::Op::add;
    if (op == ir::BinaryOp::sub) return SizeProgram::Op::sub;
    if (op == ir::BinaryOp::mul) return SizeProgram::Op::mul;
    if (op == ir::BinaryOp::div) return SizeProgram::Op::div;
    if (op == ir::BinaryOp::mod) return SizeProgram::Op::mod;
    if (op == ir::BinaryOp::min) return SizeProgram::Op::min;
    if (op == ir::BinaryOp::max) return SizeProgram::Op::max;
    return std::nullopt;
  }

  std::map<const ir::ExprNode*, SizeProgram::Step> inputs_;
};

std::string declared_text(const Buffer& tensor) {
  std::string dims;
  for (const Expr& e : tensor.shape()) dims += (dims.empty() ? "" : ", ") + e.to_string();
  return fmt::format("{}[{}]", to_string(tensor.dtype()), dims);
}

// The buffer that a statement writes, or null.
const ir::BufferNode* written_buffer(const ir::Stmt& s) {
  if (const auto* store = ir::as<ir::Store>(s)) return store->buffer.node();
  if (const auto* copy = ir::as<ir::Copy>(s)) return copy->dst.buffer.node();
  if (const auto* transpose = ir::as<ir::Transpose>(s)) return transpose->dst.buffer.node();
  if (const auto* fill = ir::as<ir::Fill>(s)) return fill->dst.buffer.node();
  if (const auto* im2col = ir::as<ir::Im2col>(s)) return im2col->col.buffer.node();
  return nullptr;
}

void add_windows(const ir::Im2col& op, const SizeCompiler& sizes, run::LaunchPlan& plan) {
  auto add = [&](const char* axis, std::size_t dim, std::int64_t kernel, std::int64_t dilation,
                 std::int64_t pad) {
    if (op.img.scope() != Scope::global || ir::const_int(op.img.shape()[dim])) return;
    plan.windows.push_back({op.where, axis, (kernel - 1) * dilation + 1,
                            sizes.compile(op.img.shape()[dim], op.where), pad});
  };
  const ir::Im2colWindow& w = op.window;
  add("H", 1, w.kernel.h, w.dilation.h, w.pad.h);
  add("W", 2, w.kernel.w, w.dilation.w, w.pad.w);
}

}  // namespace

run::LaunchPlan plan_launch(const ir::Kernel& kernel, const TileMemory& memory) {
  run::LaunchPlan plan;
  plan.kernel = kernel.name;
  plan.entry = kernel.name + "_kernel";
  plan.tile_bytes = memory.bytes;
  for (const Var& symbol : kernel.symbols) plan.symbols.push_back(symbol.name());
  int tensors = 0;
  for (const ir::Param& param : kernel.params) {
    if (const auto* scalar = std::get_if<Var>(&param)) {
      plan.order.push_back(~static_cast<int>(plan.scalars.size()));
      plan.scalars.push_back({scalar->name(), scalar->dtype()});
    } else {
      plan.order.push_back(tensors++);
    }
  }
  SizeCompiler sizes(kernel, plan);
  std::map<const ir::BufferNode*, std::size_t> index;
  for (const ir::Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) continue;
    index[tensor->node()] = plan.tensors.size();
    run::TensorParam& row = plan.tensors.emplace_back();
    row.name = tensor->name();
    row.dtype = tensor->dtype();
    row.text = declared_text(*tensor);
    Location where = tensor->node()->where;
    for (const Expr& e : tensor->shape()) row.shape.push_back(sizes.compile(e, where));
    for (const Expr& e : tensor->node()->strides) row.strides.push_back(sizes.compile(e, where));
  }
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    if (auto tensor = index.find(written_buffer(s)); tensor != index.end()) {
      plan.tensors[tensor->second].written = true;
    }
    if (const auto* im2col = ir::as<ir::Im2col>(s)) add_windows(*im2col, sizes, plan);
  });
  return plan;
}

}  // namespace tilecopy::lower
