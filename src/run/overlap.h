// Whether strided arrays share memory.
#pragma once

#include "tilecopy/tensor.h"

namespace tilecopy::run {

/// Whether two views share a byte. Exact, but for contrived strides that would take too long: those
/// count as sharing.
bool may_share_memory(const TensorView& a, const TensorView& b);

/// Whether two elements of one view share a byte.
bool overlaps_itself(const TensorView& view);

}  // namespace tilecopy::run
