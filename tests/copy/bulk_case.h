// A copy to plan for cp.async.bulk, and the check, on a model of the device code, that what it
// lowers to moves every element.
#pragma once

#include "tma_case.h"

namespace tilecopy::test {

/// Blocks follow each other along the first dimension.
struct BulkCase {
  const char* what;
  Ints shape, tile;
  std::int64_t blocks = 1;
  Ints origin = {}, strides = {};  ///< of the tensor's side; zeros, and row-major
  Ints tile_origin = {};           ///< the tile is larger by this
  DType dtype = float16, to = dtype;
  std::optional<TileLayout> layout = {};
  bool store = false, transposed = false;
  std::optional<double> safe = {};
  const char* arch = "sm_90a";
  cuda::CopyOptions options = {};
  const char* runs = "1";
  const char* run_bytes = "";
  const char* rule = "<none>";
  const char* peeled = "<none>";
  const char* method = "bulk";  ///< that the planner chooses
};

struct MadeCase {
  Function function;
  std::optional<Var> block;
};

MadeCase make(const BulkCase& row);

void expect_moves(const BulkCase& row, const MadeCase& made, const Planned& planned);

}  // namespace tilecopy::test
