// The rules of hints: names, types and values, and which beat which.
#pragma once

#include "ir/node.h"
#include "language/builder.h"

namespace tilecopy::language {

/// Merges and checks hints. Raises E0201..E0205.
ir::Hints resolve_hints(const HintValues& values, Location where);

/// Checks that a loop layout covers loops of these extents within `threads`. Raises E0206.
void check_loop_layout(const Fragment& layout, const std::vector<Expr>& extents, int threads,
                       Location where);

}  // namespace tilecopy::language
