// Measures repeated work, and how fast memcpy moves the same bytes.
#pragma once

#include <cstdint>
#include <functional>

namespace tilecopy::tool {

struct Measured {
  int runs = 0;
  double median_ms = 0;
  double best_ms = 0;
};

/// Warms up, then repeats the work for about a second, five times at least.
Measured measure(const std::function<void()>& work);

/// memcpy of `bytes` bytes by `threads` threads, a part each. E0712 without memory for it.
Measured measure_memcpy(std::int64_t bytes, int threads);

}  // namespace tilecopy::tool
