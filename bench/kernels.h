// The kernels that are measured.
#pragma once

#include <tilecopy/tilecopy.h>

namespace bench {

/// A -> shared tile -> B, float32. `pitch` is the row stride of both; 0 for dense.
tilecopy::Function tile_copy(std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                             std::int64_t tile_rows, std::int64_t tile_columns);

/// img -> shared tile -> col of a (n, h, w, c) float32 image, kernel 3, stride 1, pad 1.
tilecopy::Function im2col(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                          std::int64_t block_m, std::int64_t block_k);

tilecopy::Function transpose(std::int64_t rows, std::int64_t columns, std::int64_t tile);

}  // namespace bench
