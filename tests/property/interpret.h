// Runs a description on arrays, block by block and element by element: the answer that a compiled
// kernel must give.
#pragma once

#include <vector>

#include "property/description.h"
#include "property/model.h"

namespace tilecopy::property {

/// The arrays of a launch, with contents.
std::vector<Array> make_arrays(const Description& kernel, const Launch& launch);

struct Outcome {
  /// Some element was accessed by two blocks, and written by one of them: only blocks that run in
  /// order give one answer.
  bool blocks_depend = false;
  /// An expression read, or a tensor was given, an element that nobody wrote.
  bool unwritten_used = false;
};

/// Runs the kernel on the arrays.
Outcome interpret(const Description& kernel, const Launch& launch, std::vector<Array>& arrays);

}  // namespace tilecopy::property
