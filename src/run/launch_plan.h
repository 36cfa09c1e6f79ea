// What the launcher needs to know of a compiled kernel, without the IR: parameters, sizes as small
// programs over the symbols, and the tile memory of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy::run {

/// A size as postfix code over int64: evaluated at launch, with overflow noticed.
struct SizeProgram {
  enum class Op : std::uint8_t { constant, symbol, scalar, add, sub, mul, div, mod, min, max };
  struct Step {
    Op op;
    std::int64_t operand = 0;  ///< a value, or the index of a symbol or scalar
  };
  std::vector<Step> steps;

  /// The index of the symbol when the program is that symbol alone.
  std::optional<std::size_t> lone_symbol() const;
  /// Empty when the arithmetic overflows.
  std::optional<std::int64_t> evaluate(const std::vector<std::int64_t>& symbols,
                                       const std::vector<std::int64_t>& scalars) const;
};

struct TensorParam {
  std::string name;
  DType dtype;
  std::vector<SizeProgram> shape;
  std::vector<SizeProgram> strides;  ///< empty for row-major
  std::string text;                  ///< as declared, for messages: "float16[n, 64]"
  bool written = false;
};

struct ScalarParam {
  std::string name;
  DType dtype;
};

/// needed <= available, checked at launch: an im2col window that must fit its padded image.
struct WindowCheck {
  Location where;
  std::string axis;
  std::int64_t window = 0;
  SizeProgram extent;  ///< of the image, 0 or more
  std::int64_t pad = 0;
};

/// A fact that the arguments decide, which a variant of a kernel relies on.
struct Guard {
  std::string text;                    ///< for people: "A is 16-byte aligned", "n % 8 == 0"
  std::optional<std::size_t> pointer;  ///< index into tensors whose address is the value ...
  SizeProgram value;                   ///< ... or a size
  std::int64_t multiple_of = 1;
  std::int64_t least = INT64_MIN;
  std::int64_t most = INT64_MAX;
};

/// What cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col is called with. Dimensions go from the
/// innermost to the outermost.
struct TensorMapRecipe {
  std::string name;        ///< of the kernel's parameter
  std::size_t tensor = 0;  ///< index into tensors
  std::optional<Location> where;
  bool im2col = false;
  std::vector<SizeProgram> dims;     ///< in elements
  std::vector<SizeProgram> strides;  ///< in bytes, of all dimensions but the innermost
  std::vector<std::int64_t> box;     ///< in elements; for im2col channels and pixels of a box
  std::vector<std::int64_t> element_strides;
  std::vector<std::int64_t> lower, upper;  ///< corners of an im2col box: W, H
  int swizzle_bytes = 0;                   ///< 0, 32, 64 or 128
  int l2_promotion_bytes = 0;              ///< 0, 64, 128 or 256
};

/// One CUDA entry function. Its parameters: the tensors, symbols (int64) and scalars of the launch
/// plan, then its tensor maps.
struct Variant {
  std::string entry;
  std::vector<Guard> guards;  ///< it may run when all hold
  std::vector<TensorMapRecipe> tensor_maps;
  std::int64_t shared_bytes = 0;
};

struct LaunchPlan {
  std::string kernel;  ///< the user's name
  std::string entry;   ///< the C function; empty for CUDA
  /// Parameters in the order of the arguments: index into tensors (>= 0) or ~index into scalars.
  std::vector<int> order;
  std::vector<TensorParam> tensors;
  std::vector<ScalarParam> scalars;
  std::vector<std::string> symbols;
  std::vector<WindowCheck> windows;
  std::int64_t tile_bytes = 0;  ///< of one block
  // CUDA only.
  std::vector<SizeProgram> grid;  ///< extents of the block indices, fastest-varying first
  int threads = 0;                ///< of one block
  std::vector<Variant> variants;  ///< the first whose guards hold is launched; the last has none
};

}  // namespace tilecopy::run
