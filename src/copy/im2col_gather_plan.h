// What im2col_gather.cpp decides and im2col_gather_lower.cpp executes.
#pragma once

#include "copy/method.h"
#include "copy/partition.h"

namespace tilecopy::planner {

struct GatherPlan : Plan {
  Partition partition;
  bool unroll = false;
  Expr policy;
};

/// The fragment that col is, or null.
inline const Fragment* fragment_of_col(const Site& site) {
  auto it = site.simt->fragments.find(site.dst.buffer.node());
  return it == site.simt->fragments.end() ? nullptr : &it->second;
}

/// The axis of a dimension of col, counted from the last; -1 when its extent is 1.
inline int axis_of_col(const Site& site, int from_last) {
  int dim = site.dst.buffer.rank() - 1 - from_last;
  for (std::size_t k = 0; k < site.axes.size(); ++k) {
    if (site.axes[k].dst.dim == dim) return static_cast<int>(k);
  }
  return -1;
}

ir::Stmt lower_gather(const Plan& plan, const Site& site);

}  // namespace tilecopy::planner
