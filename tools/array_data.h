// Makes the memory of tensor arguments, with the strides that a kernel declares.
#pragma once

#include "arguments.h"
#include "run/launch_plan.h"
#include "scalar_values.h"

namespace tilecopy::tool {

/// Zeros for a tensor that the kernel writes, else random data. E0704, E0711, E0712.
Array fresh_array(const run::TensorParam& param, const ScalarValues& values, std::uint64_t seed);

/// The elements of `elements`, whose shape is for the launch to check.
Array array_of(const run::TensorParam& param, const ScalarValues& values, Tensor elements);

}  // namespace tilecopy::tool
