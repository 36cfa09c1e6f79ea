#include "property/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "property/device_arrays.h"
#include "property/interpret.h"

namespace tilecopy::property {
namespace {

std::string launch_text(const Launch& launch, const std::vector<Array>& arrays) {
  std::string text = fmt::format("launch: symbols ({}), {} threads\n",
                                 fmt::join(launch.symbols, ", "), launch.threads);
  for (std::size_t t = 0; t < arrays.size(); ++t) {
    text += fmt::format("  T{} {} shape ({}) strides ({}) shift {}\n", t,
                        to_string(arrays[t].dtype()), fmt::join(arrays[t].shape(), ", "),
                        fmt::join(arrays[t].strides(), ", "), launch.shifts[t]);
  }
  return text;
}

constexpr int emulated_schedules = 3;

}  // namespace

std::string test_target() {
  const char* text = std::getenv("TILECOPY_TEST_TARGET");
  return text ? text : "cpu";
}

std::vector<CompiledKernel> compile_batch(std::span<const Function> functions, int opt_level,
                                          const char* method) {
  return compile(functions, test_target(),
                 {.opt_level = opt_level, .use_cache = false, .method = method});
}

std::vector<Argument> arguments_for(std::vector<Array>& arrays, const std::vector<bool>& written) {
  std::vector<Argument> arguments;
  for (std::size_t t = 0; t < arrays.size(); ++t) {
    Array& array = arrays[t];
    arguments.emplace_back(
        TensorView(array.first(), array.dtype(), array.shape(), array.strides(), written[t]));
  }
  return arguments;
}

std::string difference(const Array& got, const Array& want) {
  // Elements that may differ are made equal, so that one comparison sees everything else.
  Array left = got;
  std::string text;
  want.for_each([&](const Indices& at) {
    const Value wanted = want.load(at);
    const Value found = got.load(at);
    if (found.scalar == wanted.scalar) return;
    if (!wanted.known || (wanted.any_nan && is_nan(found.scalar))) {
      left.store(at, wanted);
    } else if (text.empty()) {
      text = fmt::format("element ({}): got {}, want {}", fmt::join(at, ", "),
                         to_string(found.scalar), to_string(wanted.scalar));
    }
  });
  if (!text.empty() || left.bytes() == want.bytes()) return text;
  const auto at = std::mismatch(left.bytes().begin(), left.bytes().end(), want.bytes().begin());
  return fmt::format("byte {} of {}, outside of all elements: got 0x{:02x}, want 0x{:02x}",
                     at.first - left.bytes().begin(), left.bytes().size(), *at.first, *at.second);
}

std::string check_launches(const Description& kernel, const CompiledKernel& compiled) {
  std::vector<bool> written;
  for (const Tensor& tensor : kernel.tensors) written.push_back(tensor.written);
  for (const Launch& launch : kernel.launches) {
    std::vector<Array> want = make_arrays(kernel, launch);
    std::vector<Array> got = want;
    const Outcome outcome = interpret(kernel, launch, want);
    const int threads = outcome.blocks_depend ? 1 : launch.threads;
    if (test_target() == "cpu") {
      compiled.run(arguments_for(got, written), {.threads = threads});
    } else if (test_target().starts_with("emulator")) {
      if (outcome.blocks_depend) continue;
      std::vector<std::string> ignored;
      if (outcome.unwritten_used) ignored.push_back("unwritten");
      const EmulatorReport report =
          compiled.emulate(arguments_for(got, written), {.seed = kernel.seed,
                                                         .schedules = emulated_schedules,
                                                         .ignore = ignored});
      if (!report.clean()) return report.text() + launch_text(launch, want);
    } else {
      // The blocks of a GPU run in any order.
      if (outcome.blocks_depend) continue;
      const DeviceArrays device(got);
      compiled.run(device.arguments(written));
      device.read(got);
    }
    for (std::size_t t = 0; t < want.size(); ++t) {
      const std::string text = difference(got[t], want[t]);
      if (!text.empty()) return fmt::format("T{} {}\n{}", t, text, launch_text(launch, want));
    }
  }
  return {};
}

std::string check_alone(const Description& kernel) {
  const Function function = build(kernel);
  return check_launches(kernel, compile_batch(std::span(&function, 1), kernel.opt_level).front());
}

}  // namespace tilecopy::property
