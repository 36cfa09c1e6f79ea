// What every generated C source begins with.
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#define TC_THREAD omp_get_thread_num()
#else
#define TC_THREAD 0
#endif

#if defined(__AVX512F__) || defined(__AVX__) || defined(__SSE2__)
#include <immintrin.h>
#endif

static inline int64_t tc_index_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_index_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Copies past the caches: whole cache lines with non-temporal stores, the ends with plain ones.
static inline void tc_stream(void *to, const void *from, size_t bytes) {
#if defined(__AVX512F__) || defined(__AVX__) || defined(__SSE2__)
  char *dst = (char *)to;
  const char *src = (const char *)from;
  size_t head = (size_t)(-(uintptr_t)dst & 63);
  if (head > bytes) head = bytes;
  memcpy(dst, src, head);
  dst += head, src += head, bytes -= head;
  for (; bytes >= 64; dst += 64, src += 64, bytes -= 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512((void *)dst, _mm512_loadu_si512((const void *)src));
#elif defined(__AVX__)
    _mm256_stream_si256((__m256i *)dst, _mm256_loadu_si256((const __m256i *)src));
    _mm256_stream_si256((__m256i *)(dst + 32), _mm256_loadu_si256((const __m256i *)(src + 32)));
#else
    for (int i = 0; i < 64; i += 16) {
      _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
    }
#endif
  }
  memcpy(dst, src, bytes);
#else
  memcpy(to, from, bytes);
#endif
}

// Non-temporal stores are not ordered by the end of a parallel region alone.
static inline void tc_stream_end(void) {
#if defined(__AVX512F__) || defined(__AVX__) || defined(__SSE2__)
  _mm_sfence();
#endif
}
