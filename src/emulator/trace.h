// A timeline of one schedule: what each warp ran and waited for, which copies were under way, and
// what each mbarrier still lacked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/program.h"

namespace tilecopy::emulator {

/// Records events in emulated time: a step of a warp and a move of a copy take one unit each, and
/// blocks run one after the other. All names are shown as they are given.
class Trace {
 public:
  void start_block(const std::string& name, int warps);

  /// A step of a warp, which belongs to a statement, or to the next one that the warp comes to.
  void step(int warp, const Site* site);
  /// Another warp's turn.
  void end_turn(int warp);
  void start_wait(int warp, std::string what);
  void end_wait(int warp);

  /// A move of the engines that copy.
  void engine_step() { ++now_; }
  /// A copy under way. Copies with equal numbers are one, from the first issue to the last landing.
  void issue(std::uint32_t number, const Site* site, std::int64_t bytes);
  void source_read(std::uint32_t number);
  void land(std::uint32_t number);

  /// What the phase of an mbarrier lacks.
  void mbarrier(const std::string& name, std::int64_t arrivals, std::int64_t bytes);

  /// At the end: the JSON object format of trace events, which Perfetto and chrome://tracing open.
  std::string json();

 private:
  enum class Kind : std::uint8_t { process, thread, slice, begin, instant, end, counter };
  struct Event {
    Kind kind;
    int track = 0;  ///< a warp
    std::uint64_t id = 0;
    std::int64_t time = 0, duration = 0;
    std::string name;
    std::int64_t arrivals = 0, bytes = 0;
    int block = 0;
  };
  struct WarpState {
    std::int64_t begin = -1;  ///< of steps that no statement has claimed
    std::int64_t slice = -1;  ///< index of the event that a next step of its statement extends
    const Site* site = nullptr;
    std::string wait;
    std::int64_t wait_begin = -1;
  };
  struct Copy {
    int under_way = 0;
    std::string name;
  };

  Event& add(Kind kind, std::string name);
  std::uint64_t id_of(std::uint32_t number) const {
    return static_cast<std::uint64_t>(block_) << 32 | number;
  }

  std::vector<Event> events_;
  Event left_out_;  ///< what events are written to once there are too many
  std::vector<WarpState> warps_;
  std::map<std::uint32_t, Copy> copies_;  ///< of this block
  std::int64_t now_ = 0;
  int block_ = 0;  ///< in the order in which they run, from 1
};

}  // namespace tilecopy::emulator
