#include "run/cuda_memory.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/diagnostic.h"

namespace tilecopy::run {
namespace {

// CUDA driver API, CUpointer_attribute.
constexpr int device_ordinal_attribute = 9;
// Copies of host arrays keep their address modulo this, so that guards see the same alignment.
constexpr std::uintptr_t kept_alignment = 256;

// Retained once for the process: a primary context lives as long as someone holds it.
void* primary_context(const CudaDriver& driver, int device) {
  static std::mutex mutex;
  static std::map<std::pair<const CudaDriver*, int>, void*> contexts;
  std::lock_guard lock(mutex);
  void*& context = contexts[{&driver, device}];
  if (!context) {
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  }
  return context;
}

// The device that holds the tensors; empty when none is in device memory.
std::optional<int> device_of(const CudaDriver& driver, const BoundArguments& bound,
                             const LaunchPlan& plan) {
  std::optional<int> device;
  std::string owner;
  for (std::size_t t = 0; t < bound.views.size(); ++t) {
    const TensorView& view = *bound.views[t];
    if (view.device.type != kDLCUDA || !view.data) continue;
    int ordinal = view.device.id;
    auto address = reinterpret_cast<DevicePointer>(view.data);
    // Fails for memory that the driver does not know; then what the view says has to do.
    driver.cuPointerGetAttribute(&ordinal, device_ordinal_attribute, address);
    if (device && *device != ordinal) {
      raise(ErrorCode::E0709, {},
            {.needed = fmt::format("all tensors on one device, as {} on cuda:{}", owner, *device),
             .found = fmt::format("{} on cuda:{}", plan.tensors[t].name, ordinal)});
    }
    device = ordinal;
    owner = plan.tensors[t].name;
  }
  return device;
}

}  // namespace

ContextScope::ContextScope(const CudaDriver& driver, const BoundArguments& bound,
                           const LaunchPlan& plan)
    : driver_(driver) {
  std::optional<int> wanted = device_of(driver, bound, plan);
  void* current = nullptr;
  driver.check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current) {
    int device = 0;
    driver.check(driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
    if (!wanted || *wanted == device) return;
  }
  driver.check(driver.cuCtxPushCurrent(primary_context(driver, wanted.value_or(0))),
               "cuCtxPushCurrent");
  pushed_ = true;
}

ContextScope::~ContextScope() {
  void* context = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&context);
}

DeviceArguments::DeviceArguments(const CudaDriver& driver, const BoundArguments& bound,
                                 const LaunchPlan& plan, void* stream)
    : driver_(driver), stream_(stream) {
  staged_.reserve(bound.views.size());
  try {
    for (std::size_t t = 0; t < bound.views.size(); ++t) {
      const TensorView& view = *bound.views[t];
      bool host = view.device.type == kDLCPU;
      if (host && view.size() > 0) {
        stage(view, plan.tensors[t].written);
      } else {
        pointers_.push_back(reinterpret_cast<DevicePointer>(view.data));
      }
    }
  } catch (...) {
    for (const Staged& s : staged_) driver_.cuMemFree(s.memory);
    throw;
  }
}

void DeviceArguments::stage(const TensorView& view, bool written) {
  std::int64_t low = 0, high = 0;
  const std::vector<std::int64_t> strides = view.full_strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    std::int64_t reach = strides[d] * (view.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t element = bytes(view.dtype);
  Staged s;
  s.host = static_cast<char*>(view.data) + low * element;
  s.bytes = static_cast<std::size_t>((high - low + 1) * element);
  s.written = written;
  std::uintptr_t shift = reinterpret_cast<std::uintptr_t>(s.host) % kept_alignment;
  driver_.check(driver_.cuMemAlloc(&s.memory, s.bytes + shift), "cuMemAlloc");
  s.first = s.memory + shift;
  staged_.push_back(s);
  driver_.check(driver_.cuMemcpyHtoDAsync(s.first, s.host, s.bytes, stream_), "cuMemcpyHtoD");
  pointers_.push_back(s.first - static_cast<DevicePointer>(low * element));
}

void DeviceArguments::copy_back() {
  if (staged_.empty()) return;
  for (const Staged& s : staged_) {
    if (!s.written) continue;
    driver_.check(driver_.cuMemcpyDtoHAsync(s.host, s.first, s.bytes, stream_), "cuMemcpyDtoH");
  }
  driver_.check(driver_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

DeviceArguments::~DeviceArguments() {
  if (staged_.empty()) return;
  driver_.cuStreamSynchronize(stream_);
  for (const Staged& s : staged_) driver_.cuMemFree(s.memory);
}

}  // namespace tilecopy::run
