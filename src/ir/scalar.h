// What the operations of the IR make of values: constant folding and the emulator share it.
#pragma once

#include "base/numeric_value.h"
#include "ir/node.h"

namespace tilecopy::ir {

/// Operands of one dtype, which the operation takes (ops.def); integer arithmetic wraps. A NaN that
/// arithmetic makes is the canonical one; exp, sin and their like are the C library's.
numeric::Value apply(UnaryOp op, numeric::Value a);
numeric::Value apply(BinaryOp op, numeric::Value a, numeric::Value b);

}  // namespace tilecopy::ir
