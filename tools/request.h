// What was asked on the command line, as it was typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilecopy::tool {

/// Values stay text until the command that needs them reads them; empty when not given.
struct Request {
  std::string kernel;  ///< a built-in, a file, or for `explain` an error code
  std::string action;  ///< of `cache`

  // The built-in kernels.
  std::optional<std::string> shape, dtype, tile, threads, through;
  std::optional<std::string> coalesced_width, eviction_policy, prefer_instruction;
  std::optional<std::string> window, stride, dilation, pad;
  bool disable_tma = false;

  // Kernel files, and the data of all kernels.
  std::vector<std::string> set, in, out;
  std::optional<std::string> seed;

  // Emulating.
  std::optional<std::string> schedules, ignore, trace;

  // Compiling and running.
  std::optional<std::string> target, method, opt_level, cpu_threads;
  bool no_cache = false;
  bool no_check = false;

  // What is shown.
  bool explain = false;
  bool json = false;
  std::string stop_after = "language";
};

}  // namespace tilecopy::tool
