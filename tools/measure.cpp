#include "measure.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "tilecopy/tensor.h"

namespace tilecopy::tool {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Threads that wait for each other's start and end, so that no run pays for making them.
class CopyTeam {
 public:
  CopyTeam(std::int64_t bytes, int threads)
      : threads_(threads),
        from_({bytes}, DType::uint8),
        to_({bytes}, DType::uint8),
        start_(threads),
        end_(threads) {
    // Memory that was never written may be one page of zeros, which stays in the processor's cache.
    std::memset(from_.data(), 1, static_cast<std::size_t>(bytes));
    try {
      for (int i = 1; i < threads; ++i) team_.emplace_back([this, i] { follow(i); });
    } catch (const std::system_error&) {
      dismiss();
      throw;
    }
  }
  ~CopyTeam() { dismiss(); }
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  void copy() {
    start_.arrive_and_wait();
    copy_part(0);
    end_.arrive_and_wait();
  }

 private:
  void follow(int i) {
    while (true) {
      start_.arrive_and_wait();
      if (stop_) return;
      copy_part(i);
      end_.arrive_and_wait();
    }
  }

  // Lets the threads go that there are, which may be fewer than were asked for.
  void dismiss() {
    stop_ = true;
    (void)start_.arrive(threads_ - static_cast<std::ptrdiff_t>(team_.size()));
    for (std::thread& member : team_) member.join();
  }

  void copy_part(int i) {
    const std::int64_t begin = from_.size() / threads_ * i;
    const std::int64_t end = i + 1 == threads_ ? from_.size() : from_.size() / threads_ * (i + 1);
    std::memcpy(static_cast<char*>(to_.data()) + begin,
                static_cast<const char*>(from_.data()) + begin,
                static_cast<std::size_t>(end - begin));
  }

  int threads_;
  Tensor from_, to_;
  std::barrier<> start_, end_;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> team_;
};

}  // namespace

Measured measure(const std::function<void()>& work) {
  constexpr double warm_up_ms = 100, measured_ms = 1000;
  constexpr std::size_t least_runs = 5, most_runs = 2000;
  const Clock::time_point start = Clock::now();
  do work();
  while (since(start) < warm_up_ms);

  std::vector<double> times;
  double sum = 0;
  while (times.size() < least_runs || (sum < measured_ms && times.size() < most_runs)) {
    const Clock::time_point begin = Clock::now();
    work();
    times.push_back(since(begin));
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  return {static_cast<int>(times.size()), times[times.size() / 2], times.front()};
}

Measured measure_memcpy(std::int64_t bytes, int threads) {
  CopyTeam team(bytes, threads);
  // The threads of the kernel that ran before may still spin.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return measure([&] { team.copy(); });
}

}  // namespace tilecopy::tool
