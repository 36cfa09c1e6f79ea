// Fragment layouts: which thread holds which element of a fragment tile.
#pragma once

#include <string>
#include <vector>

#include "copy/site.h"
#include "ir/node.h"
#include "target/target.h"

namespace tilecopy::lower {

struct FragmentLayouts {
  planner::Fragments fragments;
  /// Fragments that have to live in shared memory, because a user wants other threads' elements.
  std::vector<Buffer> shared;
  std::vector<std::string> remarks;
};

FragmentLayouts infer_fragments(const ir::Kernel& kernel, const target::Target& target);

}  // namespace tilecopy::lower
