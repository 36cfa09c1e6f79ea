// A stand-in for the CUDA driver: functions that succeed or fail as a test says, write down what
// they were asked, and need no GPU. Its device memory is host memory. FAKE_CUDA_VERSION is the
// driver's version, FAKE_CUDA_FAIL names a function that fails, with FAKE_CUDA_RESULT; the rest is
// told through fake_cuda_record().
#include "fake_cuda/fake_cuda.h"

#include <cstdlib>
#include <cstring>

namespace {

using namespace tilecopy::fake_cuda;

Record record;
Devices devices = {{0, 1}};
std::map<const void*, std::string> entries;  // by function

constexpr int invalid_value = 1;

int outcome(const char* function) {
  record.calls.emplace_back(function);
  if (auto it = record.results.find(function); it != record.results.end()) return it->second;
  const char* failing = std::getenv("FAKE_CUDA_FAIL");
  if (!failing || std::strcmp(failing, function) != 0) return 0;
  const char* result = std::getenv("FAKE_CUDA_RESULT");
  return result ? std::atoi(result) : invalid_value;
}

void* current_context() { return record.contexts.empty() ? nullptr : record.contexts.back(); }
int device_of(const void* context) { return context == &devices.primary[1] ? 1 : 0; }

template <typename T>
std::vector<T> list(const T* first, std::uint32_t count) {
  return {first, first + count};
}

// The bits that drivers set, among them the one that is wrong for small tensors.
int encode(std::uint64_t* map, Encoding encoding, const char* function) {
  record.encodings.push_back(std::move(encoding));
  std::memset(map, 0, 128);
  map[0] = record.encodings.size();
  map[1] = ~std::uint64_t{0};
  return outcome(function);
}

}  // namespace

extern "C" {

Record* fake_cuda_record() { return &record; }
Devices* fake_cuda_devices() { return &devices; }

int cuInit(unsigned) { return outcome("cuInit"); }

int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_CUDA_VERSION");
  *version = text ? std::atoi(text) : 13000;
  return 0;
}

int cuDeviceGetCount(int* count) { return *count = 2, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }

int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // the major compute capability
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &devices.primary[device];
  return outcome("cuDevicePrimaryCtxRetain");
}

int cuCtxGetCurrent(void** context) {
  *context = current_context();
  return outcome("cuCtxGetCurrent");
}

int cuCtxPushCurrent_v2(void* context) {
  record.contexts.push_back(context);
  return outcome("cuCtxPushCurrent");
}

int cuCtxPopCurrent_v2(void** context) {
  *context = current_context();
  record.contexts.pop_back();
  return outcome("cuCtxPopCurrent");
}

int cuCtxGetDevice(int* device) {
  *device = device_of(current_context());
  return outcome("cuCtxGetDevice");
}

int cuCtxGetId(void* context, unsigned long long* id) {
  auto it = record.ids.find(context);
  *id =
      it != record.ids.end() ? it->second : 1 + static_cast<unsigned long long>(device_of(context));
  return outcome("cuCtxGetId");
}

int cuModuleLoadData(void** module, const void*) {
  *module = &record;
  return outcome("cuModuleLoadData");
}

int cuModuleGetFunction(void** function, void*, const char* name) {
  static std::map<std::string, char> functions;
  *function = &functions[name];
  entries[*function] = name;
  return outcome("cuModuleGetFunction");
}

int cuFuncSetAttribute(void*, int, int) { return outcome("cuFuncSetAttribute"); }

int cuLaunchKernel(void* function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned,
                   unsigned, unsigned shared_bytes, void* stream, void** parameters, void**) {
  Launch launch{entries[function], grid_x, block_x, shared_bytes, stream, current_context(), {}};
  for (std::size_t i = 0; i < record.parameter_sizes.size(); ++i) {
    launch.parameters.emplace_back(static_cast<const char*>(parameters[i]),
                                   record.parameter_sizes[i]);
  }
  int result = outcome("cuLaunchKernel");
  if (result == 0 && record.kernel) record.kernel(launch);
  record.launches.push_back(std::move(launch));
  return result;
}

int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  if (int result = outcome("cuMemAlloc"); result != 0) return result;
  *memory =
      reinterpret_cast<unsigned long long>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}

int cuMemFree_v2(unsigned long long memory) {
  std::free(reinterpret_cast<void*>(memory));
  return outcome("cuMemFree");
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return outcome("cuMemcpyHtoDAsync");
}

int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return outcome("cuMemcpyDtoHAsync");
}

int cuStreamSynchronize(void*) { return outcome("cuStreamSynchronize"); }

int cuPointerGetAttribute(void* value, int, unsigned long long pointer) {
  outcome("cuPointerGetAttribute");
  auto it = record.devices_of.find(reinterpret_cast<const void*>(pointer));
  if (it == record.devices_of.end()) return invalid_value;
  std::memcpy(value, &it->second, sizeof(int));
  return 0;
}

int cuGetErrorName(int, const char** text) { return *text = "CUDA_ERROR_FAKE", 0; }
int cuGetErrorString(int, const char** text) { return *text = "as the test asked", 0; }

int cuTensorMapEncodeTiled(std::uint64_t* map, int dtype, std::uint32_t rank, void* address,
                           const std::uint64_t* dims, const std::uint64_t* strides,
                           const std::uint32_t* box, const std::uint32_t* element_strides, int,
                           int swizzle, int l2_promotion, int) {
  return encode(map,
                {.dtype = dtype,
                 .address = address,
                 .dims = list(dims, rank),
                 .strides = list(strides, rank - 1),
                 .box = list(box, rank),
                 .element_strides = list(element_strides, rank),
                 .lower = {},
                 .upper = {},
                 .swizzle = swizzle,
                 .l2_promotion = l2_promotion},
                "cuTensorMapEncodeTiled");
}

int cuTensorMapEncodeIm2col(std::uint64_t* map, int dtype, std::uint32_t rank, void* address,
                            const std::uint64_t* dims, const std::uint64_t* strides,
                            const int* lower, const int* upper, std::uint32_t channels,
                            std::uint32_t pixels, const std::uint32_t* element_strides, int,
                            int swizzle, int l2_promotion, int) {
  return encode(map,
                {.im2col = true,
                 .dtype = dtype,
                 .address = address,
                 .dims = list(dims, rank),
                 .strides = list(strides, rank - 1),
                 .box = {channels, pixels},
                 .element_strides = list(element_strides, rank),
                 .lower = list(lower, rank - 2),
                 .upper = list(upper, rank - 2),
                 .swizzle = swizzle,
                 .l2_promotion = l2_promotion},
                "cuTensorMapEncodeIm2col");
}
}
