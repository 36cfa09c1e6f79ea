// What GPU benchmarks need of the driver: memory, and the time of launches.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/os.h"
#include "run/cuda_driver.h"
#include "tilecopy/tensor.h"

namespace tilecopy::bench {

/// The first GPU, its primary context current, and a stream.
class Device {
 public:
  Device() {
    void* context = nullptr;
    driver_.check(driver_.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    driver_.check(driver_.cuCtxPushCurrent(context), "cuCtxPushCurrent");
    call("cuStreamCreate", &stream_, 1u);
    call("cuEventCreate", &begin_, 0u);
    call("cuEventCreate", &end_, 0u);
  }

  void* stream() const { return stream_; }

  /// A function of the driver by its name.
  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto function = reinterpret_cast<int (*)(Arguments...)>(library_.symbol(name));
    driver_.check(function(arguments...), name);
  }

  /// Milliseconds between two events around the work that `launch` puts into the stream.
  double milliseconds(const std::function<void()>& launch) const {
    call("cuEventRecord", begin_, stream_);
    launch();
    call("cuEventRecord", end_, stream_);
    call("cuEventSynchronize", end_);
    float result = 0;
    call("cuEventElapsedTime", &result, begin_, end_);
    return result;
  }

 private:
  os::SharedLibrary library_{"libcuda.so.1"};
  const run::CudaDriver& driver_ = run::CudaDriver::get();
  void *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
};

class DeviceMemory {
 public:
  DeviceMemory(const Device& device, std::size_t bytes) : device_(device) {
    device.call("cuMemAlloc_v2", &pointer_, bytes);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { device_.call("cuMemFree_v2", pointer_); }

  run::DevicePointer pointer() const { return pointer_; }
  TensorView view(DType dtype, std::vector<std::int64_t> shape,
                  std::vector<std::int64_t> strides = {}) const {
    return {reinterpret_cast<void*>(pointer_), dtype, std::move(shape), std::move(strides), true,
            tilecopy::Device{kDLCUDA, 0}};
  }

 private:
  const Device& device_;
  run::DevicePointer pointer_ = 0;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace tilecopy::bench
