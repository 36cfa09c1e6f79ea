// What the built-in kernels have to compute, as plain nested loops over plain arrays. Nothing of
// the compiler may be used here: the loops judge it.
#pragma once

#include <cstdint>
#include <optional>

#include "built_ins.h"

namespace tilecopy::tool {

/// The first element, in row-major order, that is not what it has to be.
struct Mismatch {
  std::int64_t at = 0;                 ///< its place in the output
  std::optional<std::int64_t> source;  ///< the place in the input that it is copied from; 0 without
};

/// Compares bit for bit. `output` has the shape that the kernel gives it.
std::optional<Mismatch> compare(const BuiltIn& kernel, const Tensor& input, const Tensor& output);

}  // namespace tilecopy::tool
