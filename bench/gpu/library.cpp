// The kernels of the GPU benchmarks for bench/gpu/run.py, behind a C interface: compiled from the
// text form, bound to arrays that Python owns, launched into its stream.
#include <chrono>
#include <cstring>
#include <string>

#include "bench/gpu/device.h"
#include "run/nvrtc.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::bench {
namespace {

thread_local std::string last_error, last_text;

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// A kernel with its arguments.
struct Bound {
  CompiledKernel kernel;
  std::vector<Argument> arguments;
  LaunchOptions options;
};

// What a launch of the bare driver costs: a kernel of as many pointers that does nothing.
class EmptyKernel {
 public:
  EmptyKernel(const Device& device, int count) : device_(device), values_(count), pointers_(count) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty(";
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + (".param .u64 p" + std::to_string(i));
    text += ") { ret; }\n";
    device.call("cuModuleLoadData", &module_, text.c_str());
    device.call("cuModuleGetFunction", &function_, module_, "empty");
    for (std::size_t i = 0; i < values_.size(); ++i) pointers_[i] = &values_[i];
  }
  ~EmptyKernel() { device_.call("cuModuleUnload", module_); }
  EmptyKernel(const EmptyKernel&) = delete;
  EmptyKernel& operator=(const EmptyKernel&) = delete;

  void launch(void* stream) {
    launch_(function_, 1, 1, 1, 128, 1, 1, 0, stream, pointers_.data(), nullptr);
  }

 private:
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  const Device& device_;
  void *module_ = nullptr, *function_ = nullptr;
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
  os::SharedLibrary library_{"libcuda.so.1"};
  Launch launch_ = reinterpret_cast<Launch>(library_.symbol("cuLaunchKernel"));
};

template <typename Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return {};
  }
}

}  // namespace
}  // namespace tilecopy::bench

using namespace tilecopy;         // NOLINT
using namespace tilecopy::bench;  // NOLINT

extern "C" {

/// An array in device memory; strides in elements.
struct BenchTensor {
  void* data;
  const char* dtype;
  int rank;
  std::int64_t shape[8], strides[8];
};

const char* bench_error() { return last_error.c_str(); }

/// Compiles kernel text; null on failure. `own_ms` is the time of our stages, `build_ms` of the
/// CUDA compiler or, if `from_cache` comes back 1, of the kernel cache.
void* bench_compile(const char* text, const char* method, int use_cache, double* own_ms,
                    double* build_ms, int* from_cache) {
  return guarded([&]() -> void* {
    const double begin = seconds();
    auto kernel =
        std::make_unique<CompiledKernel>(compile(parse(text, "bench.tile"), "cuda -arch=sm_90a",
                                                 {.use_cache = use_cache != 0, .method = method}));
    const double all = (seconds() - begin) * 1e3;
    *build_ms = 0;
    for (const StageTime& time : kernel->times()) {
      if (time.stage == "build") *build_ms = time.milliseconds;
    }
    *own_ms = all - *build_ms;
    *from_cache = kernel->from_cache();
    return kernel.release();
  });
}

/// Forgets a kernel that nothing is bound to.
void bench_release(void* kernel) { delete static_cast<CompiledKernel*>(kernel); }

/// Milliseconds that NVRTC takes for a kernel without a statement; below 0 on failure.
double bench_empty_compile() {
  try {
    const double begin = seconds();
    const std::string name = "f" + std::to_string(static_cast<long long>(begin * 1e9));
    run::compile_cubin("extern \"C\" __global__ void " + name + "() {}\n", "empty", "sm_90a");
    return (seconds() - begin) * 1e3;
  } catch (const std::exception& error) {
    last_error = error.what();
    return -1;
  }
}

/// Such as "tma, tma": the ways of the tile operations in order.
const char* bench_ways(void* kernel) {
  last_text.clear();
  for (const CopyPlan& plan : static_cast<CompiledKernel*>(kernel)->plans()) {
    last_text += (last_text.empty() ? "" : ", ") + plan.method;
  }
  return last_text.c_str();
}

const char* bench_explain_json(void* kernel) {
  last_text = static_cast<CompiledKernel*>(kernel)->explain_json();
  return last_text.c_str();
}

void* bench_bind(void* kernel, int count, const BenchTensor* tensors) {
  return guarded([&]() -> void* {
    auto bound = std::make_unique<Bound>(Bound{*static_cast<CompiledKernel*>(kernel), {}, {}});
    for (int i = 0; i < count; ++i) {
      const BenchTensor& t = tensors[i];
      const auto dtype = parse_dtype(t.dtype);
      if (!dtype) throw std::runtime_error("unknown dtype");
      bound->arguments.emplace_back(TensorView(t.data, *dtype, {t.shape, t.shape + t.rank},
                                               {t.strides, t.strides + t.rank}, true,
                                               tilecopy::Device{kDLCUDA, 0}));
    }
    return bound.release();
  });
}

int bench_launch(void* bound, void* stream) {
  try {
    auto& it = *static_cast<Bound*>(bound);
    it.options.stream = stream;
    it.kernel.run(it.arguments, it.options, Location{});
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

/// Microseconds of one call, in a loop: of a bound kernel, and of a bare launch by the driver with
/// `parameters` pointers. Each is the median of 15 loops of 200, in turn.
int bench_launch_cost(void* bound, int parameters, double* ours, double* bare) {
  try {
    const bench::Device device;
    EmptyKernel empty(device, parameters);
    auto& it = *static_cast<Bound*>(bound);
    it.options.stream = device.stream();
    constexpr int loops = 15, calls = 200;
    auto time = [&](auto&& launch) {
      const double begin = seconds();
      for (int n = 0; n < calls; ++n) launch();
      const double spent = seconds() - begin;
      device.call("cuStreamSynchronize", device.stream());
      return spent / calls * 1e6;
    };
    std::vector<double> with, without;
    for (int n = 0; n < loops; ++n) {
      without.push_back(time([&] { empty.launch(device.stream()); }));
      with.push_back(time([&] { it.kernel.run(it.arguments, it.options, Location{}); }));
    }
    *ours = median(with);
    *bare = median(without);
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

}  // extern "C"
