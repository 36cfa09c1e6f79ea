// A stand-in for the CUDA driver: functions that succeed or fail as the environment says, and no
// GPU. FAKE_CUDA_VERSION is the driver's version, FAKE_CUDA_FAIL names a function that fails, with
// FAKE_CUDA_RESULT.
#include <cstdlib>
#include <cstring>

namespace {

int outcome(const char* function) {
  const char* failing = std::getenv("FAKE_CUDA_FAIL");
  if (!failing || std::strcmp(failing, function) != 0) return 0;
  const char* result = std::getenv("FAKE_CUDA_RESULT");
  return result ? std::atoi(result) : 1;
}

int some_context = 0;

}  // namespace

extern "C" {

int cuInit(unsigned) { return outcome("cuInit"); }
int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_CUDA_VERSION");
  *version = text ? std::atoi(text) : 13000;
  return 0;
}
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, "fake", static_cast<std::size_t>(length)), 0; }
int cuDeviceGetAttribute(int* value, int, int) { return *value = 0, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &some_context, 0; }
int cuCtxGetCurrent(void** context) { return *context = &some_context, 0; }
int cuCtxPushCurrent_v2(void*) { return 0; }
int cuCtxPopCurrent_v2(void** context) { return *context = &some_context, 0; }
int cuCtxGetDevice(int* device) { return *device = 0, 0; }
int cuModuleLoadData(void** module, const void*) { return *module = &some_context, outcome("cuModuleLoadData"); }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = &some_context, 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                   void**, void**) {
  return outcome("cuLaunchKernel");
}
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  *memory = reinterpret_cast<unsigned long long>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
int cuMemFree_v2(unsigned long long memory) { return std::free(reinterpret_cast<void*>(memory)), 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuStreamSynchronize(void*) { return 0; }
int cuPointerGetAttribute(void*, int, unsigned long long) { return 1; }
int cuGetErrorName(int, const char** text) { return *text = "CUDA_ERROR_FAKE", 0; }
int cuGetErrorString(int, const char** text) { return *text = "as the test asked", 0; }
int cuTensorMapEncodeTiled() { return outcome("cuTensorMapEncodeTiled"); }
int cuTensorMapEncodeIm2col() { return outcome("cuTensorMapEncodeIm2col"); }
}
