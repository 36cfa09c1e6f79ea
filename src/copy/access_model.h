// Predicts what the accesses of a thread-made copy cost, for explain.
#pragma once

#include "copy/method.h"
#include "copy/partition.h"

namespace tilecopy::planner {

/// Adds to the parameters, for the first access of the first warp on each side in memory, "sectors"
/// (of global memory, as "in 16 of 16 needed") and "bank_ways" (of shared memory); and "bytes",
/// what the operation moves. Nothing for a side whose addresses depend on more than sizes.
/// `first` is what a thread takes first.
void describe_accesses(const Site& site, const Group& first, int src_access, int dst_access,
                       Plan& plan);

/// layout::bank_ways of the first warp's first access of a side in shared memory, of so many
/// elements; 1 when its addresses depend on more than sizes.
int bank_ways(const Site& site, const Group& first, bool of_src, int elements);

}  // namespace tilecopy::planner
