// One function on its way through the compiler: what each stage has made of it so far.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "lower/lower.h"
#include "tilecopy/compile.h"

namespace tilecopy {

/// The time of each stage, in order.
class Stopwatch {
 public:
  template <typename Stage>
  auto time(const char* stage, Stage&& run) {
    struct Record {
      ~Record() {
        std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
        watch.times.push_back({name, spent.count()});
      }
      Stopwatch& watch;
      const char* name;
      std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    } record{*this, stage};
    return run();
  }

  std::vector<StageTime> times;
};

/// A SIMT kernel for some of the arguments: one for the usual ones, which relies on guards, and one
/// for all, or only the latter.
struct Variant {
  std::optional<planner::Assumptions> assumptions;
  std::vector<planner::Decision> decisions;
  lower::SimtKernel lowered;
};

struct Passage {
  std::shared_ptr<const ir::Kernel> tile;  ///< as the language made it; then with layouts
  ir::Facts facts;
  planner::Layouts layouts;
  std::vector<std::string> remarks;  ///< about layouts
  run::LaunchPlan launch;
  Stopwatch watch;
  // Cpu.
  std::vector<planner::Decision> decisions;
  ir::Kernel device;
  lower::TileMemory memory;
  // Cuda.
  planner::Simt simt;
  std::vector<std::unique_ptr<Variant>> variants;

  /// The decisions that explain, and the device level that prints.
  std::vector<planner::Decision>& chosen() {
    return variants.empty() ? decisions : variants.front()->decisions;
  }
  const ir::Kernel& lowered() const {
    return variants.empty() ? device : variants.front()->lowered.kernel;
  }
};

/// Runs the stages from the language to device level. Stops after the named stage if one is given:
/// "language", "infer_layouts", "select_copies" or "lower". The passage must stay where it is:
/// decisions point into it.
void lower_through(Passage& passage, const target::Target& target, const std::string& stop_after,
                   const CompileOptions& options = {});

/// Writes `text()` to TILECOPY_DUMP_DIR, if that is set.
void dump(const std::string& file, const std::function<std::string()>& text);

}  // namespace tilecopy
