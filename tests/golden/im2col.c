// im2col, im2col.tile:1
void im2col_kernel(void *const *tensors, const int64_t *symbols, const uint64_t *scalars, char *tiles, int threads) {
  const float *restrict const img = (const float *)tensors[0];
  float *restrict const col = (float *)tensors[1];
  const int64_t n = symbols[0];
  const int64_t h = symbols[1];
  const int64_t w = symbols[2];
  const int64_t m = symbols[3];
  const int64_t grid0 = 1;
  const int64_t grid1 = (m + 63) / 64;
#ifdef _OPENMP
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
#endif
  for (int64_t by = 0; by < grid1; ++by) {
    for (int64_t bx = 0; bx < grid0; ++bx) {
      char *restrict const block_tiles = tiles + TC_THREAD * (int64_t)8192;
      // im2col.tile:2
      float *restrict const tile = (float *)(block_tiles + 0);
      // im2col.tile:4
      for (int64_t i = 0; i < 64; ++i) {
        const int64_t m_1 = by * 64 + i;
        if (m_1 < h * n * w) {
          const int64_t n_1 = tc_floordiv_i64(m_1, h * w);
          const int64_t h0 = tc_floormod_i64(tc_floordiv_i64(m_1, w), h) - 1;
          const int64_t w0 = tc_floormod_i64(m_1, w) - 1;
          for (int64_t j = 27; j < 32; ++j) {
            tile[i * 32 + j] = 0.0f;
          }
          for (int64_t s = 0; s < 3; ++s) {
            const int64_t start = s * 9;
            const int64_t h_1 = h0 + s;
            {
              const int64_t lo = 0 <= h_1 && h_1 < h ? (int64_t)tc_index_max(start, start - w0 * 3) : start + 9;
              const int64_t hi = tc_index_max(lo, 0 <= h_1 && h_1 < h ? (int64_t)tc_index_min(start + 9, tc_index_max(start, (w - w0) * 3 + start)) : start + 9);
              for (int64_t j = start; j < lo; ++j) {
                tile[i * 32 + j] = 0.0f;
              }
              if (lo < hi) {
                tc_copy(&tile[i * 32 + lo], &img[(w0 + h_1 * w + h * n_1 * w) * 3 + lo - start], (size_t)(hi - lo) * 4);
              }
              for (int64_t j = hi; j < start + 9; ++j) {
                tile[i * 32 + j] = 0.0f;
              }
            }
          }
        } else {
          for (int64_t j = 0; j < 32; ++j) {
            tile[i * 32 + j] = 0.0f;
          }
        }
      }
      // im2col.tile:5
      for (int64_t i0 = 0; i0 < tc_index_min(m - by * 64, 64); ++i0) {
        if (m * 108 >= 16777216) {
          tc_stream(&col[by * 1728 + i0 * 27], &tile[i0 * 32], (size_t)(27) * 4);
        } else {
          tc_copy(&col[by * 1728 + i0 * 27], &tile[i0 * 32], (size_t)(27) * 4);
        }
      }
      tc_stream_end();
    }
  }
}
