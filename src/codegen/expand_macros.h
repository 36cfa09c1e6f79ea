// The functions of a C text that is partly made by macros, one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecopy::codegen {

struct CFunction {
  std::string name;
  std::string text;  ///< without the storage words before its type
};

struct CFunctions {
  std::string typedefs;
  std::vector<CFunction> functions;
};

/// Reads what base/numeric.h is made of: comments, typedefs, `static inline` functions, macros with
/// parameters, and uses of these that begin a line. Macros are expanded, other directives dropped.
CFunctions expand_macros(std::string_view text);

}  // namespace tilecopy::codegen
