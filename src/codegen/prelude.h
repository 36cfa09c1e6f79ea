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

// NOTE: assembler instead of <immintrin.h>, which costs 200 ms to compile.
#if defined(__GNUC__) && defined(__x86_64__)
#define TC_STREAM 1
#if defined(__AVX512F__)
#define TC_VECTOR_BYTES 64
#define TC_STORE_PAST_CACHES "vmovntdq %1, %0"
#elif defined(__AVX__)
#define TC_VECTOR_BYTES 32
#define TC_STORE_PAST_CACHES "vmovntdq %1, %0"
#else
#define TC_VECTOR_BYTES 16
#define TC_STORE_PAST_CACHES "movntdq %1, %0"
#endif
typedef char tc_vector __attribute__((vector_size(TC_VECTOR_BYTES), may_alias));
#else
#define TC_STREAM 0
#endif

static inline int64_t tc_index_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tc_index_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Rows of a tile are short: a loop costs less than a call of memcpy.
static inline void tc_copy(void* to, const void* from, size_t bytes) {
  char* dst = (char*)to;
  const char* src = (const char*)from;
  if (bytes >= 4096) {
    memcpy(dst, src, bytes);
    return;
  }
  for (; bytes >= 64; dst += 64, src += 64, bytes -= 64) memcpy(dst, src, 64);
  for (; bytes >= 8; dst += 8, src += 8, bytes -= 8) memcpy(dst, src, 8);
  for (; bytes > 0; ++dst, ++src, --bytes) *dst = *src;
}

// The same, and asks for the bytes that lie `ahead` of the source, which a later call will copy.
// They may lie outside of any array: a prefetch does not fault.
static inline void tc_copy_ahead(void* to, const void* from, size_t bytes, int64_t ahead) {
#if defined(__GNUC__)
  const uintptr_t next = (uintptr_t)from + (uintptr_t)ahead;
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char*)(next + i));
#else
  (void)ahead;
#endif
  tc_copy(to, from, bytes);
}

// Copies past the caches: whole cache lines with non-temporal stores, the ends with plain ones.
static inline void tc_stream(void* to, const void* from, size_t bytes) {
#if TC_STREAM
  char* dst = (char*)to;
  const char* src = (const char*)from;
  size_t head = (size_t)(-(uintptr_t)dst & 63);
  if (head > bytes) head = bytes;
  tc_copy(dst, src, head);
  dst += head, src += head, bytes -= head;
  for (; bytes >= 64; dst += 64, src += 64, bytes -= 64) {
    for (int i = 0; i < 64; i += TC_VECTOR_BYTES) {
      tc_vector line;
      memcpy(&line, src + i, sizeof line);
      __asm__(TC_STORE_PAST_CACHES : "=m"(*(tc_vector*)(dst + i)) : "x"(line));
    }
  }
  tc_copy(dst, src, bytes);
#else
  tc_copy(to, from, bytes);
#endif
}

// Non-temporal stores are not ordered by the end of a parallel region alone.
static inline void tc_stream_end(void) {
#if TC_STREAM
  __asm__ __volatile__("sfence" ::: "memory");
#endif
}
