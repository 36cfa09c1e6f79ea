// How many blocks of a kernel may be resident on a multiprocessor at a time. Where a kernel does
// nothing but move tiles, more bytes under way than hide the latency of memory only scatter its
// accesses over more pages of DRAM.
#include <fmt/format.h>

#include <algorithm>

#include "ir/walk.h"
#include "lower/lower.h"

namespace tilecopy::lower {
namespace {

// Measured on an H200 (docs/performance-notes.md). im2col reads most of its bytes from the L2 and
// writes many more than it reads.
constexpr std::int64_t best_copy_bytes = 48 * 1024, best_im2col_bytes = 96 * 1024;
// Of each block, by the system; of a multiprocessor, with those. CUDA programming guide, compute
// capability 9.0.
constexpr std::int64_t system_bytes = 1024, multiprocessor_bytes = 228 * 1024;
constexpr std::int64_t most_resident_threads = 2048, most_resident_blocks = 32;

bool by_engines_alone(const ir::Kernel& kernel, const std::vector<planner::Decision>& decisions) {
  using enum PreferInstruction;
  bool moves = !decisions.empty();
  for (const planner::Decision& decision : decisions) {
    moves = moves && planner::family(*decision.plan->method) != sync;
  }
  ir::for_each_stmt(kernel.body, [&](const ir::Stmt& s) {
    switch (s->kind) {
      case ir::StmtKind::Block:
      case ir::StmtKind::Alloc:
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col: return;
      default: moves = false;  // loops, arithmetic, branches
    }
  });
  return moves;
}

}  // namespace

std::int64_t limit_residency(const ir::Kernel& kernel, std::vector<planner::Decision>& decisions,
                             std::int64_t shared_bytes, const target::Target& target) {
  if (target.arch != "sm_90a" || shared_bytes == 0 || !by_engines_alone(kernel, decisions)) {
    return shared_bytes;
  }
  const bool im2col = std::any_of(decisions.begin(), decisions.end(),
                                  [](const auto& decision) { return decision.site.im2col(); });
  const std::int64_t best = im2col ? best_im2col_bytes : best_copy_bytes;
  const std::int64_t blocks = std::max<std::int64_t>((best + shared_bytes - 1) / shared_bytes, 2);
  const std::int64_t others =
      std::min(most_resident_threads / kernel.threads, most_resident_blocks);
  const std::int64_t each = (multiprocessor_bytes / blocks - system_bytes) / 128 * 128;
  if (blocks >= others || each <= shared_bytes) return shared_bytes;
  decisions.front().report.parameters.emplace_back(
      "resident", fmt::format("{} blocks on a multiprocessor at most", blocks));
  return std::min(each, target::most_shared_bytes(target));
}

}  // namespace tilecopy::lower
