// Encoding tensor maps for a launch.
#pragma once

#include <vector>

#include "run/arguments.h"
#include "run/cuda_driver.h"
#include "run/launch_plan.h"

namespace tilecopy::run {

/// A recipe with the numbers of one launch.
struct BoundMap {
  const TensorMapRecipe* recipe = nullptr;
  DType dtype = DType::uint8;
  DevicePointer address = 0;
  std::vector<std::uint64_t> dims;
  std::vector<std::uint64_t> strides;  ///< in bytes

  bool same_as(const BoundMap& other) const {
    return recipe == other.recipe && address == other.address && dims == other.dims &&
           strides == other.strides;
  }
};

/// Empty when a dimension has no elements: such a tensor has no map.
std::optional<BoundMap> bind_map(const TensorMapRecipe& recipe, const LaunchPlan& plan,
                                 const BoundArguments& arguments, DevicePointer address);

/// Raises E0807 with every argument when they break a rule of the driver's that is known here.
void require_encodable(const BoundMap& map);
/// Raises E0807 with every argument and the rule that is broken.
EncodedMap encode(const BoundMap& map, const CudaDriver& driver);

}  // namespace tilecopy::run
