// Judges the result of a built-in kernel.
#pragma once

#include <optional>
#include <string>

#include "arguments.h"

namespace tilecopy::tool {

/// What is wrong with the output, as a message; empty when it is right. The kernel is a built-in
/// that has run on `arguments`.
std::optional<std::string> wrong_result_text(const Kernel& kernel, const Arguments& arguments);

}  // namespace tilecopy::tool
