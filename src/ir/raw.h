// Nodes as they stand: what makers and rewriters build with once they know that the operands fit.
// Nothing is checked, folded or converted here, and the depth of the tree is not limited.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir::raw {

/// The value is in range for the dtype.
Expr int_const(std::int64_t value, DType dtype, bool literal = false);
Expr float_const(double value, DType dtype, bool literal = false);
Expr unary(UnaryOp op, const Expr& a);
/// Operands of one dtype.
Expr binary(BinaryOp op, const Expr& a, const Expr& b);
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr cast(const Expr& a, DType dtype);
Expr load(const Buffer& buffer, std::vector<Expr> indices, const Expr& safe);

}  // namespace tilecopy::ir::raw

namespace tilecopy::ir {

/// The operands that an operation takes, as ops.def has them.
enum class Operands : std::uint8_t { number, integer, floating, boolean, any };

Operands operands_of(UnaryOp op);
Operands operands_of(BinaryOp op);
bool gives_bool(BinaryOp op);

}  // namespace tilecopy::ir
