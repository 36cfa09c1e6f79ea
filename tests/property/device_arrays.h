// The arrays of a launch in the memory of a GPU, guard bytes and all.
#pragma once

#include <vector>

#include "property/model.h"
#include "run/cuda_driver.h"
#include "tilecopy/compile.h"

namespace tilecopy::property {

class DeviceArrays {
 public:
  explicit DeviceArrays(const std::vector<Array>& arrays);
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;
  ~DeviceArrays();

  std::vector<Argument> arguments(const std::vector<bool>& written) const;
  /// Waits, and copies all bytes back.
  void read(std::vector<Array>& arrays) const;

 private:
  const run::CudaDriver& driver_;
  const std::vector<Array>& shapes_;
  std::vector<run::DevicePointer> memory_;
};

}  // namespace tilecopy::property
