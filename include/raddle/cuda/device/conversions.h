// Conversions of one number with a named rounding, and numbers seen as their bits.
// Source: CUDA Math API, "Type Casting Intrinsics". Rounding: rn nearest even, rz to zero, ru up, rd down.
#pragma once

#include "raddle/cuda/device/attributes.h"

// RADDLE_CONVERSION(function, result, its constraint, operand, its constraint, PTX's types, PTX's four
// roundings). As assembly: LLVM 19 takes __nvvm_i2f_rz and the like for conversions to nearest, and numbers
// out of range for undefined.
#define RADDLE_CONVERSION_TO(name, result, to, operand, from, types, rounding) \
  RADDLE_DEVICE result name(operand x) {                                       \
    result converted;                                                          \
    asm("cvt." rounding "." types " %0, %1;" : to(converted) : from(x));       \
    return converted;                                                          \
  }
#define RADDLE_CONVERSION(name, result, to, operand, from, types, rn, rz, ru, rd) \
  RADDLE_CONVERSION_TO(name##_rn, result, to, operand, from, types, rn)           \
  RADDLE_CONVERSION_TO(name##_rz, result, to, operand, from, types, rz)           \
  RADDLE_CONVERSION_TO(name##_ru, result, to, operand, from, types, ru)           \
  RADDLE_CONVERSION_TO(name##_rd, result, to, operand, from, types, rd)
#define RADDLE_TO_WHOLE(...) RADDLE_CONVERSION(__VA_ARGS__, "rni", "rzi", "rpi", "rmi")
#define RADDLE_TO_FLOAT(...) RADDLE_CONVERSION(__VA_ARGS__, "rn", "rz", "rp", "rm")
RADDLE_TO_WHOLE(__float2int, int, "=r", float, "f", "s32.f32")
RADDLE_TO_WHOLE(__float2uint, unsigned int, "=r", float, "f", "u32.f32")
RADDLE_TO_WHOLE(__float2ll, long long, "=l", float, "f", "s64.f32")
RADDLE_TO_WHOLE(__float2ull, unsigned long long, "=l", float, "f", "u64.f32")
RADDLE_TO_WHOLE(__double2int, int, "=r", double, "d", "s32.f64")
RADDLE_TO_WHOLE(__double2uint, unsigned int, "=r", double, "d", "u32.f64")
RADDLE_TO_WHOLE(__double2ll, long long, "=l", double, "d", "s64.f64")
RADDLE_TO_WHOLE(__double2ull, unsigned long long, "=l", double, "d", "u64.f64")
RADDLE_TO_FLOAT(__double2float, float, "=f", double, "d", "f32.f64")
RADDLE_TO_FLOAT(__int2float, float, "=f", int, "r", "f32.s32")
RADDLE_TO_FLOAT(__uint2float, float, "=f", unsigned int, "r", "f32.u32")
RADDLE_TO_FLOAT(__ll2float, float, "=f", long long, "l", "f32.s64")
RADDLE_TO_FLOAT(__ull2float, float, "=f", unsigned long long, "l", "f32.u64")
RADDLE_TO_FLOAT(__ll2double, double, "=d", long long, "l", "f64.s64")
RADDLE_TO_FLOAT(__ull2double, double, "=d", unsigned long long, "l", "f64.u64")
#undef RADDLE_TO_FLOAT
#undef RADDLE_TO_WHOLE
#undef RADDLE_CONVERSION
#undef RADDLE_CONVERSION_TO
RADDLE_DEVICE double __int2double_rn(int x) { return x; }
RADDLE_DEVICE double __uint2double_rn(unsigned int x) { return x; }

#define RADDLE_REINTERPRETATION(name, result, operand) \
  RADDLE_DEVICE result name(operand x) { return __builtin_bit_cast(result, x); }
RADDLE_REINTERPRETATION(__float_as_int, int, float)
RADDLE_REINTERPRETATION(__float_as_uint, unsigned int, float)
RADDLE_REINTERPRETATION(__int_as_float, float, int)
RADDLE_REINTERPRETATION(__uint_as_float, float, unsigned int)
RADDLE_REINTERPRETATION(__double_as_longlong, long long, double)
RADDLE_REINTERPRETATION(__longlong_as_double, double, long long)
#undef RADDLE_REINTERPRETATION
RADDLE_DEVICE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
RADDLE_DEVICE int __double2loint(double x) { return (int)__double_as_longlong(x); }
RADDLE_DEVICE double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}
