#include "layout/memory_model.h"

#include <algorithm>
#include <array>
#include <set>

namespace tilecopy::layout {
namespace {

constexpr std::int64_t sector_bytes = 32;
constexpr std::int64_t word_bytes = 4;
constexpr std::int64_t banks = 32;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

int sectors(const WarpAccess& access) {
  std::set<std::int64_t> touched;
  for (std::int64_t address : access.addresses) {
    std::int64_t last = floor_div(address + access.width - 1, sector_bytes);
    for (std::int64_t s = floor_div(address, sector_bytes); s <= last; ++s) touched.insert(s);
  }
  return static_cast<int>(touched.size());
}

int fewest_sectors(const WarpAccess& access) {
  std::set<std::int64_t> different(access.addresses.begin(), access.addresses.end());
  auto bytes = static_cast<std::int64_t>(different.size()) * access.width;
  return static_cast<int>((bytes + sector_bytes - 1) / sector_bytes);
}

int bank_ways(const WarpAccess& access) {
  std::size_t lanes = access.width <= 4 ? 32 : access.width == 8 ? 16 : 8;
  int ways = 1;
  for (std::size_t begin = 0; begin < access.addresses.size(); begin += lanes) {
    std::size_t end = std::min(begin + lanes, access.addresses.size());
    std::array<std::set<std::int64_t>, banks> words;
    for (std::size_t i = begin; i < end; ++i) {
      std::int64_t last = floor_div(access.addresses[i] + access.width - 1, word_bytes);
      for (std::int64_t w = floor_div(access.addresses[i], word_bytes); w <= last; ++w) {
        words[static_cast<std::size_t>(w & (banks - 1))].insert(w);
      }
    }
    for (const auto& bank : words) ways = std::max(ways, static_cast<int>(bank.size()));
  }
  return ways;
}

}  // namespace tilecopy::layout
