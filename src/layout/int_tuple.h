// Walking nested tuples by their leaves.
#pragma once

#include <span>
#include <vector>

#include "tilecopy/layout.h"

namespace tilecopy::layout {

/// The integers of a tuple, first to last.
std::vector<std::int64_t> leaves(const IntTuple& tuple);

/// The tuple that nests like `profile` and has these leaves, as many as `profile` has.
IntTuple rebuild(const IntTuple& profile, std::span<const std::int64_t> leaves);

/// Raises E0424 unless every leaf is at least 1.
void check_extents(const IntTuple& shape, Location where);

}  // namespace tilecopy::layout
