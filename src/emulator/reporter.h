// Verdicts as they are found, each kind of fault at each pair of statements once.
#pragma once

#include <set>
#include <tuple>

#include "emulator/program.h"
#include "tilecopy/emulator.h"

namespace tilecopy::emulator {

enum class Fault : std::uint8_t {
#define TILECOPY_FAULT(name, end, headline, help) name,
#include "emulator/faults.def"
};

/// The schedule cannot go on: as on a GPU the kernel would fault or hang.
struct Halt {};

std::string headline_of(const std::string& kind);

class Reporter {
 public:
  /// Raises E0603 for options out of range and for kinds that cannot be ignored.
  Reporter(const EmulatorOptions& options, EmulatorReport& report);

  void start_schedule(int number) { schedule_ = number; }
  void start_block(std::int64_t flat) { block_ = flat; }

  /// Throws Halt once there are enough.
  void add(Fault fault, const Site* site, std::string text, const Site* other = nullptr,
           std::string help = {});
  [[noreturn]] void halt(Fault fault, const Site* site, std::string text,
                         const Site* other = nullptr) {
    add(fault, site, std::move(text), other);
    throw Halt{};
  }

  bool ignores(Fault fault) const { return ignored_.contains(fault); }
  const EmulatorOptions& options() const { return options_; }
  EmulatorReport& report() { return report_; }

 private:
  const EmulatorOptions& options_;
  std::set<Fault> ignored_;
  EmulatorReport& report_;
  std::set<std::tuple<Fault, std::string, std::string>> known_;
  int schedule_ = 0;
  std::int64_t block_ = 0;
};

}  // namespace tilecopy::emulator
