// Random choices that are the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tilecopy::property {

class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t bits() { return engine_(); }
  /// 0 to n - 1.
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first +
           static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int>(from.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tilecopy::property
