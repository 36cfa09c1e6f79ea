// Replacing buffers throughout a kernel.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// What takes the place of each buffer.
using Replacement = std::map<const BufferNode*, Buffer>;

/// `s` with buffers replaced, at tile level. Layouts of an Alloc stay with it.
Stmt replace_buffers(const Stmt& s, const Replacement& replacement);

}  // namespace tilecopy::ir
