#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "isa/isa.h"
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

// The tensors that statements write. Stores by the TMA unit name a tensor map.
class WrittenBuffers {
 public:
  explicit WrittenBuffers(const ir::Stmt& body) {
    ir::for_each_stmt(body, [&](const ir::Stmt& s) { visit(s); });
  }

  bool contains(const Buffer& buffer) const { return written_.contains(buffer.node()); }

 private:
  void visit(const ir::Stmt& s) {
    if (const auto* store = ir::as<ir::Store>(s)) add(store->buffer);
    if (const auto* copy = ir::as<ir::Copy>(s)) add(copy->dst.buffer);
    if (const auto* transpose = ir::as<ir::Transpose>(s)) add(transpose->dst.buffer);
    if (const auto* fill = ir::as<ir::Fill>(s)) add(fill->dst.buffer);
    if (const auto* im2col = ir::as<ir::Im2col>(s)) add(im2col->col.buffer);
    if (const auto* map = ir::as<ir::TensorMap>(s)) maps_[map->var.node()] = map->tensor;
    if (const auto* instr = ir::as<ir::Instr>(s)) visit(*instr);
  }

  void visit(const ir::Instr& instr) {
    // Text that breaks a rule of the catalogue is refused later, by place_device_kernel.
    const isa::InstrRow* row = isa::find_instruction(instr.name);
    if (!row || row->operands.size() != instr.operands.size()) return;
    for (std::size_t i = 0; i < instr.operands.size(); ++i) {
      const auto* address = std::get_if<ir::Address>(&instr.operands[i]);
      if (row->operands[i] == 'w' && address) add(address->buffer);
      if (row->operands[i] != 'm' || row->effect != isa::Effect::bulk_store || address) continue;
      auto map = maps_.find(std::get<Expr>(instr.operands[i]).node());
      if (map != maps_.end()) add(map->second);
    }
  }

  void add(const Buffer& buffer) { written_.insert(buffer.node()); }

  std::set<const ir::BufferNode*> written_;
  std::map<const ir::ExprNode*, Buffer> maps_;
};

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

std::size_t tensor_index(const ir::Kernel& kernel, const Buffer& buffer) {
  std::size_t index = 0;
  for (const ir::Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) continue;
    if (tensor->node() == buffer.node()) return index;
    ++index;
  }
  raise_internal(buffer.name() + " is no parameter");
}

run::Guard launch_guard(const planner::Guard& guard, const ir::Kernel& kernel,
                        const SizeCompiler& sizes) {
  run::Guard result;
  result.text = guard.text;
  if (guard.pointer) {
    result.pointer = tensor_index(kernel, *guard.pointer);
  } else {
    result.value = sizes.compile(guard.value, kernel.where);
  }
  result.multiple_of = guard.multiple_of;
  result.least = guard.least;
  result.most = guard.most;
  return result;
}

run::TensorMapRecipe recipe(const ir::TensorMap& map, const ir::Kernel& kernel,
                            const SizeCompiler& sizes) {
  run::TensorMapRecipe result;
  result.name = map.var.name();
  result.tensor = tensor_index(kernel, map.tensor);
  result.where = map.where;
  result.im2col = map.im2col();
  for (const Expr& e : map.dims) result.dims.push_back(sizes.compile(e, map.where));
  for (const Expr& e : map.strides) result.strides.push_back(sizes.compile(e, map.where));
  result.box = map.box;
  result.element_strides = map.element_strides;
  result.lower = map.lower;
  result.upper = map.upper;
  result.swizzle_bytes = map.swizzle_bytes;
  result.l2_promotion_bytes = map.l2_promotion_bytes;
  return result;
}

}  // namespace

void add_variant(run::LaunchPlan& plan, const ir::Kernel& kernel, const SimtKernel& simt,
                 const std::vector<planner::Decision>& decisions) {
  SizeCompiler sizes(kernel, plan);
  if (plan.variants.empty()) {
    plan.threads = kernel.threads;
    for (const Expr& extent : kernel.grid) plan.grid.push_back(sizes.compile(extent, kernel.where));
  }
  run::Variant& variant = plan.variants.emplace_back();
  variant.entry = plan.entry;
  variant.shared_bytes = std::max(simt.shared_bytes, simt.launch_shared_bytes);
  std::set<std::string> known;
  for (const planner::Decision& decision : decisions) {
    for (const planner::Guard& guard : decision.plan->guards) {
      if (!known.insert(guard.text).second) continue;
      variant.guards.push_back(launch_guard(guard, kernel, sizes));
    }
  }
  ir::for_each_stmt(simt.kernel.body, [&](const ir::Stmt& s) {
    const auto* map = ir::as<ir::TensorMap>(s);
    if (map) variant.tensor_maps.push_back(recipe(*map, kernel, sizes));
  });
}

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
  const WrittenBuffers written(kernel.body);
  for (const ir::Param& param : kernel.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) continue;
    run::TensorParam& row = plan.tensors.emplace_back();
    row.name = tensor->name();
    row.dtype = tensor->dtype();
    row.text = declared_text(*tensor);
    row.written = written.contains(*tensor);
    Location where = tensor->node()->where;
    for (const Expr& e : tensor->shape()) row.shape.push_back(sizes.compile(e, where));
    for (const Expr& e : tensor->node()->strides) row.strides.push_back(sizes.compile(e, where));
  }
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    if (const auto* im2col = ir::as<ir::Im2col>(s)) add_windows(*im2col, sizes, plan);
  });
  return plan;
}

}  // namespace tilecopy::lower
