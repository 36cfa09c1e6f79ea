// The context and the memory of a launch on a GPU.
#pragma once

#include <vector>

#include "run/arguments.h"
#include "run/cuda_driver.h"
#include "run/launch_plan.h"

namespace tilecopy::run {

/// The device that holds an array, as the driver knows it or, for memory that it does not know, as
/// the view says.
int device_of(const CudaDriver& driver, const TensorView& view);

/// Makes a context of the tensors' device current, for as long as it lives: the current one if that
/// is its device's, else the device's primary context. Raises E0709 for tensors on two devices.
class ContextScope {
 public:
  ContextScope(const CudaDriver& driver, const BoundArguments& bound, const LaunchPlan& plan);
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

  /// Whether it is another one than the caller's.
  bool pushed() const { return pushed_; }

 private:
  const CudaDriver& driver_;
  bool pushed_ = false;
};

/// Device addresses of all tensors: those that live there, and copies of host arrays. Arrays that
/// interleave, as the even and the odd columns of a matrix, share one copy of the memory around
/// them, so that none of them brings back what another one was before.
class DeviceArguments {
 public:
  DeviceArguments(const CudaDriver& driver, const BoundArguments& bound, const LaunchPlan& plan,
                  void* stream);
  DeviceArguments(const DeviceArguments&) = delete;
  DeviceArguments& operator=(const DeviceArguments&) = delete;
  ~DeviceArguments();

  std::vector<DevicePointer>& pointers() { return pointers_; }
  /// Whether there are host arrays.
  bool copies() const { return !copies_.empty(); }
  /// Copies what was written back to host arrays, and waits, if there are any. Raises E0806.
  void copy_back();

 private:
  struct Span {
    char* first = nullptr;
    std::size_t bytes = 0;
    bool written = false;
  };
  struct Copy {
    DevicePointer memory = 0;  ///< as allocated
    DevicePointer first = 0;   ///< where the bytes of the span begin
    Span host;
  };
  static Span span_of(const TensorView& view, bool written);
  void stage_all();
  void stage(const Span& span);
  DevicePointer address_of(const void* host) const;
  void free_all();

  const CudaDriver& driver_;
  void* stream_;
  std::vector<DevicePointer> pointers_;
  std::vector<Span> spans_;  ///< of the host arrays, by address
  std::vector<Copy> copies_;
};

}  // namespace tilecopy::run
