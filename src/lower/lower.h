// From tile level to device level: layouts, one decision per tile operation, device statements, and
// the launch plan.
#pragma once

#include <memory>
#include <vector>

#include "copy/method.h"
#include "ir/node.h"
#include "run/launch_plan.h"
#include "target/target.h"

namespace tilecopy::lower {

/// The layout of each tile that is not row-major: on cpu, those that the user annotated.
planner::Layouts infer_layouts(const ir::Kernel& kernel);

/// Facts about the parameters, block indices and all loop variables of a kernel.
ir::Facts all_facts(const ir::Kernel& kernel);

/// One decision for each tile operation, by its id. The decisions point into `kernel`, `facts`,
/// `layouts` and `target`.
std::vector<planner::Decision> select_copies(const ir::Kernel& kernel, const target::Target& target,
                                             const ir::Facts& facts,
                                             const planner::Layouts& layouts);

/// The kernel at device level: tile operations carried out as decided, accesses guarded where they
/// are not proved in bounds, and indices turned into element offsets.
ir::Kernel to_device(const ir::Kernel& kernel, const std::vector<planner::Decision>& decisions,
                     const ir::Facts& facts, const planner::Layouts& layouts);

/// Where each tile lies in the memory of a block.
struct TileMemory {
  std::map<const ir::BufferNode*, std::int64_t> offsets;  ///< in bytes
  std::int64_t bytes = 0;
};
/// Raises E0421 when the tiles of a block are too large.
TileMemory place_tiles(const ir::Kernel& kernel, const planner::Layouts& layouts);

/// `kernel` is at tile level. Raises E0428 for sizes that cannot be computed at launch.
run::LaunchPlan plan_launch(const ir::Kernel& kernel, const TileMemory& memory);

}  // namespace tilecopy::lower
