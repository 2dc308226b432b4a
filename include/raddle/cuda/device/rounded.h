// Arithmetic with a named rounding, which is never fused, and the fast approximations.
// Source: CUDA Math API, "Single Precision Intrinsics" and "Double Precision Intrinsics".
#pragma once

#include "raddle/cuda/device/attributes.h"

// RADDLE_ROUNDED(prefix, type, letter, CUDA's rounding, PTX's rounding)
#define RADDLE_ROUNDED(prefix, type, letter, cuda, ptx)                                                    \
  RADDLE_DEVICE type __##prefix##add_##cuda(type x, type y) { return __nvvm_add_##ptx##_##letter(x, y); }  \
  RADDLE_DEVICE type __##prefix##sub_##cuda(type x, type y) { return __nvvm_add_##ptx##_##letter(x, -y); } \
  RADDLE_DEVICE type __##prefix##mul_##cuda(type x, type y) { return __nvvm_mul_##ptx##_##letter(x, y); }  \
  RADDLE_DEVICE type __##prefix##div_##cuda(type x, type y) { return __nvvm_div_##ptx##_##letter(x, y); }  \
  RADDLE_DEVICE type __##prefix##rcp_##cuda(type x) { return __nvvm_rcp_##ptx##_##letter(x); }             \
  RADDLE_DEVICE type __##prefix##sqrt_##cuda(type x) { return __nvvm_sqrt_##ptx##_##letter(x); }
#define RADDLE_ROUNDED_FMA(name, type, letter, cuda, ptx) \
  RADDLE_DEVICE type name##_##cuda(type x, type y, type z) { return __nvvm_fma_##ptx##_##letter(x, y, z); }
#define RADDLE_ROUNDINGS(macro, ...) \
  macro(__VA_ARGS__, rn, rn) macro(__VA_ARGS__, rz, rz) macro(__VA_ARGS__, ru, rp) macro(__VA_ARGS__, rd, rm)
RADDLE_ROUNDINGS(RADDLE_ROUNDED, f, float, f)
RADDLE_ROUNDINGS(RADDLE_ROUNDED, d, double, d)
RADDLE_ROUNDINGS(RADDLE_ROUNDED_FMA, __fmaf, float, f)
RADDLE_ROUNDINGS(RADDLE_ROUNDED_FMA, __fma, double, d)
#undef RADDLE_ROUNDINGS
#undef RADDLE_ROUNDED_FMA
#undef RADDLE_ROUNDED

RADDLE_DEVICE float __frsqrt_rn(float x) { return (float)__ddiv_rn(1.0, __dsqrt_rn(x)); }

// The hardware's approximations; their errors are in docs/accuracy.md.
RADDLE_DEVICE float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
RADDLE_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
RADDLE_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
RADDLE_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
RADDLE_DEVICE float __tanhf(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
RADDLE_DEVICE void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
RADDLE_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
RADDLE_DEVICE float __logf(float x) { return __log2f(x) * 0x1.62e43p-1f; }
RADDLE_DEVICE float __log10f(float x) { return __log2f(x) * 0x1.344136p-2f; }
RADDLE_DEVICE float __exp2f(float x) { return __nvvm_ex2_approx_f(x); }
RADDLE_DEVICE float __expf(float x) { return __exp2f(x * 0x1.715476p+0f); }
RADDLE_DEVICE float __exp10f(float x) { return __exp2f(x * 0x1.a934fp+1f); }
RADDLE_DEVICE float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
RADDLE_DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }
