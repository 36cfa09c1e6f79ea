// The emulator: runs lowered CUDA kernels without a GPU and judges them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilecopy/types.h"

namespace tilecopy {

struct EmulatorOptions {
  std::uint64_t seed = 0;  ///< of the interleavings
  int schedules = 1;       ///< interleavings to try, each from the same arguments
  /// Whether to report accesses that nothing orders: data races and missing fences.
  bool races = true;
  /// Whether to report elements that were never written and reach a tensor, an address or a branch.
  bool unwritten = true;
  /// Reports end after so many.
  int most_verdicts = 20;
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

  bool clean() const { return verdicts.empty(); }
  /// For people: each verdict, or what was checked.
  std::string text() const;
  std::string json() const;
};

}  // namespace tilecopy
