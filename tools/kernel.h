// From a request to a kernel: a built-in with its defaults filled in, or a file in the text form.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "built_ins.h"
#include "request.h"

namespace tilecopy::tool {

struct Kernel {
  Function function;
  std::optional<BuiltIn> built_in;
  /// Inputs that were read already, because they decide the shape and dtype of a built-in.
  std::map<std::string, Tensor> loaded = {};
};

/// Raises E0603 for flags that the kernel has no use for, as well as the errors of the language.
Kernel make_kernel(const Request& request);

CompiledKernel compile_kernel(const Kernel& kernel, const Request& request);

/// The files of --in or --out by tensor; E0603 for a malformed or repeated one.
std::map<std::string, std::string> file_bindings(std::string_view flag,
                                                 const std::vector<std::string>& words);

/// Calls `make`; errors of a built-in do not point at our own lines, which are not the user's.
template <typename Make>
auto without_location(bool hide, Make&& make) {
  if (!hide) return make();
  try {
    return make();
  } catch (const UserError& error) {
    ErrorReport report = error.report();
    report.where = {};
    throw UserError(std::move(report));
  }
}

}  // namespace tilecopy::tool
