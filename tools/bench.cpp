// `tilecopy bench`: how fast a kernel runs, beside memcpy of as many bytes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "arguments.h"
#include "check.h"
#include "commands.h"
#include "measure.h"
#include "run/host_kernel.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

struct Result {
  int threads = 0;
  std::int64_t bytes = 0;  // read and written
  Measured kernel, memcpy;

  double rate(const Measured& measured) const {
    return measured.median_ms > 0 ? static_cast<double>(bytes) / measured.median_ms / 1e6 : 0;
  }
  // Times the speed of memcpy.
  double median_ratio() const { return memcpy.median_ms / kernel.median_ms; }
  double best_ratio() const { return memcpy.best_ms / kernel.best_ms; }
};

void print_json(const CompiledKernel& compiled, const Arguments& arguments, const Result& result) {
  using Json = nlohmann::ordered_json;
  auto figures = [&](const Measured& measured) {
    return Json{{"runs", measured.runs},
                {"median_ms", measured.median_ms},
                {"best_ms", measured.best_ms},
                {"gb_per_s", result.rate(measured)}};
  };
  Json root = {{"kernel", compiled.name()},
               {"target", compiled.target()},
               {"threads", result.threads},
               {"bytes", result.bytes}};
  for (const Array& array : arguments.arrays) {
    root["tensors"].push_back({{"name", array.name},
                               {"dtype", to_string(array.view.dtype)},
                               {"shape", array.view.shape}});
  }
  root["result"] = figures(result.kernel);
  root["memcpy"] = figures(result.memcpy);
  root["times_memcpy"] = {{"median", result.median_ratio()}, {"best", result.best_ratio()}};
  fmt::print("{}\n", root.dump(2));
}

void print_text(const CompiledKernel& compiled, const Arguments& arguments, const Result& result) {
  fmt::print("{} on {}, {} thread{}\n", compiled.name(), compiled.target(), result.threads,
             result.threads == 1 ? "" : "s");
  for (const Array& array : arguments.arrays) {
    fmt::print("  {:<8}{} {}\n", array.name, to_string(array.view.dtype),
               shape_text(array.view.shape));
  }
  auto print_row = [&](const char* name, const Measured& measured) {
    fmt::print("  {:<8}median {:.4f} ms, best {:.4f} ms of {} runs, {:.2f} GB/s\n", name,
               measured.median_ms, measured.best_ms, measured.runs, result.rate(measured));
  };
  print_row("kernel", result.kernel);
  print_row("memcpy", result.memcpy);
  fmt::print("  ratio   {:.2f} times the speed of memcpy by the medians, {:.2f} by the best\n",
             result.median_ratio(), result.best_ratio());
  fmt::print("  bytes   {}, each read or written once\n", result.bytes);
}

}  // namespace

int bench_command(const Request& request) {
  Kernel kernel = make_kernel(request);
  check_names(kernel, request);
  const LaunchOptions options{.threads = request.cpu_threads
                                             ? static_cast<int>(parse_integer(
                                                   "--cpu-threads", *request.cpu_threads, 1, 1024))
                                             : 0};
  const CompiledKernel compiled = compile_kernel(kernel, request);
  const Arguments arguments = make_arguments(kernel, request);
  Result result;
  result.threads = run::thread_count(options.threads);
  result.bytes = arguments.bytes();
  result.kernel = measure([&] { compiled.run(arguments.list, options, Location{}); });
  if (kernel.built_in && !request.no_check) {
    if (const auto wrong = wrong_result_text(kernel, arguments)) {
      fmt::print(stderr, "{}\n", *wrong);
      return wrong_result;
    }
  }
  // memcpy reads a byte for each that it writes.
  result.memcpy = measure_memcpy(result.bytes / 2, result.threads);
  request.json ? print_json(compiled, arguments, result) : print_text(compiled, arguments, result);
  return good;
}

}  // namespace tilecopy::tool
