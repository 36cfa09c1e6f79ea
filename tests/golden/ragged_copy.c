// ragged_copy, ragged_copy.tile:1
void ragged_copy_kernel(void *const *tensors, const int64_t *symbols, const uint64_t *scalars, char *tiles, int threads) {
  const uint16_t *restrict const A = (const uint16_t *)tensors[0];
  uint16_t *restrict const B = (uint16_t *)tensors[1];
  const int64_t grid0 = 21;
  const int64_t grid1 = 16;
#ifdef _OPENMP
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
#endif
  for (int64_t by = 0; by < grid1; ++by) {
    for (int64_t bx = 0; bx < grid0; ++bx) {
      char *restrict const block_tiles = tiles + TC_THREAD * (int64_t)6144;
      // ragged_copy.tile:2
      uint16_t *restrict const tile = (uint16_t *)(block_tiles + 0);
      // ragged_copy.tile:4
      for (int64_t i0 = 0; i0 < 64; ++i0) {
        const int64_t lo = i0 < tc_index_min(1000 - by * 64, 64) ? (int64_t)0 : 48;
        const int64_t hi = tc_index_max(lo, i0 < tc_index_min(1000 - by * 64, 64) ? (int64_t)tc_index_min(1001 - bx * 48, 48) : 48);
        for (int64_t j = 0; j < lo; ++j) {
          tile[i0 * 48 + j] = 0x0 /* 0 */;
        }
        if (lo < hi) {
          tc_copy_ahead(&tile[i0 * 48 + lo], &A[by * 64064 + i0 * 1001 + bx * 48 + lo], (size_t)(hi - lo) * 2, (43043) * 2);
        }
        for (int64_t j = hi; j < 48; ++j) {
          tile[i0 * 48 + j] = 0x0 /* 0 */;
        }
      }
      // ragged_copy.tile:5
      for (int64_t i0 = 0; i0 < tc_index_min(1000 - by * 64, 64); ++i0) {
        tc_copy(&B[by * 64064 + i0 * 1001 + bx * 48], &tile[i0 * 48], (size_t)(tc_index_min(1001 - bx * 48, 48)) * 2);
      }
    }
  }
}
