// cast_and_safe_value, cast_and_safe_value.tile:1
void cast_and_safe_value_kernel(void *const *tensors, const int64_t *symbols, const uint64_t *scalars, char *tiles, int threads) {
  const float *restrict const A = (const float *)tensors[0];
  uint16_t *restrict const B = (uint16_t *)tensors[1];
  const int64_t n = symbols[0];
  const int64_t grid0 = (n + 127) / 128;
#ifdef _OPENMP
#pragma omp parallel for collapse(1) num_threads(threads) schedule(static)
#endif
  for (int64_t bx = 0; bx < grid0; ++bx) {
    char *restrict const block_tiles = tiles + TC_THREAD * (int64_t)320;
    // cast_and_safe_value.tile:2
    uint16_t *restrict const tile = (uint16_t *)(block_tiles + 0);
    // cast_and_safe_value.tile:4
    {
      const int64_t lo = tc_index_max(4 - bx * 128, 0);
      const int64_t hi = tc_index_min(n - bx * 128 + 4, 136);
      for (int64_t j = 0; j < lo; ++j) {
        tile[j] = 0xbf80 /* -1 */;
      }
      for (int64_t j = lo; j < hi; ++j) {
        tile[j] = tc_bf16_from_f32(A[bx * 128 + j - 4]);
      }
      for (int64_t j = hi; j < 136; ++j) {
        tile[j] = 0xbf80 /* -1 */;
      }
    }
    // cast_and_safe_value.tile:5
    for (int64_t i = 0; i < 128; ++i) {
      if (bx * 128 + i < n) {
        B[bx * 128 + i] = tc_bf16_from_f32(tc_f32_from_bf16(tile[i]) + tc_f32_from_bf16(tile[i + 8]));
      }
    }
  }
}
