// What generated CUDA C++ begins with: the parts of it that a source uses. A part ends at an empty
// line, and is used when a name that it defines is. The first always is.

#define TC_INLINE __device__ __forceinline__
#ifdef __CUDACC__
#pragma nv_diag_suppress 177
#endif
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#endif
extern __shared__ __align__(1024) unsigned char tc_shared[];

TC_INLINE int tc_index_min(int a, int b) { return a < b ? a : b; }
TC_INLINE int64_t tc_index_min(int64_t a, int64_t b) { return a < b ? a : b; }

TC_INLINE int tc_index_max(int a, int b) { return a > b ? a : b; }
TC_INLINE int64_t tc_index_max(int64_t a, int64_t b) { return a > b ? a : b; }

// The address of shared memory as PTX wants it.
TC_INLINE uint32_t tc_smem(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

template <int bytes>
struct alignas(bytes) tc_pack {
  uint32_t words[bytes / 4];
};
template <>
struct alignas(32) tc_pack<32> {
  uint64_t words[4];
};
template <>
struct tc_pack<1> {
  uint8_t byte;
};
template <>
struct tc_pack<2> {
  uint16_t half;
};
template <>
struct alignas(16) tc_pack<16> {
  uint4 words;
};
template <>
struct alignas(8) tc_pack<8> {
  uint2 words;
};

// One access of so many bytes on each side.
template <int bytes>
TC_INLINE void tc_move(void* to, const void* from) {
  *(tc_pack<bytes>*)to = *(const tc_pack<bytes>*)from;
}

template <int bytes>
struct tc_word_of;
template <>
struct tc_word_of<1> {
  typedef uint8_t type;
};
template <>
struct tc_word_of<2> {
  typedef uint16_t type;
};
template <>
struct tc_word_of<4> {
  typedef uint32_t type;
};
template <>
struct tc_word_of<8> {
  typedef unsigned long long type;
};
template <int bytes>
using tc_word = typename tc_word_of<bytes>::type;

// With an L2 cache policy (PTX ISA, ld and st with .L2::cache_hint).
template <int bytes>
TC_INLINE void tc_load_hint(void* to, const void* from, uint64_t policy);
template <>
__device__ __forceinline__ void tc_load_hint<1>(void* to, const void* from, uint64_t policy) {
  unsigned short v;
  asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;"
               : "=h"(v)
               : "l"(from), "l"(policy)
               : "memory");
  *(tc_word<1>*)to = (tc_word<1>)v;
}
template <>
__device__ __forceinline__ void tc_load_hint<2>(void* to, const void* from, uint64_t policy) {
  unsigned short v;
  asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(v)
               : "l"(from), "l"(policy)
               : "memory");
  *(tc_word<2>*)to = (tc_word<2>)v;
}
template <>
__device__ __forceinline__ void tc_load_hint<4>(void* to, const void* from, uint64_t policy) {
  unsigned int v;
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(v)
               : "l"(from), "l"(policy)
               : "memory");
  *(tc_word<4>*)to = (tc_word<4>)v;
}
template <>
__device__ __forceinline__ void tc_load_hint<8>(void* to, const void* from, uint64_t policy) {
  unsigned long long v;
  asm volatile("ld.global.L2::cache_hint.u64 %0, [%1], %2;"
               : "=l"(v)
               : "l"(from), "l"(policy)
               : "memory");
  *(tc_word<8>*)to = (tc_word<8>)v;
}
#if __CUDA_ARCH__ >= 1000
template <>
__device__ __forceinline__ void tc_load_hint<32>(void* to, const void* from, uint64_t policy) {
  unsigned long long* v = (unsigned long long*)to;
  asm volatile("ld.global.L2::cache_hint.v4.u64 {%0, %1, %2, %3}, [%4], %5;"
               : "=l"(v[0]), "=l"(v[1]), "=l"(v[2]), "=l"(v[3])
               : "l"(from), "l"(policy)
               : "memory");
}
#endif
template <>
__device__ __forceinline__ void tc_load_hint<16>(void* to, const void* from, uint64_t policy) {
  uint4 v;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from), "l"(policy)
               : "memory");
  *(uint4*)to = v;
}

