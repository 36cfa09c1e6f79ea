// Checks the arguments of a launch against the parameters, and binds symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "run/launch_plan.h"
#include "tilecopy/compile.h"

namespace tilecopy::run {

/// What a kernel's entry function is called with.
struct BoundArguments {
  std::vector<void*> tensors;
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> scalars;      ///< the bits of their dtypes
  std::vector<std::int64_t> scalar_sizes;  ///< the values of integer ones, for size programs
  std::vector<const TensorView*> views;
};

/// Raises E0701..E0713, and E0307 for an image that is too small, before anything is written.
BoundArguments bind_arguments(const LaunchPlan& plan, const std::vector<Argument>& arguments);

}  // namespace tilecopy::run
