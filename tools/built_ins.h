// The built-in kernels, written with the public API alone: they are examples of it as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilecopy/tilecopy.h"

namespace tilecopy::tool {

enum class BuiltInKind : std::uint8_t { copy, transpose, im2col };

/// What a copy goes through on its way.
enum class Through : std::uint8_t { shared, fragment, nothing };

/// The geometry of a convolution.
struct Window {
  HeightWidth kernel = 3;
  HeightWidth stride = 1;
  HeightWidth dilation = 1;
  HeightWidth pad = 0;
};

/// A built-in kernel with all its choices made.
struct BuiltIn {
  BuiltInKind kind = BuiltInKind::copy;
  std::vector<std::int64_t> shape = {};  ///< of the input: A, or img as (N, H, W, C)
  DType dtype = float16;
  std::vector<std::int64_t> tile = {};  ///< rows and columns, or one extent for a tensor of rank 1
  int threads = 128;
  Through through = Through::shared;  ///< of copy
  /// Of transpose: to write from the tile to B at once, whose tiles are walked along its rows, as
  /// suits a GPU; else by a second tile.
  bool direct = false;
  cuda::CopyOptions hints = {};
  Window window = {};  ///< of im2col
};

/// The shape of the output; an axis of the image that is shorter than the window gives 0 rows.
/// E0711 when it overflows.
std::vector<std::int64_t> output_shape(const BuiltIn& kernel);

/// Each of them moves tiles from global to global memory, through shared memory as a rule. copy
/// takes tensors of rank 1 to 8, transpose of rank 2 to 8: both tile the last two dimensions.
Function make_built_in(const BuiltIn& kernel);

}  // namespace tilecopy::tool
