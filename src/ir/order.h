// A total order of expressions that does not depend on addresses, so that what is sorted by it
// prints alike in every run.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// Negative, zero or positive. Zero means equal; only distinct variables of one name fall back to
/// their addresses.
int order(const Expr& a, const Expr& b);

/// The nodes of the tree, or `limit` when there are at least so many. Shared nodes count each time.
int tree_size(const Expr& e, int limit);
/// Of trees that are known not to be huge.
inline int size_of(const Expr& e) { return tree_size(e, 1 << 20); }

}  // namespace tilecopy::ir
