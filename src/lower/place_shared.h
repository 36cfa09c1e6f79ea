// Where each shared tile lies: tiles that are never in use at the same time share memory.
#pragma once

#include "lower/lower.h"

namespace tilecopy::lower {

struct SharedMemory {
  std::map<const ir::BufferNode*, std::int64_t> offsets;  ///< in bytes
  std::map<const ir::BufferNode*, std::int64_t> sizes;    ///< in bytes
  std::int64_t bytes = 0;
};

/// `kernel` is at tile level; `mbarriers`, if defined, is one more buffer that lives throughout.
/// Raises E0421, naming the tiles, above `most_bytes`.
SharedMemory place_shared(const ir::Kernel& kernel, const planner::Layouts& layouts,
                          const Buffer& mbarriers, std::int64_t mbarrier_bytes,
                          std::int64_t most_bytes);

}  // namespace tilecopy::lower
