// What only a GPU can show: graph capture, streams, tensors above 2^31 elements, cache policies.
// Skipped without one. `scripts/gpu-test` runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/os.h"
#include "run/cuda_driver.h"
#include "run/nvrtc.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy {
namespace {

const char* const target = "cuda -arch=sm_90a";

// Functions of the driver that only tests need.
struct MoreDriver {
  os::SharedLibrary library{"libcuda.so.1"};

  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto function = reinterpret_cast<int (*)(Arguments...)>(library.symbol(name));
    run::CudaDriver::get().check(function(arguments...), name);
  }
};

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!run::cuda_available(&why)) GTEST_SKIP() << why;
    const run::CudaDriver& driver = run::CudaDriver::get();
    void* context = nullptr;
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    driver.check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
  }
};

class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    driver_.check(driver_.cuMemAlloc(&pointer_, bytes), "cuMemAlloc");
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { driver_.cuMemFree(pointer_); }

  void write(std::size_t at, const std::vector<std::uint8_t>& bytes) const {
    driver_.check(driver_.cuMemcpyHtoDAsync(pointer_ + at, bytes.data(), bytes.size(), nullptr),
                  "cuMemcpyHtoD");
    driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }
  std::vector<std::uint8_t> read(std::size_t at, std::size_t count) const {
    std::vector<std::uint8_t> bytes(count);
    driver_.check(driver_.cuMemcpyDtoHAsync(bytes.data(), pointer_ + at, count, nullptr),
                  "cuMemcpyDtoH");
    driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return bytes;
  }
  void clear() const { write(0, std::vector<std::uint8_t>(bytes_)); }
  TensorView view(DType dtype, std::vector<std::int64_t> shape, int device = 0) const {
    return {reinterpret_cast<void*>(pointer_),
            dtype,
            std::move(shape),
            {},
            true,
            Device{kDLCUDA, device}};
  }

 private:
  const run::CudaDriver& driver_ = run::CudaDriver::get();
  std::size_t bytes_;
  run::DevicePointer pointer_ = 0;
};

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(count);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

Function copy_through_shared(std::int64_t rows, std::int64_t columns, DType dtype,
                             const char* instruction) {
  return function("copy_through_shared", [&] {
    Buffer a = tensor("A", {rows, columns}, dtype);
    Buffer b = tensor("B", {rows, columns}, dtype);
    auto [bx, by] = kernel({ceildiv(columns, 128), ceildiv(rows, 64)}, {.threads = 128});
    Buffer tile = alloc_shared({64, 128}, dtype);
    cuda::CopyOptions options;
    if (instruction) options.prefer_instruction = instruction;
    cuda::copy(a(by * 64, bx * 128), tile, options);
    cuda::copy(tile, b(by * 64, bx * 128), options);
  });
}

TEST_F(Gpu, LaunchesAreCapturedInGraphs) {
  constexpr std::size_t bytes = 512 * 1024 * 2;
  Memory a(bytes), b(bytes);
  const std::vector<std::uint8_t> data = random_bytes(bytes, 1);
  a.write(0, data);
  CompiledKernel copy = compile(copy_through_shared(512, 1024, float16, "tma"), target);
  const std::vector<Argument> arguments = {a.view(float16, {512, 1024}),
                                           b.view(float16, {512, 1024})};
  copy.run(arguments);  // loads the module, which a capture could not
  MoreDriver more;
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  more.call("cuStreamCreate", &stream, 1u);
  more.call("cuStreamBeginCapture_v2", stream, 0);
  copy.run(arguments, {.stream = stream});
  more.call("cuStreamEndCapture", stream, &graph);
  more.call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  b.clear();
  for (int i = 0; i < 3; ++i) more.call("cuGraphLaunch", executable, stream);
  more.call("cuStreamSynchronize", stream);
  EXPECT_EQ(b.read(0, bytes), data);
}

TEST_F(Gpu, ARelaunchWithOtherPointersMovesTheirMemory) {
  constexpr std::size_t bytes = 64 * 128 * 2;
  CompiledKernel copy = compile(copy_through_shared(64, 128, float16, "tma"), target);
  Memory first(bytes), second(bytes), to(bytes);
  for (const Memory* from : {&first, &second, &first}) {
    const std::vector<std::uint8_t> data =
        random_bytes(bytes, reinterpret_cast<std::uintptr_t>(from));
    from->write(0, data);
    copy(from->view(float16, {64, 128}), to.view(float16, {64, 128}));
    EXPECT_EQ(to.read(0, bytes), data);
  }
}

