// What the CUDA methods share.
#pragma once

#include <functional>

#include "copy/method.h"

namespace tilecopy::planner {

/// The L2 cache policy of the eviction hint, as the operand of a *_hint instruction; undefined
/// without the hint. The constants are what createpolicy.fractional makes for a fraction of 1, as
/// tests/gpu checks.
Expr cache_policy(const Site& site);

/// Adds "eviction_policy" to the plan's parameters when the hint is given.
void describe_policy(const Site& site, Plan& plan);

/// `body`, run by one thread of the block.
ir::Stmt by_one_thread(const Site& site, ir::Stmt body);

/// Rules that every method of the TMA unit (tma, bulk, tma_im2col) begins with: an architecture
/// that has it, and no disable_tma.
bool require_tma_unit(const Site& site, Rules& rules);

/// Whether the user asks for the method, by name or by the hint: then what it costs is no reason
/// against it.
bool is_asked_for(const Site& site, const Method& method);

/// Whether elements along the axis are neighbours in memory on one side, from some index on.
bool contiguous(const Site& site, bool of_src, std::size_t axis);

/// The constant extents of the axes; empty when one is symbolic.
std::optional<std::vector<std::int64_t>> constant_extents(const Site& site);

/// Whether all of both sides is proved in bounds.
bool always_in_bounds(const Site& site);

/// Whether the whole tile is in bounds on the given side, as a condition of values that are the
/// same for all threads of a block; undefined when it is proved.
Expr whole_condition(const Site& site, bool of_src);

/// Whether the whole tile is in bounds on all sides, likewise.
Expr whole_condition(const Site& site);

/// `body(false)` for tiles that are in bounds as a whole and `body(true)` for ragged ones, by a
/// test where it is not known which kind a tile is.
ir::Stmt whole_or_ragged(const Site& site, const std::function<ir::Stmt(bool ragged)>& body);

/// Whether the bits of a constant are all zero, which those of -0.0 are not.
bool all_bits_zero(const Expr& constant);

/// a + b and a * b on indices.
Expr plus(const Expr& a, const Expr& b);
Expr times(const Expr& a, const Expr& b);

}  // namespace tilecopy::planner
