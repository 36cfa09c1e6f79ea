// Whether strided arrays share memory.
#pragma once

#include "tilecopy/tensor.h"

namespace tilecopy::run {

/// The addresses from a view's first byte to past its last; empty without elements.
struct ByteRange {
  __int128 begin = 0, end = 0;
  bool meets(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const TensorView& view);

/// Whether two views share a byte. Exact, but for contrived strides that would take too long: those
/// count as sharing.
bool may_share_memory(const TensorView& a, const TensorView& b);

/// Whether two elements of one view share a byte.
bool overlaps_itself(const TensorView& view);

}  // namespace tilecopy::run