// One kernel, loaded into each context that tensors live in.
void expect_copy(const CompiledKernel& copy, int device, std::uint64_t seed) {
  constexpr std::size_t bytes = 64 * 128 * 2;
  Memory from(bytes), to(bytes);
  const std::vector<std::uint8_t> data = random_bytes(bytes, seed);
  from.write(0, data);
  copy(from.view(float16, {64, 128}, device), to.view(float16, {64, 128}, device));
  EXPECT_EQ(to.read(0, bytes), data);
}

TEST_F(Gpu, TensorsOfAContextThatIsNotThePrimaryOne) {
  const CompiledKernel copy = compile(copy_through_shared(64, 128, float16, "tma"), target);
  expect_copy(copy, 0, 1);
  MoreDriver more;
  void *context = nullptr, *current = nullptr;
  more.call("cuCtxCreate_v2", &context, 0u, 0);
  expect_copy(copy, 0, 2);
  more.call("cuCtxGetCurrent", &current);
  EXPECT_EQ(current, context) << "a launch changed the current context";
  more.call("cuCtxDestroy_v2", context);
  expect_copy(copy, 0, 3);
}

TEST_F(Gpu, TensorsOfASecondGpu) {
  const run::CudaDriver& driver = run::CudaDriver::get();
  if (driver.devices < 2) GTEST_SKIP() << "one GPU";
  const CompiledKernel copy = compile(copy_through_shared(64, 128, float16, "tma"), target);
  expect_copy(copy, 0, 1);
  void* context = nullptr;
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, 1), "cuDevicePrimaryCtxRetain");
  driver.check(driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
  expect_copy(copy, 1, 2);
  driver.check(driver.cuCtxPopCurrent(&context), "cuCtxPopCurrent");
  expect_copy(copy, 0, 3);
}

class LargeTensors : public Gpu, public testing::WithParamInterface<const char*> {};

TEST_P(LargeTensors, AboveTwoToThe31Elements) {
  constexpr std::int64_t rows = 65600, columns = 32800;
  constexpr std::size_t bytes = std::size_t{rows} * columns;
  static_assert(bytes > std::size_t{1} << 31);
  constexpr std::size_t piece = std::size_t{64} << 20;
  Memory a(bytes), b(bytes);
  const std::vector<std::uint8_t> data = random_bytes(piece + 4099, 3);
  auto part = [&](std::size_t at) {
    std::size_t count = std::min(piece, bytes - at);
    auto begin = data.begin() + static_cast<std::ptrdiff_t>(at / piece * 127 % 4096);
    return std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  for (std::size_t at = 0; at < bytes; at += piece) a.write(at, part(at));
  CompiledKernel copy = compile(copy_through_shared(rows, columns, int8, GetParam()), target);
  copy(a.view(int8, {rows, columns}), b.view(int8, {rows, columns}));
  for (std::size_t at = 0; at < bytes; at += piece) {
    ASSERT_TRUE(b.read(at, std::min(piece, bytes - at)) == part(at)) << "at byte " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LargeTensors, testing::Values("tma", "cp_async", "sync"));

TEST_F(Gpu, CachePoliciesAreWhatTheHardwareMakes) {
  const char* const source = R"(
extern "C" __global__ void policies(unsigned long long* out) {
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(out[0]));
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(out[1]));
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(out[2]));
}
)";
  const run::CudaDriver& driver = run::CudaDriver::get();
  const std::string cubin = run::compile_cubin(source, "policies", "sm_90a");
  void *module = nullptr, *entry = nullptr;
  driver.check(driver.cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData");
  driver.check(driver.cuModuleGetFunction(&entry, module, "policies"), "cuModuleGetFunction");
  Memory out(24);
  auto pointer = reinterpret_cast<run::DevicePointer>(out.view(uint64, {3}).data);
  void* parameters[] = {&pointer};
  driver.check(driver.cuLaunchKernel(entry, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
               "launch");
  std::uint64_t policies[3];
  std::memcpy(policies, out.read(0, 24).data(), 24);
  EXPECT_EQ(policies[0], 0x12f0000000000000u);
  EXPECT_EQ(policies[1], 0x14f0000000000000u);
  EXPECT_EQ(policies[2], 0x16f0000000000000u);
}

TEST_F(Gpu, HostArraysAreCopiedInAndOut) {
  Tensor a({100, 72}, float32), b({100, 72}, float32);
  a.fill_random(5);
  CompiledKernel copy = compile(copy_through_shared(100, 72, float32, nullptr), target);
  copy(a, b);
  EXPECT_TRUE(std::equal(a.elements<float>().begin(), a.elements<float>().end(),
                         b.elements<float>().begin()));
}

}  // namespace
}  // namespace tilecopy
