#include "property/device_arrays.h"

namespace tilecopy::property {
namespace {

// Tests use the primary context of the first GPU.
void make_context_current(const run::CudaDriver& driver) {
  void* context = nullptr;
  driver.check(driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context) return;
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  driver.check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
}

}  // namespace

DeviceArrays::DeviceArrays(const std::vector<Array>& arrays)
    : driver_(run::CudaDriver::get()), shapes_(arrays) {
  make_context_current(driver_);
  for (const Array& array : arrays) {
    run::DevicePointer& memory = memory_.emplace_back();
    driver_.check(driver_.cuMemAlloc(&memory, array.bytes().size()), "cuMemAlloc");
    driver_.check(
        driver_.cuMemcpyHtoDAsync(memory, array.bytes().data(), array.bytes().size(), nullptr),
        "cuMemcpyHtoD");
  }
}

DeviceArrays::~DeviceArrays() {
  for (run::DevicePointer memory : memory_) driver_.cuMemFree(memory);
}

std::vector<Argument> DeviceArrays::arguments(const std::vector<bool>& written) const {
  std::vector<Argument> arguments;
  for (std::size_t t = 0; t < memory_.size(); ++t) {
    const Array& array = shapes_[t];
    auto first = memory_[t] + static_cast<run::DevicePointer>(array.first_place());
    arguments.emplace_back(TensorView(reinterpret_cast<void*>(first), array.dtype(), array.shape(),
                                      array.strides(), written[t], Device{kDLCUDA, 0}));
  }
  return arguments;
}

void DeviceArrays::read(std::vector<Array>& arrays) const {
  for (std::size_t t = 0; t < memory_.size(); ++t) {
    std::vector<std::uint8_t> bytes(arrays[t].bytes().size());
    driver_.check(driver_.cuMemcpyDtoHAsync(bytes.data(), memory_[t], bytes.size(), nullptr),
                  "cuMemcpyDtoH");
    driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    arrays[t].set_bytes(std::move(bytes));
  }
}

}  // namespace tilecopy::property
