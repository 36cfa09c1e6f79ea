// `tilecopy emulate`: runs a lowered CUDA kernel without a GPU, and judges it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "arguments.h"
#include "base/os.h"
#include "check.h"
#include "commands.h"
#include "words.h"

namespace tilecopy::tool {
namespace {

constexpr int default_schedules = 20;
constexpr int most_schedules = 1000000;

// One line on a terminal that long runs keep up to date; nothing where nobody looks.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  void show(const EmulatorProgress& progress, int schedules) {
    if (!terminal_ || Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::milliseconds(200);
    shown_ = true;
    fmt::print(stderr, "\r\033[Kschedule {} of {}, block {} of {}", progress.schedule + 1,
               schedules, progress.block, progress.blocks);
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

EmulatorReport emulate(const CompiledKernel& kernel, const Arguments& arguments,
                       EmulatorOptions options) {
  ProgressLine line;
  options.progress = [&](const EmulatorProgress& progress) {
    line.show(progress, options.schedules);
  };
  return kernel.emulate(arguments.list, options, Location{});
}

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
  if (request.ignore) options.ignore = names_of(*request.ignore);
  std::optional<os::OutputFile> trace;  // a path that cannot be written shows before the work
  if (request.trace) trace.emplace(*request.trace, Location{});
  options.trace = trace.has_value();
  const CompiledKernel compiled = compile_kernel(kernel, request);
  const Arguments arguments = make_arguments(kernel, request);
  const EmulatorReport report = emulate(compiled, arguments, options);
  if (trace) {
    trace->write(report.trace);
    trace->commit();
  }
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
