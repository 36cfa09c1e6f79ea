// Launches on the stand-in for the driver: what is called, with what, and what is refused.
#include "run/cuda_kernel.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/diagnostic.h"
#include "run/fake_driver.h"
#include "run/testing.h"

namespace tilecopy::run {
namespace {

using testing_tools::code_of;
using Op = SizeProgram::Op;

SizeProgram constant(std::int64_t value) { return {{{Op::constant, value}}}; }
SizeProgram symbol(std::int64_t index) { return {{{Op::symbol, index}}}; }
SizeProgram times(const SizeProgram& a, std::int64_t factor) {
  SizeProgram result = a;
  result.steps.push_back({Op::constant, factor});
  result.steps.push_back({Op::mul});
  return result;
}

// scale(A: float16[n, 64], B: float16[n, 64] written, step: int8, factor: float32), with a variant
// that asks for an aligned A and an even n and has a tensor map of A, and one for all.
LaunchPlan scale_plan() {
  LaunchPlan plan;
  plan.kernel = "scale";
  plan.order = {0, ~0, 1, ~1};
  for (const char* name : {"A", "B"}) {
    plan.tensors.push_back(
        {name, float16, {symbol(0), constant(64)}, {}, "float16[n, 64]", *name == 'B'});
  }
  plan.scalars = {{"step", int8}, {"factor", float32}};
  plan.symbols = {"n"};
  plan.grid = {symbol(0), constant(3)};
  plan.threads = 128;
  Variant fast;
  fast.entry = "scale";
  fast.shared_bytes = 64 << 10;
  fast.guards.push_back({.text = "A is aligned", .pointer = 0, .value = {}, .multiple_of = 16});
  fast.guards.push_back({.text = "n % 2 == 0",
                         .pointer = {},
                         .value = symbol(0),
                         .multiple_of = 2,
                         .least = 0,
                         .most = 1000});
  TensorMapRecipe map;
  map.name = "A_map";
  map.dims = {constant(64), symbol(0)};
  map.strides = {constant(128)};
  map.box = {64, 8};
  map.element_strides = {1, 1};
  map.swizzle_bytes = 128;
  fast.tensor_maps = {map};
  Variant any;
  any.entry = "scale_any";
  plan.variants = {fast, any};
  return plan;
}

class CudaLaunch : public testing::Test {
 protected:
  CudaLaunch() {
    record.parameter_sizes = {8, 8, 8, 1, 4};
    for (auto* memory : {a, b}) {
      for (int at = 0; at < 64; ++at) record.devices_of[memory + at] = 0;
    }
  }

  static TensorView view(void* data, std::int64_t n, Device device = {kDLCUDA, 0}) {
    return TensorView(data, float16, {n, 64}, {}, true, device);
  }

  void launch(const TensorView& from, const TensorView& to) {
    kernel.launch({from, -3, to, 0.5}, &stream);
  }
  void launch(std::int64_t n) { launch(view(a, n), view(b, n)); }

  std::string launched() const {
    std::string entries;
    for (const auto& launch : record.launches) entries += launch.entry + " ";
    return entries;
  }
  std::int64_t calls(const std::string& name) const {
    return std::count(record.calls.begin(), record.calls.end(), name);
  }

