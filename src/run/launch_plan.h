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

struct LaunchPlan {
  std::string kernel;  ///< the user's name
  std::string entry;   ///< the C function
  /// Parameters in the order of the arguments: index into tensors (>= 0) or ~index into scalars.
  std::vector<int> order;
  std::vector<TensorParam> tensors;
  std::vector<ScalarParam> scalars;
  std::vector<std::string> symbols;
  std::vector<WindowCheck> windows;
  std::int64_t tile_bytes = 0;  ///< of one block
};

}  // namespace tilecopy::run
