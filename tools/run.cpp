// `tilecopy run`: compiles a kernel, runs it once, checks it and says how it went.
#include <fmt/format.h>

#include <chrono>

#include "arguments.h"
#include "check.h"
#include "commands.h"
#include "run/host_kernel.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

template <typename Work>
double milliseconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::string out_path(const Request& request, const std::string& name) {
  const auto files = file_bindings("--out", request.out);
  const auto file = files.find(name);
  return file == files.end() ? std::string() : " -> " + file->second;
}

void print_tensors(const Arguments& arguments, const Request& request) {
  for (const Array& array : arguments.arrays) {
    fmt::print("  {:<8}{} {}, {}{}{}\n", array.name, to_string(array.view.dtype),
               shape_text(array.view.shape), array.written ? "written, from " : "from ",
               array.origin, out_path(request, array.name));
  }
}

void print_compile(const CompiledKernel& compiled, double spent) {
  std::string stages;
  for (const StageTime& time : compiled.times()) {
    stages += fmt::format("{}{} {:.2f}", stages.empty() ? "" : ", ", time.stage, time.milliseconds);
  }
  fmt::print("  compile {:.2f} ms: {}{}\n", spent, stages,
             compiled.from_cache() ? " (from the cache)" : "");
}

void print_run(const Arguments& arguments, double spent) {
  const auto bytes = static_cast<double>(arguments.bytes());
  fmt::print("  run     {:.3f} ms, {:.2f} GB/s, once and cold; `tilecopy bench` measures\n", spent,
             spent > 0 ? bytes / spent / 1e6 : 0.0);
}

const char* check_text(const Kernel& kernel, const Request& request, bool wrong) {
  if (!kernel.built_in) return "none: a kernel file has no reference";
  if (request.no_check) return "none: --no-check";
  return wrong ? "FAILED" : "passed, every element as the reference has it";
}

}  // namespace

int run_command(const Request& request) {
  Kernel kernel = make_kernel(request);
  check_names(kernel, request);
  const LaunchOptions options{.threads = request.cpu_threads
                                             ? static_cast<int>(parse_integer(
                                                   "--cpu-threads", *request.cpu_threads, 1, 1024))
                                             : 0};
  check_outputs(request);
  std::optional<CompiledKernel> compiled;
  const double compile_time = milliseconds([&] { compiled = compile_kernel(kernel, request); });
  const Arguments arguments = make_arguments(kernel, request);
  const double run_time = milliseconds([&] { compiled->run(arguments.list, options, Location{}); });

  std::optional<std::string> wrong;
  if (kernel.built_in && !request.no_check) wrong = wrong_result_text(kernel, arguments);
  if (!wrong) save_outputs(arguments, request);

  const int threads = run::thread_count(options.threads);
  fmt::print("{} on {}, {} thread{}\n", compiled->name(), compiled->target(), threads,
             threads == 1 ? "" : "s");
  print_tensors(arguments, request);
  print_compile(*compiled, compile_time);
  print_run(arguments, run_time);
  fmt::print("  check   {}\n", check_text(kernel, request, wrong.has_value()));
  if (request.explain) fmt::print("\n{}", compiled->explain());
  if (!wrong) return good;
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", *wrong);
  return wrong_result;
}

}  // namespace tilecopy::tool
