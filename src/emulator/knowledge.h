// Who knows of which accesses: happens-before as sets that grow at barriers and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilecopy::emulator {

/// An agent: a thread of the block by its index, or an asynchronous operation by its number with
/// flags.
using Agent = std::uint32_t;
inline constexpr Agent operation_flag = 0x80000000u;
inline constexpr Agent async_flag = 0x40000000u;  ///< of the async proxy, not cp.async
inline constexpr Agent nobody = 0xffffffffu;
inline bool is_operation(Agent agent) { return agent != nobody && (agent & operation_flag); }
inline bool is_async_proxy(Agent agent) { return is_operation(agent) && (agent & async_flag); }
inline std::uint32_t operation_number(Agent agent) {
  return agent & ~(operation_flag | async_flag);
}

/// One access: an agent, its clock then, and the statement.
struct Access {
  Agent agent = nobody;
  std::uint32_t clock = 0;
  std::int32_t site = -1;
};

/// The accesses of each thread up to a clock, and whole operations.
struct Knowledge {
  std::vector<std::uint32_t> threads;
  std::uint32_t floor = 0;                ///< operations below this number are known
  std::vector<std::uint32_t> operations;  ///< numbers of others, in order

  bool has(const Access& access) const {
    if (!is_operation(access.agent)) {
      return access.agent < threads.size() && access.clock <= threads[access.agent];
    }
    return has_operation(operation_number(access.agent));
  }
  bool has_operation(std::uint32_t number) const {
    return number < floor || std::binary_search(operations.begin(), operations.end(), number);
  }
  void add(const Knowledge& other);
  void add_operation(std::uint32_t number);
  void add_thread(Agent thread, std::uint32_t clock) {
    if (threads.size() <= thread) threads.resize(thread + 1);
    threads[thread] = std::max(threads[thread], clock);
  }
};
using Known = std::shared_ptr<const Knowledge>;

inline Known nothing() {
  static const Known empty = std::make_shared<Knowledge>();
  return empty;
}
/// Both together; one of the two where it has all of the other.
Known join(const Known& a, const Known& b);
Known with_operations(const Known& known, const std::vector<std::uint32_t>& numbers);

/// What orders the accesses of an agent after others: all that it knows, and what a proxy fence has
/// made visible to the async proxy. A thread also knows its own accesses, up to a clock.
struct View {
  Known known = nothing();
  Known fenced = nothing();
  Agent self = nobody;
  std::uint32_t clock = 0;         ///< of self's accesses that are known
  std::uint32_t fenced_clock = 0;  ///< and that are fenced

  bool knows(const Access& access) const {
    if (access.agent == self) return access.clock <= clock;
    return known->has(access);
  }
  bool has_fenced(const Access& access) const {
    if (access.agent == self) return access.clock <= fenced_clock;
    return fenced->has(access);
  }
};

}  // namespace tilecopy::emulator
