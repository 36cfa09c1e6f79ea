// Reads the text form of docs/text-form.md: tile-level kernels through the Builder, so that they
// obey the same rules as C++ ones, and device-level kernels as the lowering wrote them.
#pragma once

#include <memory>
#include <string>

#include "ir/node.h"

namespace tilecopy::language {

/// Raises E0501..E0503 and the user rules of the language. `file` names the text in errors.
std::shared_ptr<const ir::Kernel> parse(const std::string& text, const std::string& file);

}  // namespace tilecopy::language
