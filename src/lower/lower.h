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

/// What infer_simt_layouts decided: the kernel with a layout on each Alloc that is not row-major.
struct InferredLayouts {
  std::shared_ptr<const ir::Kernel> kernel;
  planner::Layouts layouts;
  planner::Fragments fragments;
  std::vector<std::string> remarks;  ///< sentences for people: what was chosen and for whom
};

/// For threads: a fragment layout for each fragment tile from the loops and copies that share it,
/// and shared layouts that suit every user. A fragment whose users want elements of other threads
/// moves to shared memory, with a remark that names both.
InferredLayouts infer_simt_layouts(const std::shared_ptr<const ir::Kernel>& kernel,
                                   const target::Target& target);

/// Facts about the parameters, block indices and all loop variables of a kernel.
ir::Facts all_facts(const ir::Kernel& kernel);

/// What the sites of a kernel share besides facts and layouts; fields as planner::Site.
struct Selection {
  const planner::Simt* simt = nullptr;
  const planner::Assumptions* assumptions = nullptr;
  std::string_view method = {};
};

/// One decision for each tile operation, by its id. The decisions point into all arguments.
std::vector<planner::Decision> select_copies(const ir::Kernel& kernel, const target::Target& target,
                                             const ir::Facts& facts,
                                             const planner::Layouts& layouts,
                                             const Selection& selection);

/// What the operations of a SIMT kernel share.
planner::Simt make_simt(const ir::Kernel& kernel, const planner::Fragments& fragments);

/// What most launches satisfy: sizes and strides that 16-byte accesses need to be multiples are.
planner::Assumptions usual_assumptions(const ir::Kernel& kernel, const ir::Facts& facts);

/// The kernel at device level: tile operations carried out as decided, accesses guarded where they
/// are not proved in bounds, and indices turned into element offsets.
ir::Kernel to_device(const ir::Kernel& kernel, const std::vector<planner::Decision>& decisions,
                     const ir::Facts& facts, const planner::Layouts& layouts);

/// A kernel for threads at device level, with its waits, fences and barriers; and the bytes of its
/// shared memory. Raises E0421 when the tiles exceed what the architecture has.
struct SimtKernel {
  ir::Kernel kernel;
  std::map<const ir::BufferNode*, std::int64_t> shared_offsets;  ///< in bytes
  std::int64_t shared_bytes = 0;
  std::int64_t launch_shared_bytes = 0;  ///< what a launch asks for: as much or more
};
SimtKernel to_simt(const ir::Kernel& kernel, std::vector<planner::Decision>& decisions,
                   const planner::Simt& simt, const ir::Facts& facts,
                   const planner::Layouts& layouts, const target::Target& target);

/// The shared memory that a launch asks for, so that no more blocks are resident on a multiprocessor
/// than a kernel that only moves tiles is fastest with; else `shared_bytes`. Adds "resident"
/// to the report of the first decision.
std::int64_t limit_residency(const ir::Kernel& kernel, std::vector<planner::Decision>& decisions,
                             std::int64_t shared_bytes, const target::Target& target);

/// A kernel that is at device level already, with a thread: tiles lie one after the other in shared
/// memory. Raises E0602 for a kernel without threads, E0501 for instructions that do not fit the
/// catalogue, E0421.
SimtKernel place_device_kernel(const ir::Kernel& kernel, const target::Target& target);

/// Where each tile lies in the memory of a block.
struct TileMemory {
  std::map<const ir::BufferNode*, std::int64_t> offsets;  ///< in bytes
  std::int64_t bytes = 0;
};
/// Raises E0421 when the tiles of a block are too large.
TileMemory place_tiles(const ir::Kernel& kernel, const planner::Layouts& layouts);

/// Raises E0428 for sizes that cannot be computed at launch.
run::LaunchPlan plan_launch(const ir::Kernel& kernel, const TileMemory& memory);

/// Adds one CUDA entry function. The entry's name is the plan's; the caller makes it unique.
void add_variant(run::LaunchPlan& plan, const ir::Kernel& kernel, const SimtKernel& simt,
                 const std::vector<planner::Decision>& decisions);

}  // namespace tilecopy::lower
