// The emulator: runs lowered CUDA kernels without a GPU and judges them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy {

/// How far an emulation is: `block` blocks of `blocks` have run in this schedule.
struct EmulatorProgress {
  int schedule = 0;
  std::int64_t block = 0;
  std::int64_t blocks = 0;
};

struct EmulatorOptions {
  std::uint64_t seed = 0;  ///< of the interleavings
  int schedules = 1;       ///< interleavings to try, each from the same arguments
  /// Kinds of verdicts that are not reported, of those that a kernel can run past: "race",
  /// "missing_fence", "unwritten", "swizzle_base", "in_flight" and "schedule_dependent".
  std::vector<std::string> ignore = {};
  /// Reports end after so many.
  int most_verdicts = 20;
  /// Steps of the warps of one block, above which the kernel counts as endless.
  std::int64_t most_block_steps = 50'000'000;
  /// Whether to record the first schedule in EmulatorReport::trace.
  bool trace = false;
  /// Called after each block.
  std::function<void(const EmulatorProgress&)> progress = {};
};

/// Something wrong with a kernel, found while it ran.
struct Verdict {
  std::string kind;       ///< such as "race"; docs/emulator.md lists them
  std::string text;       ///< what happened, with buffer, place and agents, in one sentence
  Location where;         ///< the user's line that the access or wait belongs to
  std::string statement;  ///< of the device level
  Location other_where;   ///< of the other access of a race; unknown otherwise
  std::string other_statement;
  std::string help;  ///< what would mend it
  int schedule = 0;
  std::int64_t block = 0;  ///< the flat index of the block
};

struct EmulatorReport {
  std::vector<Verdict> verdicts;
  int schedules = 0;            ///< that ran, all of them or up to the first verdict
  std::int64_t blocks = 0;      ///< in all schedules, as the rest
  std::int64_t steps = 0;       ///< of warps
  std::int64_t accesses = 0;    ///< of threads and of asynchronous operations to memory
  std::int64_t barriers = 0;    ///< block barriers and phases of mbarriers that completed
  std::int64_t operations = 0;  ///< asynchronous copies
  /// What warps, copies and mbarriers did over emulated time (a step of a warp or a move of a copy
  /// is 1 us), as JSON trace events, which Perfetto opens. Empty unless asked for.
  std::string trace;

  bool clean() const { return verdicts.empty(); }
  /// For people: each verdict, or what was checked.
  std::string text() const;
  std::string json() const;
};

}  // namespace tilecopy
