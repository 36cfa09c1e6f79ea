// Casts on a GPU against base/numeric.h, bit by bit: most are the hardware's there. Without a GPU
// these tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/numeric_value.h"
#include "run/cuda_driver.h"
#include "run/nvrtc.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

std::vector<DType> dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < dtype_count; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

// All values of 8 and 16 bits; of wider types, every sign and exponent with each place at which a
// result may round, just before, on and after it, and random ones.
std::vector<std::uint64_t> inputs(DType dtype) {
  const int width = bits(dtype);
  std::vector<std::uint64_t> values;
  if (dtype == bool_) return {0, 1};
  if (width <= 16) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << width; ++i) values.push_back(i);
    return values;
  }
  const int high = width == 32 ? 11 : 13;
  for (std::uint64_t top = 0; top < std::uint64_t{1} << high; ++top) {
    for (int place = 0; place < width - high; ++place) {
      const std::uint64_t middle = (top << (width - high)) + (std::uint64_t{1} << place);
      for (std::uint64_t value : {middle - 1, middle, middle + 1}) values.push_back(value);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) values.push_back(random() >> (i % 2 ? random() % 64 : 0));
  for (std::uint64_t& value : values) value &= ~std::uint64_t{0} >> (64 - width);
  return values;
}

// One function: from one dtype to all.
Function casts_from(DType from) {
  std::string params = fmt::format("A: {}[n]", to_string(from)), body;
  for (DType to : dtypes()) {
    params += fmt::format(", B_{0}: {0}[n]", to_string(to));
    body += fmt::format("copy A[b * 1024 : +1024] -> B_{}[b * 1024 : +1024]\n", to_string(to));
  }
  return parse(
      fmt::format("function from_{}({}) {{ kernel (b: ceildiv(n, 1024)) threads 128 {{\n{}}} }}",
                  to_string(from), params, body),
      "casts.tile");
}

// The target for the first GPU; empty for one of an architecture that tilecopy does not know.
std::string target_of_this_machine() {
  const run::CudaDriver& driver = run::CudaDriver::get();
  int major = 0;
  driver.check(driver.cuDeviceGetAttribute(&major, 75, 0), "cuDeviceGetAttribute");
  switch (major) {
    case 8: return "cuda -arch=sm_80";
    case 9: return "cuda -arch=sm_90a";
    case 10: return "cuda -arch=sm_100a";
    default: return "";
  }
}

TEST(CastsOnGpu, AgreeWithTheCpuBitForBit) {
  std::string why;
  if (!run::cuda_available(&why)) GTEST_SKIP() << why;
  if (!run::nvrtc_available()) GTEST_SKIP() << "NVRTC is not installed: set CUDA_HOME";
  const std::string target = target_of_this_machine();
  if (target.empty()) GTEST_SKIP() << "this GPU's architecture is none of tilecopy's";
  for (DType from : dtypes()) {
    const std::vector<std::uint64_t> values = inputs(from);
    const auto n = static_cast<std::int64_t>(values.size());
    const auto size = static_cast<std::size_t>(bytes(from));
    std::vector<char> a(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&a[i * size], &values[i], size);
    std::vector<std::vector<char>> results;
    std::vector<Argument> arguments = {TensorView(a.data(), from, {n})};
    for (DType to : dtypes()) {
      results.emplace_back(values.size() * static_cast<std::size_t>(bytes(to)));
    }
    for (DType to : dtypes()) {
      arguments.emplace_back(TensorView(results[static_cast<std::size_t>(to)].data(), to, {n}));
    }
    compile(casts_from(from), target, {.use_cache = false}).run(arguments);
    for (DType to : dtypes()) {
      const auto to_size = static_cast<std::size_t>(bytes(to));
      int wrong = 0;
      for (std::size_t i = 0; i < values.size() && wrong < 3; ++i) {
        std::uint64_t got = 0;
        std::memcpy(&got, &results[static_cast<std::size_t>(to)][i * to_size], to_size);
        const std::uint64_t want = numeric::cast({from, values[i]}, to).bits;
        if (got == want) continue;
        ++wrong;
        ADD_FAILURE() << fmt::format("0x{:x} from {} to {}: got 0x{:x}, want 0x{:x}", values[i],
                                     to_string(from), to_string(to), got, want);
      }
    }
  }
}

}  // namespace
}  // namespace tilecopy
