// The text form of the IR, as docs/text-form.md describes it; language/parse.h reads it back.
#pragma once

#include <string>

#include "ir/node.h"

namespace tilecopy::ir {

std::string print(const Kernel& kernel);
std::string print(const Expr& e);
std::string print(const Stmt& s);

}  // namespace tilecopy::ir
