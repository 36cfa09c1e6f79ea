// Which variant of a kernel takes the arguments of a launch.
#pragma once

#include <vector>

#include "run/arguments.h"
#include "run/tensor_map.h"

namespace tilecopy::run {

/// A variant whose guards hold, with its tensor maps bound.
struct ChosenVariant {
  std::size_t index = 0;
  std::vector<BoundMap> maps;
};

/// The first variant whose guards hold and whose tensors with maps have elements. `pointers` are
/// the addresses of the tensors where the kernel runs.
ChosenVariant choose_variant(const LaunchPlan& plan, const BoundArguments& bound,
                             const std::vector<DevicePointer>& pointers);

/// The extents of the block indices, fastest-varying first. Raises E0716 for a grid of 2^31 blocks
/// or more; one of the extents is 0 or less when there is nothing to launch.
std::vector<std::int64_t> grid_of(const LaunchPlan& plan, const BoundArguments& bound);

/// The product of the extents, 0 when one of them is not positive.
std::int64_t block_count(const std::vector<std::int64_t>& grid);

}  // namespace tilecopy::run
