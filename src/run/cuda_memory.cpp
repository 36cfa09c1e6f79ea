#include "run/cuda_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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
    if (driver.devices == 1) return 0;  // asking the driver takes longer than all the rest
    const int ordinal = device_of(driver, view);
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

int device_of(const CudaDriver& driver, const TensorView& view) {
  int ordinal = view.device.id;
  // Fails for memory that the driver does not know.
  driver.cuPointerGetAttribute(&ordinal, device_ordinal_attribute,
                               reinterpret_cast<DevicePointer>(view.data));
  return ordinal;
}

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
  auto staged = [](const TensorView& view) {
    return view.device.type == kDLCPU && view.size() > 0;
  };
  for (std::size_t t = 0; t < bound.views.size(); ++t) {
    const TensorView& view = *bound.views[t];
    if (staged(view)) spans_.push_back(span_of(view, plan.tensors[t].written));
  }
  try {
    stage_all();
  } catch (...) {
    free_all();
    throw;
  }
  pointers_.reserve(bound.views.size());
  for (const TensorView* view : bound.views) {
    pointers_.push_back(staged(*view) ? address_of(view->data)
                                      : reinterpret_cast<DevicePointer>(view->data));
  }
}

DeviceArguments::Span DeviceArguments::span_of(const TensorView& view, bool written) {
  std::int64_t low = 0, high = 0;
  const std::vector<std::int64_t> strides = view.full_strides();
  for (std::size_t d = 0; d < strides.size(); ++d) {
    std::int64_t reach = strides[d] * (view.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t element = bytes(view.dtype);
  return {static_cast<char*>(view.data) + low * element,
          static_cast<std::size_t>((high - low + 1) * element), written};
}

// One copy for each run of spans that overlap.
void DeviceArguments::stage_all() {
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return std::less<>()(a.first, b.first); });
  for (std::size_t i = 0; i < spans_.size();) {
    Span all = spans_[i];
    for (++i; i < spans_.size() && spans_[i].first < all.first + all.bytes; ++i) {
      auto end = static_cast<std::size_t>(spans_[i].first - all.first) + spans_[i].bytes;
      all.bytes = std::max(all.bytes, end);
    }
    stage(all);
  }
}

void DeviceArguments::stage(const Span& span) {
  std::uintptr_t shift = reinterpret_cast<std::uintptr_t>(span.first) % kept_alignment;
  Copy copy{.host = span};
  driver_.check(driver_.cuMemAlloc(&copy.memory, span.bytes + shift), "cuMemAlloc");
  copy.first = copy.memory + shift;
  copies_.push_back(copy);
  driver_.check(driver_.cuMemcpyHtoDAsync(copy.first, span.first, span.bytes, stream_),
                "cuMemcpyHtoDAsync");
}

DevicePointer DeviceArguments::address_of(const void* host) const {
  const auto* address = static_cast<const char*>(host);
  for (const Copy& copy : copies_) {
    bool inside = address >= copy.host.first && address < copy.host.first + copy.host.bytes;
    if (inside) return copy.first + static_cast<DevicePointer>(address - copy.host.first);
  }
  raise_internal("a host array without a copy");
}

void DeviceArguments::copy_back() {
  if (copies_.empty()) return;
  for (const Span& span : spans_) {
    if (!span.written) continue;
    driver_.check_finished(
        driver_.cuMemcpyDtoHAsync(span.first, address_of(span.first), span.bytes, stream_),
        "cuMemcpyDtoHAsync");
  }
  driver_.check_finished(driver_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

// A failure has been reported by a call before.
void DeviceArguments::free_all() {
  if (!copies_.empty()) driver_.cuStreamSynchronize(stream_);
  for (const Copy& copy : copies_) driver_.cuMemFree(copy.memory);
}

DeviceArguments::~DeviceArguments() { free_all(); }

}  // namespace tilecopy::run
