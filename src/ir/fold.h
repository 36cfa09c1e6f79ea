// Constant folding: the value of an operation on constants, bit for bit what generated code gives.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// Undefined when an operand is no constant, or when the result's bits may differ between targets.
/// Integer arithmetic wraps. The result is no literal. Operands have one dtype.
Expr fold(UnaryOp op, const Expr& a);
Expr fold(BinaryOp op, const Expr& a, const Expr& b);
Expr fold_cast(const Expr& a, DType dtype);

/// Whether the exact result of an int64 operation leaves the range of int64.
bool overflows(UnaryOp op, std::int64_t a);
bool overflows(BinaryOp op, std::int64_t a, std::int64_t b);

}  // namespace tilecopy::ir
