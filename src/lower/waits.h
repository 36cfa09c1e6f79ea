// Barriers, fences and waits, from the effects of the instructions (isa/isa.h).
//
// A SIMT kernel alternates between uniform statements, whose control flow is the same for all
// threads of a block, and units, which threads run each on their own and in which nothing waits.
// Before a unit stand the waits that its accesses need after those of earlier units:
//
//   earlier access            needs before a later access that conflicts with it
//   by threads                a block barrier, unless one thread made both
//   write of cp.async         a wait for its group by the issuing threads, then as by threads
//   write of a tx load        a wait for its mbarrier by all threads
//   read of a bulk store      a wait until its group has read, then as by the issuing thread
//   write of a bulk store     a wait until its group is complete, then as by the issuing thread
//
// A write by threads needs a proxy fence by the writing threads, before that barrier, when a bulk
// or tensor copy comes next. What is under way is waited for in the body that began it.
#pragma once

#include <set>

#include "ir/node.h"
#include "lower/place_shared.h"

namespace tilecopy::lower {

/// `uniform` holds the Blocks, Fors and Ifs whose control flow is the same for all threads; what
/// else there is in them is a unit. `body` is the kernel's.
ir::Stmt insert_waits(const ir::Stmt& body, const std::set<const ir::StmtNode*>& uniform,
                      const Var& thread, const SharedMemory& memory);

}  // namespace tilecopy::lower
