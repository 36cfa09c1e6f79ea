// A copy to plan for the TMA unit, and the check that what it lowers to moves every element.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "copy/cuda_common.h"
#include "pipe.h"
#include "tilecopy/tilecopy.h"

namespace tilecopy::test {

using Ints = std::vector<std::int64_t>;

inline const char* const hopper = "cuda -arch=sm_90a";

/// One copy between a region of the tensor A and a region of a tile.
struct TmaCase {
  Ints shape, strides = {};  ///< of A; row-major without strides
  DType dtype = float16;
  Ints origin, extent;  ///< of the region of A
  /// As large as the region of A without its dimensions of one element, where empty.
  Ints tile = {}, tile_origin = {}, tile_extent = {};
  std::optional<TileLayout> layout = {};
  bool store = false, transpose = false;
  int safe = 0;

  /// Fills in the tile.
  TmaCase completed() const;
  Function function() const;
};

/// A function that has been planned, and what a method says of its first operation.
struct Planned {
  /// `usual`: the variant of the kernel that may rely on guards.
  explicit Planned(const Function& function, const char* target = hopper, bool usual = true,
                   const planner::Method& method = planner::tma);

  std::string parameter(const std::string& name) const;
  /// The rule that failed; "<none>" when there is a plan.
  std::string rule() const;
  ir::Stmt lowered() const { return method->lower(*plan, *site); }
  const Buffer& tile() const;

  Passage passage;
  const planner::Method* method;
  const planner::Site* site = nullptr;
  std::unique_ptr<planner::Rules> rules;
  std::unique_ptr<planner::Plan> plan;
};

/// Runs the lowering on the model with the tile at different places, and compares every byte.
void check_moves(const TmaCase& c, const Planned& planned);

}  // namespace tilecopy::test
