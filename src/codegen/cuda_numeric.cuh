// Functions of base/numeric.h that the hardware has, bit for bit the same (tests/codegen checks
// that on a GPU). They replace those in generated CUDA C++; what is called tc_soft_NAME is the NAME
// of base/numeric.h.

TC_INLINE uint32_t tc_bits_of_f32(float x) { return __float_as_uint(x); }

TC_INLINE float tc_f32_of_bits(uint32_t bits) { return __uint_as_float(bits); }

TC_INLINE uint64_t tc_bits_of_f64(double x) { return (uint64_t)__double_as_longlong(x); }

TC_INLINE double tc_f64_of_bits(uint64_t bits) { return __longlong_as_double((long long)bits); }

TC_INLINE tc_f16 tc_f16_from_f32(tc_f32 x) {
  tc_f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}

TC_INLINE tc_f32 tc_f32_from_f16(tc_f16 x) {
  tc_f32 result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}

TC_INLINE tc_bf16 tc_bf16_from_f32(tc_f32 x) {
  tc_bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}

// PTX ISA, cvt: pairs only, from sm_89 on.
TC_INLINE tc_e4m3 tc_e4m3_from_f32(tc_f32 x) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (tc_e4m3)pair;
#else
  return tc_soft_e4m3_from_f32(x);
#endif
}

TC_INLINE tc_e5m2 tc_e5m2_from_f32(tc_f32 x) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (tc_e5m2)pair;
#else
  return tc_soft_e5m2_from_f32(x);
#endif
}

TC_INLINE tc_f32 tc_f32_from_e4m3(tc_e4m3 x) {
#if __CUDA_ARCH__ >= 890
  uint32_t pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((uint16_t)x));
  return tc_f32_from_f16((tc_f16)pair);
#else
  return tc_soft_f32_from_e4m3(x);
#endif
}

TC_INLINE tc_f32 tc_f32_from_e5m2(tc_e5m2 x) {
#if __CUDA_ARCH__ >= 890
  uint32_t pair;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(pair) : "h"((uint16_t)x));
  return tc_f32_from_f16((tc_f16)pair);
#else
  return tc_soft_f32_from_e5m2(x);
#endif
}
