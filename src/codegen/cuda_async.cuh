// Copies of the async proxy, its fences and mbarriers (sm_90), as parts like those of
// cuda_prelude.cuh. Forms: PTX ISA, cp.async.bulk and cp.async.bulk.tensor.

// Encoded by the launcher.
struct alignas(64) tc_tensor_map {
  unsigned char bytes[128];
};

TC_INLINE uint64_t tc_map(const tc_tensor_map& map) { return (uint64_t)&map; }

TC_INLINE void tc_bulk_load(void* to, const void* from, uint32_t bytes, void* mbarrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(tc_smem(to)), "l"(from), "r"(bytes), "r"(tc_smem(mbarrier))
      : "memory");
}

TC_INLINE void tc_bulk_load_hint(void* to, const void* from, uint32_t bytes, void* mbarrier,
                                 uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], %2, [%3], %4;"
      :
      : "r"(tc_smem(to)), "l"(from), "r"(bytes), "r"(tc_smem(mbarrier)), "l"(policy)
      : "memory");
}

TC_INLINE void tc_bulk_store(void* to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(tc_smem(from)), "r"(bytes)
               : "memory");
}

TC_INLINE void tc_bulk_store_hint(void* to, const void* from, uint32_t bytes, uint64_t policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
               :
               : "l"(to), "r"(tc_smem(from)), "r"(bytes), "l"(policy)
               : "memory");
}

TC_INLINE void tc_tma_load_1d(void* to, const tc_tensor_map& map, void* mbarrier, int c0) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3}], [%2];"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0)
      : "memory");
}

TC_INLINE void tc_tma_store_1d(const tc_tensor_map& map, const void* from, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];"
               :
               : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0)
               : "memory");
}

TC_INLINE void tc_tma_load_2d(void* to, const tc_tensor_map& map, void* mbarrier, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4}], [%2];"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1)
      : "memory");
}

TC_INLINE void tc_tma_store_2d(const tc_tensor_map& map, const void* from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
               :
               : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1)
               : "memory");
}

TC_INLINE void tc_tma_load_3d(void* to, const tc_tensor_map& map, void* mbarrier, int c0, int c1,
                              int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5}], [%2];"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

TC_INLINE void tc_tma_store_3d(const tc_tensor_map& map, const void* from, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

TC_INLINE void tc_tma_load_4d(void* to, const tc_tensor_map& map, void* mbarrier, int c0, int c1,
                              int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5, %6}], [%2];"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2),
        "r"(c3)
      : "memory");
}

TC_INLINE void tc_tma_store_4d(const tc_tensor_map& map, const void* from, int c0, int c1, int c2,
                               int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

TC_INLINE void tc_tma_load_5d(void* to, const tc_tensor_map& map, void* mbarrier, int c0, int c1,
                              int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%3, %4, %5, %6, %7}], [%2];"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2),
        "r"(c3), "r"(c4)
      : "memory");
}

TC_INLINE void tc_tma_store_5d(const tc_tensor_map& map, const void* from, int c0, int c1, int c2,
                               int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

TC_INLINE void tc_tma_im2col(void* to, const tc_tensor_map& map, void* mbarrier, int c, int w,
                             int h, int n, int tap_w, int tap_h) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c), "r"(w), "r"(h), "r"(n),
        "h"((uint16_t)tap_w), "h"((uint16_t)tap_h)
      : "memory");
}

TC_INLINE void tc_tma_load_1d_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c0,
                                   uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_"
      "hint [%0], [%1, {%3}], [%2], %4;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_store_1d_hint(const tc_tensor_map& map, const void* from, int c0,
                                    uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2}], [%1], "
      "%3;"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_load_2d_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c0,
                                   int c1, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_"
      "hint [%0], [%1, {%3, %4}], [%2], %5;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_store_2d_hint(const tc_tensor_map& map, const void* from, int c0, int c1,
                                    uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3}], "
      "[%1], %4;"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_load_3d_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c0,
                                   int c1, int c2, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_"
      "hint [%0], [%1, {%3, %4, %5}], [%2], %6;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2),
        "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_store_3d_hint(const tc_tensor_map& map, const void* from, int c0, int c1,
                                    int c2, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, "
      "%4}], [%1], %5;"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_load_4d_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c0,
                                   int c1, int c2, int c3, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_"
      "hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2),
        "r"(c3), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_store_4d_hint(const tc_tensor_map& map, const void* from, int c0, int c1,
                                    int c2, int c3, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, %4, "
      "%5}], [%1], %6;"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_load_5d_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c0,
                                   int c1, int c2, int c3, int c4, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_"
      "hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c0), "r"(c1), "r"(c2),
        "r"(c3), "r"(c4), "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_store_5d_hint(const tc_tensor_map& map, const void* from, int c0, int c1,
                                    int c2, int c3, int c4, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, %4, "
      "%5, %6}], [%1], %7;"
      :
      : "l"(tc_map(map)), "r"(tc_smem(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),
        "l"(policy)
      : "memory");
}

TC_INLINE void tc_tma_im2col_hint(void* to, const tc_tensor_map& map, void* mbarrier, int c, int w,
                                  int h, int n, int tap_w, int tap_h, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::"
      "cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;"
      :
      : "r"(tc_smem(to)), "l"(tc_map(map)), "r"(tc_smem(mbarrier)), "r"(c), "r"(w), "r"(h), "r"(n),
        "h"((uint16_t)tap_w), "h"((uint16_t)tap_h), "l"(policy)
      : "memory");
}

TC_INLINE void tc_prefetch_map(const tc_tensor_map& map) {
  asm volatile("prefetch.tensormap [%0];" : : "l"(tc_map(map)) : "memory");
}

// Orders this thread's writes to shared memory before later copies of the async proxy.
TC_INLINE void tc_fence_async() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

TC_INLINE void tc_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }

template <int groups>
TC_INLINE void tc_bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(groups) : "memory");
}

template <int groups>
TC_INLINE void tc_bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(groups) : "memory");
}

TC_INLINE void tc_mbarrier_init(void* mbarrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(tc_smem(mbarrier)), "r"(arrivals)
               : "memory");
}

TC_INLINE void tc_mbarrier_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;"
               :
               :
               : "memory");
}

TC_INLINE void tc_expect_tx(void* mbarrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(tc_smem(mbarrier)), "r"(bytes)
               : "memory");
}

// Returns once the phase of this parity is complete.
TC_INLINE void tc_mbarrier_wait(void* mbarrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 "
        "%0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(tc_smem(mbarrier)), "r"(parity)
        : "memory");
  } while (!done);
}
