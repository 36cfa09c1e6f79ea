// What the stand-in for the CUDA driver is told by a test, and what it was asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilecopy::fake_cuda {

struct Launch {
  std::string entry;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  void* stream = nullptr;
  void* context = nullptr;
  std::vector<std::string> parameters;  ///< the bytes of each

  template <typename T>
  T parameter(std::size_t index) const {
    T value{};
    parameters.at(index).copy(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
};

/// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col.
struct Encoding {
  bool im2col = false;
  int dtype = 0;
  const void* address = nullptr;
  std::vector<std::uint64_t> dims, strides;
  std::vector<std::uint32_t> box, element_strides;
  std::vector<int> lower, upper;
  int swizzle = 0, l2_promotion = 0;
};

struct Record {
  // What a test sets.
  std::map<std::string, int> results;        ///< of the functions that fail
  std::map<const void*, int> devices_of;     ///< of memory that the driver knows
  std::map<void*, std::uint64_t> ids;        ///< of contexts, where not 1 + the device
  std::vector<std::size_t> parameter_sizes;  ///< of every launch
  std::function<void(const Launch&)> kernel;
  std::vector<void*> contexts;  ///< the current one last

  // What happened.
  std::vector<std::string> calls;
  std::vector<Launch> launches;
  std::vector<Encoding> encodings;
};

/// The primary context of a device is the address of its entry here.
struct Devices {
  int primary[2];
};

}  // namespace tilecopy::fake_cuda

extern "C" {
tilecopy::fake_cuda::Record* fake_cuda_record();
tilecopy::fake_cuda::Devices* fake_cuda_devices();
}
