// The C source of kernels for the cpu target: C11, readable, and complete in itself.
#pragma once

#include <span>
#include <string>

#include "lower/lower.h"

namespace tilecopy::codegen {

struct CKernel {
  const ir::Kernel* kernel = nullptr;  ///< at device level
  const lower::TileMemory* memory = nullptr;
  const run::LaunchPlan* launch = nullptr;
};

/// One source with an entry function for each kernel, named by its launch plan:
///
///   void entry(void *const *tensors, const int64_t *symbols, const uint64_t *scalars,
///              char *tiles, int threads);
///
/// `tiles` has launch->tile_bytes for each thread; scalars are the bits of their dtypes.
std::string generate_c(std::span<const CKernel> kernels);

}  // namespace tilecopy::codegen
