// The CUDA C++ of kernels: include-free, readable, and the same for NVRTC and nvcc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/node.h"

namespace tilecopy::codegen {

struct CudaKernel {
  const ir::Kernel* kernel = nullptr;  ///< at device level
  /// Bytes from the start of the block's shared memory.
  const std::map<const ir::BufferNode*, std::int64_t>* shared_offsets = nullptr;
  std::int64_t shared_bytes = 0;
  std::string entry;
  std::vector<bool> written;  ///< of each tensor
};

/// The entry function of a kernel:
///
///   extern "C" __global__ void entry(tensors..., symbols..., scalars..., tensor maps...);
///
/// in the order of the kernel's parameters, symbols as int64_t, a tc_tensor_map of 128 bytes for
/// each TensorMap. The launcher flattens the grid into gridDim.x, the fastest index first.
std::string cuda_entry(const CudaKernel& kernel);

/// A source with these entry functions, and what they need before them.
std::string cuda_source(std::string_view entries);

}  // namespace tilecopy::codegen
