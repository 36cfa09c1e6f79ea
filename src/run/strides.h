// Walking the dimensions of a view. Every launch does it for every tensor, so nothing is allocated.
#pragma once

#include "tilecopy/tensor.h"

namespace tilecopy::run {

/// Calls `use(dimension, stride)` for each dimension, the last first; the view has no strides or as
/// many as dimensions. Where the extents' product does not fit, as it may in an array without
/// elements, strides are 0.
template <typename Use>
void for_each_stride(const TensorView& view, Use&& use) {
  std::int64_t dense = 1;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    use(d, view.strides.empty() ? dense : view.strides[d]);
    if (__builtin_mul_overflow(dense, view.shape[d], &dense)) dense = 0;
  }
}

}  // namespace tilecopy::run
