// What generated CUDA C++ begins with: types, helpers for instructions, and scalar operations.
#pragma once

#include <string>
#include <string_view>

namespace tilecopy::codegen {

/// The start of a source: the types, and those of the helpers and scalar operations that `source`
/// mentions, with what they need.
std::string cuda_prelude(std::string_view source);

}  // namespace tilecopy::codegen
