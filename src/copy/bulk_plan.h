// What bulk.cpp decides and bulk_lower.cpp executes.
#pragma once

#include "copy/method.h"

namespace tilecopy::planner {

struct BulkPlan : Plan {
  bool load = false;
  std::vector<std::size_t> run_axes;  ///< what one run covers, innermost first
  std::vector<std::size_t> row_axes;  ///< the others: a run for each of their indices
  std::int64_t run = 1;               ///< elements
  std::int64_t head = 0, tail = 0;    ///< elements of a single run that threads copy
  Expr policy;

  std::int64_t body() const { return run - head - tail; }
};

ir::Stmt lower_bulk(const Plan& plan, const Site& site);

}  // namespace tilecopy::planner