  FakeDriver fake;
  fake_cuda::Record& record = FakeDriver::record();
  int stream = 0;
  CudaKernel kernel{std::make_shared<const CudaModule>("code"), scale_plan()};
  alignas(256) inline static unsigned char a[1 << 18], b[1 << 18];
};

TEST_F(CudaLaunch, PassesTensorsSymbolsScalarsAndMaps) {
  record.parameter_sizes = {8, 8, 8, 1, 4, 128};
  launch(4);
  ASSERT_EQ(record.launches.size(), 1u);
  const fake_cuda::Launch& launch = record.launches[0];
  EXPECT_EQ(launch.entry, "scale");
  EXPECT_EQ(launch.blocks, 12u);
  EXPECT_EQ(launch.threads, 128u);
  EXPECT_EQ(launch.shared_bytes, 64u << 10);
  EXPECT_EQ(launch.stream, &stream);
  EXPECT_EQ(launch.parameter<void*>(0), a);
  EXPECT_EQ(launch.parameter<void*>(1), b);
  EXPECT_EQ(launch.parameter<std::int64_t>(2), 4);
  EXPECT_EQ(launch.parameter<std::int8_t>(3), -3);
  EXPECT_EQ(launch.parameter<float>(4), 0.5f);
  EXPECT_EQ(launch.parameter<std::uint64_t>(5), 1u);  // the first encoded map
  EXPECT_EQ(calls("cuFuncSetAttribute"), 1);
}

TEST_F(CudaLaunch, TakesTheFirstVariantWhoseGuardsHold) {
  launch(4);
  launch(5);                                // not even
  launch(1002);                             // too many
  launch(view(a + 16, 4), view(b + 2, 4));  // B needs no alignment
  launch(view(a + 8, 4), view(b, 4));
  EXPECT_EQ(launched(), "scale scale_any scale_any scale scale_any ");
  EXPECT_EQ(record.launches[1].shared_bytes, 0u);
}

TEST_F(CudaLaunch, BuildsTheOtherVariantsWhenOneIsNeeded) {
  int builds = 0;
  bool fails = true;
  auto build = [&]() -> std::shared_ptr<const CudaModule> {
    ++builds;
    if (fails) raise(ErrorCode::E0608, {}, {.found = "none"});
    return std::make_shared<const CudaModule>("other code");
  };
  kernel = CudaKernel(std::make_shared<const CudaModule>("code"), scale_plan(),
                      std::make_shared<const LateModule>(build));
  launch(4);
  EXPECT_EQ(builds, 0);
  EXPECT_EQ(code_of([&] { launch(5); }), "E0608");
  fails = false;
  launch(5);
  launch(7);
  EXPECT_EQ(builds, 2);
  EXPECT_EQ(launched(), "scale scale_any scale_any ");
  EXPECT_EQ(calls("cuModuleLoadData"), 2);
}

// In the caller's own context a launch is remembered by all of its arguments.
class CudaRelaunch : public CudaLaunch {
 protected:
  CudaRelaunch() { record.contexts.push_back(FakeDriver::primary(0)); }

