// The CUDA driver, opened at run time: no CUDA header or library is needed to build or install.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/os.h"

namespace tilecopy::run {

using DevicePointer = unsigned long long;

/// A CUtensorMap.
struct alignas(64) EncodedMap {
  std::uint64_t words[16];
};

/// The functions that tilecopy calls, by the names of the driver API; results are CUresult, handles
/// are pointers.
struct CudaDriver {
  /// The driver of this machine. Raises E0606 or E0607; what was raised once is raised again.
  static const CudaDriver& get();
  /// Another library that stands in for the driver, for tests.
  explicit CudaDriver(const std::string& library);
  /// Makes get() return `driver` until called with null.
  static void replace_for_testing(const CudaDriver* driver);

  /// Unless `result` is 0, raises E0712 when memory ran out, E0808 when the call only passes on
  /// that an earlier operation failed, and E0806 otherwise.
  void check(int result, const char* call) const;
  /// The same for a call that waits for our own work, so that a failure may well be ours: no E0808.
  void check_finished(int result, const char* call) const;
  std::string error_text(int result) const;

  int version = 0;  ///< such as 13000
  int devices = 0;

  int (*cuDeviceGet)(int* device, int ordinal) = nullptr;
  int (*cuDeviceGetName)(char* name, int length, int device) = nullptr;
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
  int (*cuDevicePrimaryCtxRetain)(void** context, int device) = nullptr;
  int (*cuCtxGetCurrent)(void** context) = nullptr;
  int (*cuCtxPushCurrent)(void* context) = nullptr;
  int (*cuCtxPopCurrent)(void** context) = nullptr;
  int (*cuCtxGetDevice)(int* device) = nullptr;
  int (*cuCtxGetId)(void* context, unsigned long long* id) = nullptr;
  int (*cuModuleLoadData)(void** module, const void* image) = nullptr;
  int (*cuModuleGetFunction)(void** function, void* module, const char* name) = nullptr;
  int (*cuFuncSetAttribute)(void* function, int attribute, int value) = nullptr;
  int (*cuLaunchKernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        void* stream, void** parameters, void** extra) = nullptr;
  int (*cuMemAlloc)(DevicePointer* memory, std::size_t bytes) = nullptr;
  int (*cuMemFree)(DevicePointer memory) = nullptr;
  int (*cuMemcpyHtoDAsync)(DevicePointer to, const void* from, std::size_t bytes,
                           void* stream) = nullptr;
  int (*cuMemcpyDtoHAsync)(void* to, DevicePointer from, std::size_t bytes, void* stream) = nullptr;
  int (*cuStreamSynchronize)(void* stream) = nullptr;
  int (*cuPointerGetAttribute)(void* value, int attribute, DevicePointer pointer) = nullptr;
  int (*cuTensorMapEncodeTiled)(EncodedMap* map, int dtype, std::uint32_t rank, void* address,
                                const std::uint64_t* dims, const std::uint64_t* strides,
                                const std::uint32_t* box, const std::uint32_t* element_strides,
                                int interleave, int swizzle, int l2_promotion,
                                int oob_fill) = nullptr;
  int (*cuTensorMapEncodeIm2col)(EncodedMap* map, int dtype, std::uint32_t rank, void* address,
                                 const std::uint64_t* dims, const std::uint64_t* strides,
                                 const int* lower, const int* upper, std::uint32_t channels,
                                 std::uint32_t pixels, const std::uint32_t* element_strides,
                                 int interleave, int swizzle, int l2_promotion,
                                 int oob_fill) = nullptr;

 private:
  std::shared_ptr<os::SharedLibrary> library_;
  int (*cuGetErrorName)(int result, const char** text) = nullptr;
  int (*cuGetErrorString)(int result, const char** text) = nullptr;
};

/// Whether a GPU of this machine runs machine code for an architecture such as "sm_90a". Raises as
/// CudaDriver::get does.
bool cuda_runs(std::string_view arch);

/// Whether there are a GPU and its driver; else `why`, in one line.
bool cuda_available(std::string* why);
/// The GPUs and the driver in words, such as "NVIDIA H200 (sm_90), driver of CUDA 13.0". Raises as
/// CudaDriver::get does.
std::string cuda_description();

}  // namespace tilecopy::run
