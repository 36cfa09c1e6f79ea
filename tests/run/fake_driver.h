// Runs CUDA launches on the stand-in for the driver, which writes down what it is asked.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/os.h"
#include "fake_cuda/fake_cuda.h"
#include "run/cuda_driver.h"

namespace tilecopy::run {

/// As long as it lives, CudaDriver::get() is the stand-in, with a clean record.
class FakeDriver {
 public:
  FakeDriver() {
    record() = {};
    driver_ = std::make_unique<CudaDriver>(TILECOPY_FAKE_CUDA);
    record().calls.clear();
    CudaDriver::replace_for_testing(driver_.get());
  }
  ~FakeDriver() {
    CudaDriver::replace_for_testing(nullptr);
    record() = {};
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const CudaDriver& driver() const { return *driver_; }

  static fake_cuda::Record& record() {
    using Get = fake_cuda::Record*();
    return *reinterpret_cast<Get*>(library().symbol("fake_cuda_record"))();
  }
  /// The primary context of a device.
  static void* primary(int device) {
    using Get = fake_cuda::Devices*();
    return &reinterpret_cast<Get*>(library().symbol("fake_cuda_devices"))()->primary[device];
  }

 private:
  // Stays open, so that the record lives as long as the tests.
  static const os::SharedLibrary& library() {
    static const os::SharedLibrary library(TILECOPY_FAKE_CUDA);
    return library;
  }

  std::unique_ptr<CudaDriver> driver_;
};

}  // namespace tilecopy::run
