// What one access of a warp costs in global and in shared memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tilecopy::layout {

/// The bytes [address, address + width) of each active lane; width is 1, 2, 4, 8, 16 or 32.
struct WarpAccess {
  std::vector<std::int64_t> addresses;
  int width = 4;
};

/// The 32-byte sectors of global memory that the request touches.
int sectors(const WarpAccess& access);

/// The fewest sectors that hold as many different bytes.
int fewest_sectors(const WarpAccess& access);

/// How many passes the access to shared memory takes for each that it would take without conflicts:
/// 1 when there are none. There are 32 banks of 4 bytes; accesses of 8 and 16 bytes are made by
/// halves and quarters of the warp (CUDA programming guide, shared memory), and lanes that touch
/// one word share it.
int bank_ways(const WarpAccess& access);

}  // namespace tilecopy::layout
