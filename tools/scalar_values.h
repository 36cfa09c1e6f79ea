// The values of a kernel's symbols and scalar parameters, from --set and from the shapes of inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/launch_plan.h"
#include "tilecopy/compile.h"

namespace tilecopy::tool {

class ScalarValues {
 public:
  /// Takes NAME=VALUE words. Raises E0503 for an unknown name, a name given twice, and a value that
  /// its dtype cannot hold. `plan` has to live as long.
  ScalarValues(const run::LaunchPlan& plan, const std::vector<std::string>& set);

  /// Gives the symbols that stand alone in a tensor's shape their values. E0503 when --set says
  /// something else.
  void bind_symbols(const run::TensorParam& param, const std::vector<std::int64_t>& shape,
                    const std::string& path);

  /// Raises E0503 when a symbol or scalar has no value yet.
  void require_all() const;

  /// A size of a tensor; E0711 when it overflows.
  std::int64_t evaluate(const run::SizeProgram& size, const run::TensorParam& param) const;
  Argument scalar(std::size_t index) const;

 private:
  void take(const std::string& name, const std::string& text);

  const run::LaunchPlan& plan_;
  std::vector<std::optional<std::int64_t>> symbols_;
  std::vector<bool> set_;  // symbols whose value --set gave
  std::vector<std::optional<Argument>> scalars_;
};

}  // namespace tilecopy::tool
