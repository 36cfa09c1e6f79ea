#include "ir/parts.h"

namespace tilecopy::ir {
namespace {

void add(Parts& parts, const Region& region) {
  parts.regions.push_back(region);
  parts.buffers.push_back(region.buffer);
  parts.exprs.insert(parts.exprs.end(), region.origin.begin(), region.origin.end());
  parts.exprs.insert(parts.exprs.end(), region.extent.begin(), region.extent.end());
}

Parts transfer(const Region& src, const Region& dst, const Expr& safe) {
  Parts parts;
  if (safe.defined()) parts.exprs.push_back(safe);
  add(parts, src);
  add(parts, dst);
  return parts;
}

Parts parts_of_instr(const Instr& s) {
  Parts parts;
  for (const InstrOperand& operand : s.operands) {
    if (const auto* address = std::get_if<Address>(&operand)) {
      parts.buffers.push_back(address->buffer);
      parts.exprs.push_back(address->offset);
    } else {
      parts.exprs.push_back(std::get<Expr>(operand));
    }
  }
  return parts;
}

Parts parts_of_im2col(const Im2col& s) {
  Parts parts{.exprs = {s.nhw_step, s.c_step}, .buffers = {s.img}};
  add(parts, s.col);
  return parts;
}

}  // namespace

Parts parts_of(const StmtNode& node) {
  switch (node.kind) {
    case StmtKind::Block: return {.bodies = static_cast<const Block&>(node).body};
    case StmtKind::Alloc: return {.buffers = {static_cast<const Alloc&>(node).buffer}};
    case StmtKind::For: {
      const auto& s = static_cast<const For&>(node);
      return {.exprs = {s.begin, s.end}, .bodies = {s.body}, .vars = {s.var}};
    }
    case StmtKind::If: {
      const auto& s = static_cast<const If&>(node);
      Parts parts{.exprs = {s.condition}, .bodies = {s.then_body}};
      if (s.else_body) parts.bodies.push_back(s.else_body);
      return parts;
    }
    case StmtKind::Store: {
      const auto& s = static_cast<const Store&>(node);
      Parts parts{.exprs = s.indices, .buffers = {s.buffer}};
      parts.exprs.push_back(s.value);
      return parts;
    }
    case StmtKind::Parallel: {
      const auto& s = static_cast<const Parallel&>(node);
      return {.exprs = s.extents, .bodies = {s.body}, .vars = s.vars};
    }
    case StmtKind::Copy: {
      const auto& s = static_cast<const Copy&>(node);
      return transfer(s.src, s.dst, s.safe);
    }
    case StmtKind::Im2col: return parts_of_im2col(static_cast<const Im2col&>(node));
    case StmtKind::Transpose: {
      const auto& s = static_cast<const Transpose&>(node);
      return transfer(s.src, s.dst, s.safe);
    }
    case StmtKind::Fill: {
      const auto& s = static_cast<const Fill&>(node);
      Parts parts{.exprs = {s.value}};
      add(parts, s.dst);
      return parts;
    }
    case StmtKind::Let: {
      const auto& s = static_cast<const Let&>(node);
      return {.exprs = {s.value}, .vars = {s.var}};
    }
    case StmtKind::TensorMap: {
      const auto& s = static_cast<const TensorMap&>(node);
      Parts parts{.exprs = s.dims, .buffers = {s.tensor}, .vars = {s.var}};
      parts.exprs.insert(parts.exprs.end(), s.strides.begin(), s.strides.end());
      return parts;
    }
    case StmtKind::Instr: return parts_of_instr(static_cast<const Instr&>(node));
  }
  return {};
}

std::vector<Expr> children_of(const ExprNode& node) {
  switch (node.kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::VarNode: return {};
    case ExprKind::Unary: return {static_cast<const Unary&>(node).a};
    case ExprKind::Binary: {
      const auto& e = static_cast<const Binary&>(node);
      return {e.a, e.b};
    }
    case ExprKind::Select: {
      const auto& e = static_cast<const Select&>(node);
      return {e.condition, e.a, e.b};
    }
    case ExprKind::Cast: return {static_cast<const Cast&>(node).a};
    case ExprKind::Load: {
      const auto& e = static_cast<const Load&>(node);
      std::vector<Expr> operands = e.indices;
      if (e.safe.defined()) operands.push_back(e.safe);
      return operands;
    }
  }
  return {};
}

}  // namespace tilecopy::ir
