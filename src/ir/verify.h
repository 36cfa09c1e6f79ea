// The rules that a kernel obeys between stages.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// Raises InternalError E0901 naming the rule and the statement when a stage broke one.
/// Checked: every node has its operands; dtypes agree; each variable and buffer is in scope where
/// it is used; indices match the rank (tile level) or are one offset (device level); statements
/// belong to the level; regions have one origin and extent per dimension.
void verify(const Kernel& kernel);

}  // namespace tilecopy::ir
