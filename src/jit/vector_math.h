// Floating point for lowerings: PTX's flushing, saturation, directed roundings, the 16-bit and 8-bit formats,
// and the approximate functions, as vector code of any width without calls. Sources: PTX ISA "Floating Point
// Instructions", docs/adr (floating point): no fast-math flags, no change of the rounding mode.
#pragma once

#include "isa/row.h"
#include "jit/value.h"

namespace raddle::jit {

using isa::Mod;

// --- Flushing, saturation, minima (vector_math_rounding.cpp) ---

/// Subnormals to zero of the same sign; f32, f16, bf16. No-op for f32 where the function runs with the
/// processor's own flushing (LLVM attribute "denormal-fp-math-f32"="preserve-sign"): only for inputs and
/// results of real arithmetic.
Val flush(Val a);
/// The same, never left to the processor: for operations that move, compare bits or negate.
Val flush_always(Val a);
/// .sat: clamps to [+0, 1]; NaN gives +0.
Val saturate(Val a);
/// min.f / max.f: -0 < +0; of a number and a NaN the number, or NaN with `propagate_nan`.
Val min_float(Val a, Val b, bool propagate_nan);
Val max_float(Val a, Val b, bool propagate_nan);

// --- Roundings (vector_math_rounding.cpp); `mode` is Mod::rn (or none), rz, rm, rp; f32 and f64 ---

inline bool nearest(Mod mode) { return mode == Mod::none || mode == Mod::rn; }
Val add_rounded(Val a, Val b, Mod mode);
Val multiply_rounded(Val a, Val b, Mod mode);
Val fma_rounded(Val a, Val b, Val c, Mod mode);
Val divide_rounded(Val a, Val b, Mod mode);
Val sqrt_rounded(Val a, Mod mode);
/// Rounds `exact` (f64 that is the very value, or rounded to odd) to f32.
Val narrow_to_f32(Val exact, Mod mode);
/// f64 to f32 so that a further rounding to a narrower format rounds once: inexact results get an odd last
/// bit.
Val narrow_to_odd_f32(Val exact);
/// Integer of any width to f32 or f64.
Val int_to_float_rounded(Val a, Type t, Mod mode);
/// Float to integral value in the same format: rni, rzi, rmi, rpi.
Val round_to_integral(Val a, Mod mode);

// --- Narrow formats (vector_math_half.cpp) ---

/// f16 or bf16 (or a .b16 of that format) to f32, exactly.
Val widen_to_f32(Val a, Type from);
/// The same for a value about to be compared or rounded to an integral one: LLVM 19 would turn that into the
/// same operation on the half itself, lane by lane; a pair of multiplications keeps it from seeing the half.
Val widen_opaque(Val a, Type from);
/// .relu, .sat and minima of f16 and bf16 as integer arithmetic on their bits.
Val relu_narrow(Val a);
Val saturate_narrow(Val a);
Val minimum_narrow(Val a, Val b, bool propagate_nan, bool maximum);
/// f32 to f16 or bf16.
Val narrow_from_f32(Val a, Type to, Mod mode);
/// f16/bf16 fma with one rounding (to nearest even).
Val fma_narrow(Val a, Val b, Val c);
/// Two e4m3 or e5m2 (one byte each) conversions; saturating to the largest finite value; NaN is 0x7f.
Val narrow_to_fp8(Val f32, Type to);
Val widen_fp8_to_f32(Val bytes, Type from);

// --- Approximate functions of f32 (vector_math.cpp); errors are those of the rows ---

/// `ftz`: subnormal inputs and results count as zero.
Val ex2_approx(Val x, bool ftz);
Val lg2_approx(Val x, bool ftz);
Val sin_approx(Val x);
Val cos_approx(Val x);
Val tanh_approx(Val x);
Val rcp_approx(Val x);
Val rsqrt_approx(Val x);
Val sqrt_approx(Val x);
/// Above 2^126 a divisor counts as infinite.
Val divide_approx(Val a, Val b, bool ftz);

}  // namespace raddle::jit
