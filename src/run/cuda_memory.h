// The context and the memory of a launch on a GPU.
#pragma once

#include <vector>

#include "run/arguments.h"
#include "run/cuda_driver.h"
#include "run/launch_plan.h"

namespace tilecopy::run {

/// Makes a context of the tensors' device current, for as long as it lives: the current one if that
/// is its device's, else the device's primary context. Raises E0709 for tensors on two devices.
class ContextScope {
 public:
  ContextScope(const CudaDriver& driver, const BoundArguments& bound, const LaunchPlan& plan);
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  const CudaDriver& driver_;
  bool pushed_ = false;
};

/// Device addresses of all tensors: those that live there, and copies of host arrays.
class DeviceArguments {
 public:
  DeviceArguments(const CudaDriver& driver, const BoundArguments& bound, const LaunchPlan& plan,
                  void* stream);
  DeviceArguments(const DeviceArguments&) = delete;
  DeviceArguments& operator=(const DeviceArguments&) = delete;
  ~DeviceArguments();

  std::vector<DevicePointer>& pointers() { return pointers_; }
  /// Copies what was written back to host arrays, and waits, if there are any.
  void copy_back();

 private:
  struct Staged {
    DevicePointer memory = 0;  ///< as allocated
    DevicePointer first = 0;   ///< where the spanned bytes begin
    char* host = nullptr;
    std::size_t bytes = 0;
    bool written = false;
  };
  void stage(const TensorView& view, bool written);

  const CudaDriver& driver_;
  void* stream_;
  std::vector<DevicePointer> pointers_;
  std::vector<Staged> staged_;
};

}  // namespace tilecopy::run
