#include "emulator/knowledge.h"

#include <iterator>

namespace tilecopy::emulator {
namespace {

bool covers(const Knowledge& a, const Knowledge& b) {
  if (a.threads.size() < b.threads.size() || a.floor < b.floor) return false;
  for (std::size_t i = 0; i < b.threads.size(); ++i) {
    if (a.threads[i] < b.threads[i]) return false;
  }
  return std::all_of(b.operations.begin(), b.operations.end(),
                     [&](std::uint32_t number) { return a.has_operation(number); });
}

// What many warps of a block ask for one after the other.
struct LastJoin {
  Known a, b, result;
};
thread_local LastJoin last;

}  // namespace

void Knowledge::add(const Knowledge& other) {
  if (threads.size() < other.threads.size()) threads.resize(other.threads.size());
  for (std::size_t i = 0; i < other.threads.size(); ++i) {
    threads[i] = std::max(threads[i], other.threads[i]);
  }
  std::vector<std::uint32_t> all;
  std::set_union(operations.begin(), operations.end(), other.operations.begin(),
                 other.operations.end(), std::back_inserter(all));
  floor = std::max(floor, other.floor);
  operations.clear();
  for (std::uint32_t number : all) {
    if (number == floor) {
      ++floor;
    } else if (number > floor) {
      operations.push_back(number);
    }
  }
}

void Knowledge::add_operation(std::uint32_t number) {
  if (has_operation(number)) return;
  operations.insert(std::lower_bound(operations.begin(), operations.end(), number), number);
  while (!operations.empty() && operations.front() == floor) {
    operations.erase(operations.begin());
    ++floor;
  }
}

Known join(const Known& a, const Known& b) {
  if (a == b) return a;
  if (last.a == a && last.b == b) return last.result;
  Known result;
  if (covers(*a, *b)) {
    result = a;
  } else if (covers(*b, *a)) {
    result = b;
  } else {
    auto both = std::make_shared<Knowledge>(*a);
    both->add(*b);
    result = both;
  }
  last = {a, b, result};
  return result;
}

Known with_operations(const Known& known, const std::vector<std::uint32_t>& numbers) {
  bool new_ones = std::any_of(numbers.begin(), numbers.end(),
                              [&](std::uint32_t number) { return !known->has_operation(number); });
  if (!new_ones) return known;
  auto result = std::make_shared<Knowledge>(*known);
  for (std::uint32_t number : numbers) result->add_operation(number);
  return result;
}

}  // namespace tilecopy::emulator
