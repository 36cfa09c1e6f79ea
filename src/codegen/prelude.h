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
#define TC_X86 1
#include <immintrin.h>
#else
#define TC_X86 0
#endif

static inline int64_t tc_index_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_index_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Rows of a tile are short: a loop costs less than a call of memcpy.
static inline void tc_copy(void *to, const void *from, size_t bytes) {
  char *dst = (char *)to;
  const char *src = (const char *)from;
  if (bytes >= 4096) {
    memcpy(dst, src, bytes);
    return;
  }
  for (; bytes >= 64; dst += 64, src += 64, bytes -= 64) memcpy(dst, src, 64);
  for (; bytes >= 8; dst += 8, src += 8, bytes -= 8) memcpy(dst, src, 8);
  for (; bytes > 0; ++dst, ++src, --bytes) *dst = *src;
}

// The same, and asks for the bytes that lie `ahead` of the source, which a later call will copy. They
// may lie outside of any array: a prefetch does not fault.
static inline void tc_copy_ahead(void *to, const void *from, size_t bytes, int64_t ahead) {
#if TC_X86
  const uintptr_t next = (uintptr_t)from + (uintptr_t)ahead;
  for (size_t i = 0; i < bytes; i += 64) _mm_prefetch((const char *)(next + i), _MM_HINT_T0);
#else
  (void)ahead;
#endif
  tc_copy(to, from, bytes);
}

// Copies past the caches: whole cache lines with non-temporal stores, the ends with plain ones.
static inline void tc_stream(void *to, const void *from, size_t bytes) {
#if TC_X86
  char *dst = (char *)to;
  const char *src = (const char *)from;
  size_t head = (size_t)(-(uintptr_t)dst & 63);
  if (head > bytes) head = bytes;
  tc_copy(dst, src, head);
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
  tc_copy(dst, src, bytes);
#else
  tc_copy(to, from, bytes);
#endif
}

// Non-temporal stores are not ordered by the end of a parallel region alone.
static inline void tc_stream_end(void) {
#if TC_X86
  _mm_sfence();
#endif
}
