// Predicts what the accesses of a thread-made copy cost, for explain.
#pragma once

#include "copy/method.h"
#include "copy/partition.h"

namespace tilecopy::planner {

/// Adds to the parameters, for the first access of the first warp on each side in memory, "sectors"
/// (of global memory, as "in 16 of 16 needed") and "bank_ways" (of shared memory); and "bytes",
/// what the operation moves. Nothing for a side whose addresses depend on more than sizes.
void describe_accesses(const Site& site, const Partition& partition, int src_access, int dst_access,
                       Plan& plan);

}  // namespace tilecopy::planner
