// The rules of kernels and statements.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/make.h"
#include "ir/parts.h"
#include "ir/verify_rules.h"

namespace tilecopy::ir {
namespace {

template <typename T>
const T* as(const StmtNode& s) {
  return s.kind == T::tag ? static_cast<const T*>(&s) : nullptr;
}

std::string text(DType dtype) { return std::string(to_string(dtype)); }

bool all_defined(const auto& list) {
  return std::all_of(list.begin(), list.end(), [](const auto& item) { return item.defined(); });
}

bool all_integers(const std::vector<Expr>& list) {
  return std::all_of(list.begin(), list.end(), [](const Expr& e) { return is_int(e.dtype()); });
}

// ---- Kernels ----

Found kernel_body(const Kernel& k, const Site&) { return k.body ? Found() : "no body"; }

Found kernel_threads(const Kernel& k, const Site&) {
  if (k.threads >= 1 && k.threads <= 1024) return {};
  return fmt::format("{} threads", k.threads);
}

Found kernel_params(const Kernel& k, const Site&) {
  for (const Param& param : k.params) {
    const auto* tensor = std::get_if<Buffer>(&param);
    if (!tensor) {
      if (!std::get<Var>(param).defined()) return "a missing scalar";
      continue;
    }
    if (!tensor->defined()) return "a missing tensor";
    const BufferNode& node = *tensor->node();
    if (node.scope != Scope::global) return node.name + ", which is not global";
    if (!all_defined(node.shape) || !all_defined(node.strides)) return node.name + " lacks a size";
    if (!node.strides.empty() && node.strides.size() != node.shape.size()) {
      return fmt::format("{} strides for rank {}", node.strides.size(), node.shape.size());
    }
    if (!all_integers(node.shape) || !all_integers(node.strides)) {
      return node.name + ", whose sizes are not integers";
    }
  }
  return {};
}

Found kernel_symbols(const Kernel& k, const Site&) {
  for (const Var& symbol : k.symbols) {
    if (!symbol.defined()) return "a missing symbol";
    if (symbol.dtype() != int64) return symbol.name() + " of dtype " + text(symbol.dtype());
  }
  return {};
}

Found kernel_grid(const Kernel& k, const Site&) {
  if (k.block.size() != k.grid.size()) {
    return fmt::format("{} block indices for {} extents", k.block.size(), k.grid.size());
  }
  if (!all_defined(k.block) || !all_defined(k.grid)) return "a missing block index or extent";
  return all_integers(k.grid) ? Found() : "an extent that is no integer";
}

// ---- Statements in general ----

Found complete(const StmtNode& s, const Site&) {
  const Parts parts = parts_of(s);
  if (!all_defined(parts.exprs)) return "an expression is missing";
  if (!all_defined(parts.buffers)) return "a buffer is missing";
  if (!all_defined(parts.vars)) return "a variable is missing";
  for (const Stmt& body : parts.bodies) {
    if (!body) return "a statement is missing";
  }
  return {};
}

std::optional<Level> level_of(StmtKind kind) {
  constexpr std::optional<Level> both = std::nullopt;
  constexpr std::optional<Level> tile = Level::tile;
  constexpr std::optional<Level> device = Level::device;
  constexpr std::array levels = {
#define TILECOPY_STMT(Struct, level) level,
#include "ir/nodes.def"
  };
  return levels[static_cast<std::size_t>(kind)];
}

Found level(const StmtNode& s, const Site& site) {
  const auto own = level_of(s.kind);
  if (!own || *own == site.kernel.level) return {};
  return *own == Level::tile ? "a statement of the tile level" : "a statement of the device level";
}

Found nesting(const StmtNode& s, const Site& site) {
  if (!site.in_parallel || level_of(s.kind) != Level::tile) return {};
  return "a tile operation inside a parallel loop";
}

Found buffers_visible(const StmtNode& s, const Site& site) {
  if (s.kind == StmtKind::Alloc) return {};
  for (const Buffer& buffer : parts_of(s).buffers) {
    if (!site.visible.contains(buffer.node())) return buffer.name() + ", which is not in scope";
  }
  return {};
}

Found declared_once(const StmtNode& s, const Site& site) {
  const Parts parts = parts_of(s);
  for (const Var& var : parts.vars) {
    if (site.visible.contains(var.node())) return var.name() + ", which is in scope already";
  }
  const auto* alloc = as<Alloc>(s);
  if (!alloc || !site.visible.contains(alloc->buffer.node())) return {};
  return alloc->buffer.name() + ", which is in scope already";
}

Found regions(const StmtNode& s, const Site&) {
  for (const Region& region : parts_of(s).regions) {
    const std::size_t rank = region.buffer.shape().size();
    if (region.origin.size() != rank || region.extent.size() != rank) {
      return fmt::format("{} origins and {} extents for {} of rank {}", region.origin.size(),
                         region.extent.size(), region.buffer.name(), rank);
    }
    if (!all_integers(region.origin) || !all_integers(region.extent)) {
      return "a region that is not of integers";
    }
  }
  return {};
}

// ---- One kind each ----

Found alloc_tile(const StmtNode& s, const Site&) {
  const auto* alloc = as<Alloc>(s);
  if (!alloc) return {};
  if (alloc->buffer.scope() == Scope::global) return "a tile in global memory";
  for (const Expr& extent : alloc->buffer.shape()) {
    const auto value = const_int(extent);
    if (!value || *value < 1) return "an extent that is not a positive constant";
  }
  return {};
}

Found alloc_layout(const StmtNode& s, const Site&) {
  const auto* alloc = as<Alloc>(s);
  if (!alloc) return {};
  std::vector<std::int64_t> shape;
  for (const Expr& extent : alloc->buffer.shape()) shape.push_back(*const_int(extent));
  if (alloc->layout && alloc->layout->shape() != shape) return to_string(*alloc->layout);
  if (!alloc->fragment) return {};
  if (alloc->buffer.scope() != Scope::fragment) return "a fragment layout of another tile";
  return alloc->fragment->shape() == shape ? Found() : to_string(*alloc->fragment);
}

Found for_dtype(const StmtNode& s, const Site&) {
  const auto* loop = as<For>(s);
  if (!loop) return {};
  const DType dtype = loop->var.dtype();
  if (is_int(dtype) && loop->begin.dtype() == dtype && loop->end.dtype() == dtype) return {};
  return fmt::format("{} in {} .. {}", text(dtype), text(loop->begin.dtype()),
                     text(loop->end.dtype()));
}

Found if_condition(const StmtNode& s, const Site&) {
  const auto* branch = as<If>(s);
  if (!branch || branch->condition.dtype() == bool_) return {};
  return "a condition of dtype " + text(branch->condition.dtype());
}

Found store_dtype(const StmtNode& s, const Site&) {
  const auto* store = as<Store>(s);
  if (!store) return {};
  if (!all_integers(store->indices)) return "an index that is no integer";
  if (store->value.dtype() == store->buffer.dtype()) return {};
  return fmt::format("{} stored to {}", text(store->value.dtype()), text(store->buffer.dtype()));
}

Found store_rank(const StmtNode& s, const Site&) {
  const auto* store = as<Store>(s);
  if (!store || store->indices.size() == store->buffer.shape().size()) return {};
  return fmt::format("{} indices for rank {}", store->indices.size(), store->buffer.rank());
}

Found store_offset(const StmtNode& s, const Site&) {
  const auto* store = as<Store>(s);
  if (!store || store->indices.size() == 1) return {};
  return fmt::format("{} indices", store->indices.size());
}

Found parallel_extents(const StmtNode& s, const Site&) {
  const auto* loop = as<Parallel>(s);
  if (!loop) return {};
  if (loop->vars.empty() || loop->vars.size() != loop->extents.size()) {
    return fmt::format("{} variables and {} extents", loop->vars.size(), loop->extents.size());
  }
  return all_integers(loop->extents) ? Found() : "an extent that is no integer";
}

Found parallel_hints(const StmtNode& s, const Site&) {
  const auto* loop = as<Parallel>(s);
  if (!loop) return {};
  const Hints& hints = loop->hints;
  if (!hints.disable_tma && !hints.eviction_policy && !hints.prefer_instruction) return {};
  return "a hint on how a copy moves";
}

Found safe_dtype(const StmtNode& s, const Site&) {
  auto check = [](const Region& src, const Expr& safe) -> Found {
    if (!safe.defined() || safe.dtype() == src.buffer.dtype()) return {};
    return fmt::format("a safe value of {} for {}", text(safe.dtype()), text(src.buffer.dtype()));
  };
  if (const auto* copy = as<Copy>(s)) return check(copy->src, copy->safe);
  if (const auto* transpose = as<Transpose>(s)) return check(transpose->src, transpose->safe);
  return {};
}

Found transpose_rank(const StmtNode& s, const Site&) {
  const auto* op = as<Transpose>(s);
  if (!op) return {};
  const int from = op->src.buffer.rank();
  const int to = op->dst.buffer.rank();
  if (from == to && from >= 2) return {};
  return fmt::format("ranks {} and {}", from, to);
}

Found im2col_operands(const StmtNode& s, const Site&) {
  const auto* op = as<Im2col>(s);
  if (!op) return {};
  const Buffer& col = op->col.buffer;
  if (op->img.rank() != 4 || col.rank() < 2) {
    return fmt::format("ranks {} and {}", op->img.rank(), col.rank());
  }
  if (op->img.dtype() != col.dtype()) {
    return fmt::format("{} into {}", text(op->img.dtype()), text(col.dtype()));
  }
  return is_int(op->nhw_step.dtype()) && is_int(op->c_step.dtype()) ? Found()
                                                                    : "a step that is no integer";
}

Found im2col_window(const StmtNode& s, const Site&) {
  const auto* op = as<Im2col>(s);
  if (!op) return {};
  const Im2colWindow& w = op->window;
  const std::int64_t least = std::min({w.kernel.h, w.kernel.w, w.stride.h, w.stride.w, w.dilation.h,
                                       w.dilation.w, w.pad.h + 1, w.pad.w + 1});
  return least >= 1 ? Found() : "a window that is not positive";
}

Found fill_dtype(const StmtNode& s, const Site&) {
  const auto* fill = as<Fill>(s);
  if (!fill || fill->value.dtype() == fill->dst.buffer.dtype()) return {};
  return fmt::format("{} into {}", text(fill->value.dtype()), text(fill->dst.buffer.dtype()));
}

Found let_dtype(const StmtNode& s, const Site&) {
  const auto* let = as<Let>(s);
  if (!let || let->value.dtype() == let->var.dtype()) return {};
  return fmt::format("{} named as {}", text(let->value.dtype()), text(let->var.dtype()));
}

Found tensor_map_rank(const StmtNode& s, const Site&) {
  const auto* map = as<TensorMap>(s);
  if (!map) return {};
  const std::size_t rank = map->dims.size();
  const std::size_t least = map->im2col() ? 3 : 1;
  if (rank < least || rank > 5) return fmt::format("rank {}", rank);
  if (map->strides.size() + 1 != rank) return fmt::format("{} strides", map->strides.size());
  if (map->box.size() != (map->im2col() ? 2 : rank)) {
    return fmt::format("a box of rank {}", map->box.size());
  }
  if (map->element_strides.size() != rank) {
    return fmt::format("{} element strides", map->element_strides.size());
  }
  const std::size_t corners = map->im2col() ? rank - 2 : 0;
  if (map->lower.size() == corners && map->upper.size() == corners) return {};
  return fmt::format("corners of rank {} and {}", map->lower.size(), map->upper.size());
}

Found tensor_map_operands(const StmtNode& s, const Site&) {
  const auto* map = as<TensorMap>(s);
  if (!map) return {};
  if (map->tensor.scope() != Scope::global) return map->tensor.name() + ", which is no tensor";
  if (map->var.dtype() != uint64) return fmt::format("named as {}", text(map->var.dtype()));
  return all_integers(map->dims) && all_integers(map->strides) ? Found()
                                                               : "a size that is no integer";
}

// CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
Found tensor_map_numbers(const StmtNode& s, const Site&) {
  const auto* map = as<TensorMap>(s);
  if (!map) return {};
  for (std::size_t d = 0; d < map->box.size(); ++d) {
    const std::int64_t most = map->im2col() && d == 1 ? 1024 : 256;
    if (map->box[d] < 1 || map->box[d] > most) return fmt::format("a box of {}", map->box[d]);
  }
  for (std::int64_t stride : map->element_strides) {
    if (stride < 1 || stride > 8) return fmt::format("an element stride of {}", stride);
  }
  const int swizzle = map->swizzle_bytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    return fmt::format("a swizzle of {} bytes", swizzle);
  }
  const int promotion = map->l2_promotion_bytes;
  if (promotion == 0 || promotion == 64 || promotion == 128 || promotion == 256) return {};
  return fmt::format("a promotion of {} bytes", promotion);
}

Found instr_operands(const StmtNode& s, const Site&) {
  const auto* instr = as<Instr>(s);
  if (!instr) return {};
  if (instr->name.empty()) return "no name";
  for (const InstrOperand& operand : instr->operands) {
    const auto* address = std::get_if<Address>(&operand);
    if (address && !is_int(address->offset.dtype())) return "an offset that is no integer";
  }
  return {};
}

constexpr std::array<VerifyRule<Kernel>, 5> of_kernels = {{
    {"kernel.body", {}, kernel_body},
    {"kernel.threads", {}, kernel_threads},
    {"kernel.params", {}, kernel_params},
    {"kernel.symbols", {}, kernel_symbols},
    {"kernel.grid", {}, kernel_grid},
}};

constexpr std::array<VerifyRule<StmtNode>, 25> of_stmts = {{
    {"stmt.complete", {}, complete},
    {"stmt.level", {}, level},
    {"parallel.nesting", {}, nesting},
    {"scope.buffer", {}, buffers_visible},
    {"scope.once", {}, declared_once},
    {"region.rank", {}, regions},
    {"alloc.tile", {}, alloc_tile},
    {"alloc.layout", {}, alloc_layout},
    {"for.dtype", {}, for_dtype},
    {"if.condition", {}, if_condition},
    {"store.dtype", {}, store_dtype},
    {"store.rank", Level::tile, store_rank},
    {"store.offset", Level::device, store_offset},
    {"parallel.extents", {}, parallel_extents},
    {"parallel.hints", {}, parallel_hints},
    {"safe.dtype", {}, safe_dtype},
    {"transpose.rank", {}, transpose_rank},
    {"im2col.operands", {}, im2col_operands},
    {"im2col.window", {}, im2col_window},
    {"fill.dtype", {}, fill_dtype},
    {"let.dtype", {}, let_dtype},
    {"tensor_map.rank", Level::device, tensor_map_rank},
    {"tensor_map.operands", Level::device, tensor_map_operands},
    {"tensor_map.numbers", Level::device, tensor_map_numbers},
    {"instr.operands", {}, instr_operands},
}};

}  // namespace

std::span<const VerifyRule<Kernel>> kernel_rules() { return of_kernels; }
std::span<const VerifyRule<StmtNode>> stmt_rules() { return of_stmts; }

}  // namespace tilecopy::ir
