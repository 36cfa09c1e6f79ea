// The identities that makers apply to operations with a trivial operand.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// An operand or constant that equals the operation, or undefined. Operands have one dtype. An
/// operand with a Load stays, so that reading it does.
Expr identity(UnaryOp op, const Expr& a);
Expr identity(BinaryOp op, const Expr& a, const Expr& b);

/// The operation folded, by an identity, or as it stands: what the makers give for operands that
/// fit, without limits and errors.
Expr plain(UnaryOp op, const Expr& a);
Expr plain(BinaryOp op, const Expr& a, const Expr& b);

}  // namespace tilecopy::ir
