// `tilecopy emulate`: runs a lowered CUDA kernel without a GPU, and judges it.
#include <fmt/format.h>

#include "arguments.h"
#include "check.h"
#include "commands.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

constexpr int default_schedules = 20;
constexpr int most_schedules = 1000000;

}  // namespace

int emulate_command(const Request& given) {
  Request request = given;
  if (!request.target) request.target = "emulator -arch=sm_90a";
  Kernel kernel = make_kernel(request);
  check_names(kernel, request);
  EmulatorOptions options{.seed = seed_of(request), .schedules = default_schedules};
  if (request.schedules) {
    options.schedules =
        static_cast<int>(parse_integer("--schedules", *request.schedules, 1, most_schedules));
  }
  const CompiledKernel compiled = compile_kernel(kernel, request);
  const Arguments arguments = make_arguments(kernel, request);
  const EmulatorReport report = compiled.emulate(arguments.list, options, Location{});
  if (request.json) {
    fmt::print("{}\n", report.json());
  } else {
    fmt::print("{} on {}, seed {}\n{}", compiled.name(), compiled.target(), options.seed,
               report.text());
  }
  if (!report.clean()) return wrong_result;
  if (kernel.built_in && !request.no_check) {
    if (const auto wrong = wrong_result_text(kernel, arguments)) {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", *wrong);
      return wrong_result;
    }
  }
  return good;
}

}  // namespace tilecopy::tool
