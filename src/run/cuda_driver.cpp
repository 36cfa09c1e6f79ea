#include "run/cuda_driver.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>

#include "base/diagnostic.h"
#include "tilecopy/error.h"

namespace tilecopy::run {
namespace {

constexpr const char* driver_library = "libcuda.so.1";
// Tensor maps came with CUDA 12.0.
constexpr int least_version = 12000;

std::atomic<const CudaDriver*> replacement{nullptr};

[[noreturn]] void raise_no_driver(std::string found) {
  raise(ErrorCode::E0606, {},
        {.needed = fmt::format("{} and a GPU", driver_library), .found = std::move(found)});
}

std::string version_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

// CUDA driver API, CUresult and CUdevice_attribute.
constexpr int out_of_memory = 2;
constexpr int compute_capability_major = 75;
constexpr int compute_capability_minor = 76;

// Errors of a kernel or a copy that has run, of which any later call tells: memory errors of the
// GPU and NVLink; illegal address, timeout, texturing mode, destroyed context, assertion, stack,
// illegal instruction, misaligned address, address space, program counter, launch failure, and
// tensor memory left allocated.
bool is_earlier_failure(int result) {
  return result == 214 || result == 220 || result == 700 || result == 702 || result == 703 ||
         result == 709 || result == 710 || (result >= 714 && result <= 719) || result == 721;
}

}  // namespace

CudaDriver::CudaDriver(const std::string& library) {
  std::string reason;
  auto opened = os::SharedLibrary::try_open(library, &reason);
  if (!opened) raise_no_driver(reason);
  library_ = std::make_shared<os::SharedLibrary>(std::move(*opened));
  auto load = [&](auto& function, const char* name) {
    void* symbol = library_->try_symbol(name);
    if (!symbol) {
      raise(ErrorCode::E0607, {},
            {.needed = version_text(least_version),
             .found = fmt::format("a driver without {}", name)});
    }
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
  int (*cuInit)(unsigned) = nullptr;
  int (*cuDriverGetVersion)(int*) = nullptr;
  int (*cuDeviceGetCount)(int*) = nullptr;
  load(cuInit, "cuInit");
  load(cuDriverGetVersion, "cuDriverGetVersion");
  load(cuDeviceGetCount, "cuDeviceGetCount");
  load(cuGetErrorName, "cuGetErrorName");
  load(cuGetErrorString, "cuGetErrorString");
  if (int result = cuInit(0); result != 0) raise_no_driver("cuInit: " + error_text(result));
  cuDriverGetVersion(&version);
  if (version < least_version) {
    raise(ErrorCode::E0607, {},
          {.needed = version_text(least_version), .found = version_text(version)});
  }
  cuDeviceGetCount(&devices);
  if (devices == 0) raise_no_driver("a driver without a GPU");
  load(cuDeviceGet, "cuDeviceGet");
  load(cuDeviceGetName, "cuDeviceGetName");
  load(cuDeviceGetAttribute, "cuDeviceGetAttribute");
  load(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  load(cuCtxGetCurrent, "cuCtxGetCurrent");
  load(cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  load(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  load(cuCtxGetDevice, "cuCtxGetDevice");
  load(cuCtxGetId, "cuCtxGetId");
  load(cuModuleLoadData, "cuModuleLoadData");
  load(cuModuleGetFunction, "cuModuleGetFunction");
  load(cuFuncSetAttribute, "cuFuncSetAttribute");
  load(cuLaunchKernel, "cuLaunchKernel");
  load(cuMemAlloc, "cuMemAlloc_v2");
  load(cuMemFree, "cuMemFree_v2");
  load(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  load(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  load(cuStreamSynchronize, "cuStreamSynchronize");
  load(cuPointerGetAttribute, "cuPointerGetAttribute");
  load(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  load(cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col");
}

const CudaDriver& CudaDriver::get() {
  if (const CudaDriver* other = replacement.load()) return *other;
  struct Opened {
    std::unique_ptr<CudaDriver> driver;
    std::exception_ptr error;
  };
  static const Opened opened = [] {
    Opened result;
    try {
      result.driver = std::make_unique<CudaDriver>(driver_library);
    } catch (const Error&) {
      result.error = std::current_exception();
    }
    return result;
  }();
  if (opened.error) std::rethrow_exception(opened.error);
  return *opened.driver;
}

void CudaDriver::replace_for_testing(const CudaDriver* driver) { replacement.store(driver); }

std::string CudaDriver::error_text(int result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return fmt::format("{} ({}): {}", name ? name : "unknown", result, text ? text : "no text");
}

void CudaDriver::check(int result, const char* call) const {
  if (is_earlier_failure(result)) {
    raise(ErrorCode::E0808, {},
          {.needed = fmt::format("a GPU without a pending error at {}", call),
           .found = error_text(result)});
  }
  check_finished(result, call);
}

void CudaDriver::check_finished(int result, const char* call) const {
  if (result == 0) return;
  Details facts{.needed = fmt::format("{} to succeed", call), .found = error_text(result)};
  if (result == out_of_memory) raise(ErrorCode::E0712, {}, std::move(facts));
  if (is_earlier_failure(result)) {
    facts.help = "this kernel or an operation before it failed: run it under compute-sanitizer";
  }
  raise(ErrorCode::E0806, {}, std::move(facts));
}

bool cuda_available(std::string* why) {
  try {
    CudaDriver::get();
    return true;
  } catch (const Error& error) {
    *why = error.what();
    why->resize(std::min(why->find('\n'), why->size()));
    return false;
  }
}

namespace {

struct Capability {
  int major = 0, minor = 0;
};

Capability capability(const CudaDriver& driver, int device) {
  Capability result;
  driver.check(driver.cuDeviceGetAttribute(&result.major, compute_capability_major, device),
               "cuDeviceGetAttribute");
  driver.check(driver.cuDeviceGetAttribute(&result.minor, compute_capability_minor, device),
               "cuDeviceGetAttribute");
  return result;
}

}  // namespace

bool cuda_runs(std::string_view arch) {
  const CudaDriver& driver = CudaDriver::get();
  for (int ordinal = 0; ordinal < driver.devices; ++ordinal) {
    int device = 0;
    driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    auto [major, minor] = capability(driver, device);
    // Machine code runs on later minors of its major, that of an "a" architecture on its own alone.
    if (arch == fmt::format("sm_{}{}a", major, minor)) return true;
    if (arch == fmt::format("sm_{}0", major)) return true;
  }
  return false;
}

std::string cuda_description() {
  const CudaDriver& driver = CudaDriver::get();
  std::string text;
  for (int ordinal = 0; ordinal < driver.devices; ++ordinal) {
    int device = 0;
    char name[256] = {};
    driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    driver.check(driver.cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName");
    auto [major, minor] = capability(driver, device);
    text += fmt::format("{} (sm_{}{}), ", name, major, minor);
  }
  return text + "driver of " + version_text(driver.version);
}

}  // namespace tilecopy::run