template <int bytes>
TC_INLINE void tc_store_hint(void* to, const void* from, uint64_t policy);
template <>
__device__ __forceinline__ void tc_store_hint<1>(void* to, const void* from, uint64_t policy) {
  const unsigned short v = *(const tc_word<1>*)from;
  asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;"
               :
               : "l"(to), "h"(v), "l"(policy)
               : "memory");
}
template <>
__device__ __forceinline__ void tc_store_hint<2>(void* to, const void* from, uint64_t policy) {
  const unsigned short v = *(const tc_word<2>*)from;
  asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;"
               :
               : "l"(to), "h"(v), "l"(policy)
               : "memory");
}
template <>
__device__ __forceinline__ void tc_store_hint<4>(void* to, const void* from, uint64_t policy) {
  const unsigned int v = *(const tc_word<4>*)from;
  asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;"
               :
               : "l"(to), "r"(v), "l"(policy)
               : "memory");
}
template <>
__device__ __forceinline__ void tc_store_hint<8>(void* to, const void* from, uint64_t policy) {
  const unsigned long long v = *(const tc_word<8>*)from;
  asm volatile("st.global.L2::cache_hint.u64 [%0], %1, %2;"
               :
               : "l"(to), "l"(v), "l"(policy)
               : "memory");
}
#if __CUDA_ARCH__ >= 1000
template <>
__device__ __forceinline__ void tc_store_hint<32>(void* to, const void* from, uint64_t policy) {
  const unsigned long long* v = (const unsigned long long*)from;
  asm volatile("st.global.L2::cache_hint.v4.u64 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "l"(v[0]), "l"(v[1]), "l"(v[2]), "l"(v[3]), "l"(policy)
               : "memory");
}
#endif
template <>
__device__ __forceinline__ void tc_store_hint<16>(void* to, const void* from, uint64_t policy) {
  const uint4 v = *(const uint4*)from;
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;"
               :
               : "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(policy)
               : "memory");
}

// PTX ISA, cp.async: .cg (past L1) takes 16 bytes only. `taken` bytes come from the source.
template <int bytes>
TC_INLINE void tc_cp_async(void* to, const void* from, int taken) {
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(tc_smem(to)), "l"(from), "r"(taken)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(tc_smem(to)), "l"(from), "n"(bytes), "r"(taken)
                 : "memory");
  }
}

template <int bytes>
TC_INLINE void tc_cp_async_hint(void* to, const void* from, int taken, uint64_t policy) {
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                 :
                 : "r"(tc_smem(to)), "l"(from), "r"(taken), "l"(policy)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;"
                 :
                 : "r"(tc_smem(to)), "l"(from), "n"(bytes), "r"(taken), "l"(policy)
                 : "memory");
  }
}

TC_INLINE void tc_cp_async_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }

template <int groups>
TC_INLINE void tc_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory");
}

TC_INLINE void tc_ldmatrix_x1(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x1(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :
               : "r"(tc_smem(row)), "r"(r[0])
               : "memory");
}

TC_INLINE void tc_ldmatrix_x1_trans(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x1_trans(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :
               : "r"(tc_smem(row)), "r"(r[0])
               : "memory");
}

TC_INLINE void tc_ldmatrix_x2(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x2(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :
               : "r"(tc_smem(row)), "r"(r[0]), "r"(r[1])
               : "memory");
}

TC_INLINE void tc_ldmatrix_x2_trans(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x2_trans(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :
               : "r"(tc_smem(row)), "r"(r[0]), "r"(r[1])
               : "memory");
}

TC_INLINE void tc_ldmatrix_x4(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x4(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(tc_smem(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

TC_INLINE void tc_ldmatrix_x4_trans(void* to, const void* row) {
  uint32_t* r = (uint32_t*)to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tc_smem(row))
               : "memory");
}

TC_INLINE void tc_stmatrix_x4_trans(void* row, const void* from) {
  const uint32_t* r = (const uint32_t*)from;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(tc_smem(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

TC_INLINE void tc_barrier() { __syncthreads(); }