  // Whether the launch ran without binding its arguments and looking for the function anew.
  bool repeated(const std::function<void()>& run) {
    record.calls.clear();
    const std::size_t before = record.launches.size();
    run();
    EXPECT_EQ(record.launches.size(), before + 1);
    return calls("cuCtxGetDevice") == 0;
  }
};

TEST_F(CudaRelaunch, OfEqualArgumentsPassesTheSame) {
  EXPECT_FALSE(repeated([&] { launch(4); }));
  EXPECT_TRUE(repeated([&] { launch(4); }));
  EXPECT_TRUE(repeated([&] { launch(4); }));
  for (const fake_cuda::Launch& launch : record.launches) {
    EXPECT_EQ(launch.entry, "scale");
    EXPECT_EQ(launch.blocks, 12u);
    EXPECT_EQ(launch.shared_bytes, 64u << 10);
    EXPECT_EQ(launch.parameters, record.launches[0].parameters);
  }
}

TEST_F(CudaRelaunch, OfOtherArgumentsIsBoundAnew) {
  launch(4);
  EXPECT_FALSE(repeated([&] { launch(6); }));
  EXPECT_EQ(record.launches.back().blocks, 18u);
  EXPECT_FALSE(repeated([&] { launch(view(a + 16, 4), view(b, 4)); }));
  EXPECT_EQ(record.launches.back().parameter<void*>(0), a + 16);
  EXPECT_FALSE(repeated([&] { kernel.launch({view(a, 4), -3, view(b, 4), 0.25}, &stream); }));
  EXPECT_EQ(record.launches.back().parameter<float>(4), 0.25f);
  EXPECT_FALSE(repeated([&] { kernel.launch({view(a, 4), -2, view(b, 4), 0.5}, &stream); }));
  EXPECT_EQ(record.launches.back().parameter<std::int8_t>(3), -2);
  EXPECT_TRUE(repeated([&] { launch(4); }));
  TensorView constant_b = view(b, 4);
  constant_b.writable = false;
  EXPECT_EQ(code_of([&] { launch(view(a, 4), constant_b); }), "E0713");
  TensorView other_dtype = view(a, 4);
  other_dtype.dtype = bfloat16;
  EXPECT_EQ(code_of([&] { launch(other_dtype, view(b, 4)); }), "E0702");
}

TEST_F(CudaRelaunch, InAnotherContextLooksForTheFunctionThere) {
  launch(4);
  int other = 0;
  record.contexts.back() = &other;
  record.ids[&other] = 77;
  EXPECT_FALSE(repeated([&] { launch(4); }));
  EXPECT_EQ(calls("cuModuleLoadData"), 1);
}

TEST_F(CudaRelaunch, OfMemoryThatIsOnAnotherDeviceByNowGoesThere) {
  launch(4);
  for (auto* memory : {a, b}) {
    for (int at = 0; at < 64; ++at) record.devices_of[memory + at] = 1;
  }
  launch(4);
  EXPECT_EQ(record.launches.back().context, FakeDriver::primary(1));
}

TEST_F(CudaRelaunch, ForgetsTheOldestOfMany) {
  for (std::int64_t n = 1; n <= 20; ++n) launch(n);
  EXPECT_TRUE(repeated([&] { launch(20); }));
  EXPECT_FALSE(repeated([&] { launch(1); }));
}

TEST_F(CudaLaunch, EncodesOncePerTensor) {
  launch(4);
  launch(4);
  EXPECT_EQ(record.encodings.size(), 1u);
  launch(view(a + 32, 4), view(b, 4));
  EXPECT_EQ(record.encodings.size(), 2u);
  EXPECT_EQ(record.encodings[1].address, a + 32);
  launch(6);
  EXPECT_EQ(record.encodings.size(), 3u);
  EXPECT_EQ(record.encodings[2].dims, (std::vector<std::uint64_t>{64, 6}));
  launch(view(a, 4), view(b + 16, 4));  // B has no map, and A's is known
  EXPECT_EQ(record.encodings.size(), 3u);
}

TEST_F(CudaLaunch, WarmLaunchNeitherWaitsNorAllocates) {
  launch(4);
  record.calls.clear();
  launch(4);
  for (const std::string& call : record.calls) {
    EXPECT_TRUE(call.starts_with("cuPointerGet") || call.starts_with("cuCtx") ||
                call == "cuLaunchKernel")
        << call;
  }
  EXPECT_EQ(calls("cuLaunchKernel"), 1);
}

TEST_F(CudaLaunch, NoBlocksCallNothing) {
  launch(0);
  EXPECT_TRUE(record.calls.empty());
}

TEST_F(CudaLaunch, TensorWithoutElementsHasNoMap) {
  LaunchPlan plan = scale_plan();
  plan.grid = {constant(2)};
  kernel = CudaKernel(std::make_shared<const CudaModule>("code"), plan);
  launch(0);
  EXPECT_EQ(launched(), "scale_any ");
  EXPECT_TRUE(record.encodings.empty());
}

TEST_F(CudaLaunch, RefusesTooManyBlocks) {
  const std::int64_t most = INT32_MAX;
  for (std::int64_t factor : {most, most + 1, INT64_MAX}) {
    LaunchPlan plan = scale_plan();
    plan.grid = {times(symbol(0), factor)};
    kernel = CudaKernel(std::make_shared<const CudaModule>("code"), plan);
    EXPECT_EQ(code_of([&] { launch(1); }), factor == INT32_MAX ? "none" : "E0716") << factor;
    EXPECT_EQ(code_of([&] { launch(2); }), "E0716") << factor;  // INT64_MAX * 2 overflows
  }
  EXPECT_EQ(launched(), "scale_any ");
}

TEST_F(CudaLaunch, UsesTheCurrentContextOfTheTensorsDevice) {
  int foreign = 0;  // the stand-in takes it for one of device 0
  record.contexts = {&foreign};
  launch(4);
  EXPECT_EQ(record.launches[0].context, &foreign);
  EXPECT_EQ(calls("cuCtxPushCurrent"), 0);
}

TEST_F(CudaLaunch, UsesThePrimaryContextWithoutACurrentOne) {
  launch(4);
  EXPECT_EQ(record.launches[0].context, FakeDriver::primary(0));
  EXPECT_TRUE(record.contexts.empty());
}

TEST_F(CudaLaunch, FollowsTheTensorsToAnotherDevice) {
  record.contexts = {FakeDriver::primary(0)};
  record.devices_of[a] = record.devices_of[b] = 1;
  launch(4);
  EXPECT_EQ(record.launches[0].context, FakeDriver::primary(1));
  EXPECT_EQ(record.contexts, std::vector<void*>{FakeDriver::primary(0)});
}

TEST_F(CudaLaunch, RefusesTensorsOnTwoDevices) {
  record.devices_of[b] = 1;
  try {
    launch(4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "E0709");
    EXPECT_EQ(error.report().needed, "all tensors on one device, as A on cuda:0");
    EXPECT_EQ(error.report().found, "B on cuda:1");
  }
  EXPECT_TRUE(record.launches.empty());
}

TEST_F(CudaLaunch, BelievesTheViewOfMemoryThatTheDriverDoesNotKnow) {
  record.devices_of.clear();
  Device second{kDLCUDA, 1};
  launch(view(a, 4, second), view(b, 4, second));
  EXPECT_EQ(record.launches[0].context, FakeDriver::primary(1));
}

TEST_F(CudaLaunch, TakesPinnedAndManagedMemoryAsItIs) {
  launch(view(a, 4, {kDLCUDAHost, 0}), view(b, 4, {kDLCUDAManaged, 0}));
  EXPECT_EQ(calls("cuMemAlloc"), 0);
  EXPECT_EQ(code_of([&] { launch(view(a, 4, {kDLROCM, 0}), view(b, 4)); }), "E0709");
}

TEST_F(CudaLaunch, LoadsOncePerContext) {
  launch(4);
  launch(5);
  EXPECT_EQ(calls("cuModuleLoadData"), 1);
  record.devices_of[a] = record.devices_of[b] = 1;
  launch(4);
  EXPECT_EQ(calls("cuModuleLoadData"), 2);
  record.ids[FakeDriver::primary(1)] = 99;  // destroyed, and another one made in its place
  launch(4);
  EXPECT_EQ(calls("cuModuleLoadData"), 3);
  EXPECT_EQ(calls("cuModuleGetFunction"), 4);
}

TEST_F(CudaLaunch, TellsItsOwnFailuresFromEarlierOnes) {
  auto with = [&](const char* call, int result) {
    record.results = {{call, result}};
    return code_of([&] { launch(view(a, 4, {}), view(b, 4, {})); });
  };
  EXPECT_EQ(with("cuLaunchKernel", 700), "E0808");
  EXPECT_EQ(with("cuLaunchKernel", 701), "E0806");
  EXPECT_EQ(with("cuMemAlloc", 2), "E0712");
  EXPECT_EQ(with("cuMemAlloc", 719), "E0808");
  EXPECT_EQ(with("cuStreamSynchronize", 700), "E0806");  // may well be this kernel
  EXPECT_EQ(with("cuTensorMapEncodeTiled", 1), "E0807");
  EXPECT_TRUE(record.contexts.empty());
}

TEST_F(CudaLaunch, LoadsAgainAfterAFailure) {
  record.results = {{"cuModuleGetFunction", 500}};
  EXPECT_EQ(code_of([&] { launch(4); }), "E0806");
  record.results.clear();
  launch(4);
  EXPECT_EQ(launched(), "scale ");
  EXPECT_EQ(calls("cuModuleLoadData"), 1);
}

// ---- Host arrays ----

// Stores a number in all elements of B.
void store(const fake_cuda::Launch& launch, std::int64_t stride, std::uint16_t value) {
  auto* to = launch.parameter<std::uint16_t*>(1);
  auto n = launch.parameter<std::int64_t>(2);
  for (std::int64_t i = 0; i < n * 64; ++i) to[i * stride] = value;
}

TEST_F(CudaLaunch, CopiesHostArraysThereAndBack) {
  std::vector<std::uint16_t> from(256, 7), to(256, 1);
  record.kernel = [&](const fake_cuda::Launch& launch) {
    EXPECT_EQ(launch.parameter<std::uint16_t*>(0)[255], 7);
    EXPECT_NE(launch.parameter<void*>(1), to.data());
    launch.parameter<std::uint16_t*>(0)[0] = 99;  // not brought back: A is not written
    store(launch, 1, 42);
  };
  launch(view(from.data(), 4, {}), view(to.data(), 4, {}));
  EXPECT_EQ(to, std::vector<std::uint16_t>(256, 42));
  EXPECT_EQ(from, std::vector<std::uint16_t>(256, 7));
  EXPECT_EQ(calls("cuMemAlloc"), 2);
  EXPECT_EQ(calls("cuMemFree"), 2);
  EXPECT_GE(calls("cuStreamSynchronize"), 1);
}

TEST_F(CudaLaunch, HostArraysKeepTheirAlignment) {
  alignas(256) std::uint16_t from[300] = {}, to[300] = {};
  launch(view(from + 8, 4, {}), view(to, 4, {}));
  launch(view(from + 4, 4, {}), view(to, 4, {}));
  EXPECT_EQ(launched(), "scale scale_any ");
}

// The plan of double(A: uint16[64] written, B: uint16[64] written) with strides as they come.
LaunchPlan strided_plan() {
  LaunchPlan plan;
  plan.kernel = "strided";
  plan.order = {0, 1};
  for (std::int64_t t : {0, 1}) {
    plan.tensors.push_back(
        {t ? "B" : "A", uint16, {constant(64)}, {symbol(t)}, "uint16[64]", true});
  }
  plan.symbols = {"s", "t"};
  plan.grid = {constant(1)};
  plan.threads = 32;
  plan.variants = {Variant{"strided", {}, {}, 0}};
  return plan;
}

TEST_F(CudaLaunch, InterleavedHostArraysKeepEachOthersElements) {
  record.parameter_sizes = {8, 8, 8, 8};
  CudaKernel strided(std::make_shared<const CudaModule>("code"), strided_plan());
  record.kernel = [](const fake_cuda::Launch& launch) {
    for (std::size_t t : {0u, 1u}) {
      auto* to = launch.parameter<std::uint16_t*>(t);
      auto stride = launch.parameter<std::int64_t>(2 + t);
      for (std::int64_t i = 0; i < 64; ++i) {
        to[i * stride] = static_cast<std::uint16_t>(100 * (t + 1) + static_cast<std::size_t>(i));
      }
    }
  };
  std::vector<std::uint16_t> array(3 * 64, 5);
  // Columns 0 and 1 of 3; the second goes backwards.
  strided.launch({TensorView(array.data(), uint16, {64}, {3}),
                  TensorView(array.data() + 3 * 63 + 1, uint16, {64}, {-3})},
                 nullptr);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(array[3 * i], 100 + i);
    EXPECT_EQ(array[3 * i + 1], 200 + 63 - i);
    EXPECT_EQ(array[3 * i + 2], 5);
  }
  EXPECT_EQ(calls("cuMemAlloc"), 1);
}

TEST(CudaDescription, NamesDevicesAndDriver) {
  FakeDriver fake;
  EXPECT_EQ(cuda_description(), "Fake GPU (sm_90), Fake GPU (sm_90), driver of CUDA 13.0");
}

TEST(CudaDescription, CodeForOneArchitectureRunsOnItsOwnGpus) {
  FakeDriver fake;
  EXPECT_TRUE(cuda_runs("sm_90a"));
  EXPECT_FALSE(cuda_runs("sm_80"));
  EXPECT_FALSE(cuda_runs("sm_100a"));
}

}  // namespace
}  // namespace tilecopy::run
