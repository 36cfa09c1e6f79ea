// Renders what was decided for people (text) and for tools (JSON).
#pragma once

#include <string>

#include "tilecopy/compile.h"

namespace tilecopy::explain {

struct Subject {
  std::string kernel;
  std::string target;
  const std::vector<CopyPlan>* plans = nullptr;
  const std::vector<std::string>* remarks = nullptr;  ///< about layouts
};

std::string text(const Subject& subject);
std::string json(const Subject& subject);

}  // namespace tilecopy::explain
