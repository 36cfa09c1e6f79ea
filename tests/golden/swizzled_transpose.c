// swizzled_transpose, swizzled_transpose.tile:1
void swizzled_transpose_kernel(void *const *tensors, const int64_t *symbols, const uint64_t *scalars, char *tiles, int threads) {
  const uint16_t *restrict const A = (const uint16_t *)tensors[0];
  uint16_t *restrict const B = (uint16_t *)tensors[1];
  const int64_t grid0 = 8;
  const int64_t grid1 = 4;
#ifdef _OPENMP
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
#endif
  for (int64_t by = 0; by < grid1; ++by) {
    for (int64_t bx = 0; bx < grid0; ++bx) {
      char *restrict const block_tiles = tiles + TC_THREAD * (int64_t)8192;
      // swizzled_transpose.tile:2
      uint16_t *restrict const tile = (uint16_t *)(block_tiles + 0);
      // swizzled_transpose.tile:4
      for (int64_t i0 = 0; i0 < 64; ++i0) {
        for (int64_t j = 0; j < 64; ++j) {
          tile[i0 * 64 + j ^ (i0 * 64 + j & 448) / 8] = A[by * 32768 + i0 * 512 + bx * 64 + j];
        }
      }
      // swizzled_transpose.tile:5
      for (int64_t i0 = 0; i0 < 64; ++i0) {
        for (int64_t j = 0; j < 64; ++j) {
          B[bx * 16384 + i0 * 256 + by * 64 + j] = tile[j * 64 + i0 ^ (j * 64 + i0 & 448) / 8];
        }
      }
    }
  }
}
