// IEEE arithmetic with PTX's rounding modes for f16, bf16, f32 and f64; subnormals kept (the helpers below
// flush them: the caller applies these to inputs and outputs). Results do not depend on the host's rounding
// mode. NaN results are the format's canonical NaN for formats up to f32 and any NaN for f64.
#pragma once

#include "numerics/half.h"

namespace raddle::numerics {

template <class T>
T add(T a, T b, Rounding r = Rounding::rn);
template <class T>
T sub(T a, T b, Rounding r = Rounding::rn);
template <class T>
T mul(T a, T b, Rounding r = Rounding::rn);
template <class T>
T fma(T a, T b, T c, Rounding r = Rounding::rn);
template <class T>
T div(T a, T b, Rounding r = Rounding::rn);
template <class T>
T sqrt(T a, Rounding r = Rounding::rn);
template <class T>
T rcp(T a, Rounding r = Rounding::rn);

/// PTX `.ftz`: a subnormal becomes a zero of its sign.
float flush(float x);
/// PTX `.sat`: into [0.0, 1.0], NaN to +0.0.
template <class T>
T saturate(T x);
/// PTX `.relu`: negative values to +0.0, NaN canonical.
template <class T>
T relu(T x);

struct MinMax {
  bool nan = false;      ///< .NaN: a NaN operand makes the result NaN
  bool xorsign = false;  ///< .xorsign.abs: of the magnitudes, with the xor of the signs
};
/// PTX min/max: a NaN operand loses, two give the canonical NaN; -0.0 < +0.0.
template <class T>
T min(T a, T b, MinMax mode = {});
template <class T>
T max(T a, T b, MinMax mode = {});

}  // namespace raddle::numerics
