// A total order of expressions that does not depend on addresses, so that what is sorted by it
// prints alike in every run.
#pragma once

#include "ir/node.h"

namespace tilecopy::ir {

/// Negative, zero or positive. Zero means equal. Variables of one name follow each other in the
/// order of their creation; distinct buffers of one name, which no function has, by their
/// addresses.
int order(const Expr& a, const Expr& b);

/// The nodes of the tree; shared nodes count each time.
inline std::int64_t size_of(const Expr& e) { return e.node()->size; }

}  // namespace tilecopy::ir
