// What cp_async.cpp decides and cp_async_lower.cpp executes.
#pragma once

#include "copy/method.h"
#include "copy/partition.h"

namespace tilecopy::planner {

struct CpAsyncPlan : Plan {
  Partition partition;
  int bytes = 0;             ///< of one cp.async
  bool src_grouped = false;  ///< bounds of the side fall between groups
  bool dst_grouped = false;
  bool zero_fill = false;  ///< the safe value is what cp.async fills with
  bool unroll = false;
  Expr policy;
};

ir::Stmt lower_cp_async(const Plan& plan, const Site& site);

}  // namespace tilecopy::planner
