// Division of what is not negative by a constant, as parts like those of cuda_prelude.cuh.
// NOTE: where it can prove a small range, the front end of CUDA 13.0 divides in 16 bits and moves a
// constant term of the dividend behind the widening, so that (r + 1) % 65 reads far out of bounds at
// r = 64 (docs/hardware-facts.md). It does not see a division in these.

// 2^(bits + log) / n, rounded down, plus 1, with log = ceil(log2(n)): what to multiply by.
// Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
template <int64_t n>
struct tc_divisor {
  __device__ static constexpr int log() {
    int result = 0;
    for (int64_t rest = n - 1; rest > 0; rest /= 2) ++result;
    return result;
  }
  __device__ static constexpr uint64_t magic(int bits) {
    uint64_t quotient = 0, rest = 1;
    for (int i = 0; i < bits + log(); ++i) {
      rest *= 2;
      quotient *= 2;
      if (rest >= (uint64_t)n) {
        rest -= (uint64_t)n;
        ++quotient;
      }
    }
    return quotient + 1;
  }
};

// Rounds down; n is at least 3 and no power of two.
template <int64_t n>
TC_INLINE int tc_div(int a) {
  constexpr uint32_t magic = (uint32_t)tc_divisor<n>::magic(31);
  return (int)(__umulhi((uint32_t)a, magic) >> (tc_divisor<n>::log() - 1));
}
template <int64_t n>
TC_INLINE int64_t tc_div(int64_t a) {
  constexpr uint64_t magic = tc_divisor<n>::magic(63);
  return (int64_t)(__umul64hi((uint64_t)a, magic) >> (tc_divisor<n>::log() - 1));
}

template <int64_t n>
TC_INLINE int tc_mod(int a) {
  return a - tc_div<n>(a) * (int)n;
}
template <int64_t n>
TC_INLINE int64_t tc_mod(int64_t a) {
  return a - tc_div<n>(a) * n;
}
