// Reference values of PTX's approximate functions: the true value, computed in double and rounded once, with
// the special values the manual states. Flushing (`.ftz`) is the caller's, on inputs and outputs.
#pragma once

namespace raddle::numerics {

float ex2_approx(float x);
float lg2_approx(float x);
float sin_approx(float x);
float cos_approx(float x);
float tanh_approx(float x);
float rcp_approx(float x);
float rsqrt_approx(float x);
float sqrt_approx(float x);
/// |b| above 2^126: zero, or NaN where a is infinite (PTX ISA "div", `.approx`); else within 2 ulp of a / b.
float div_approx(float a, float b);
/// Within 2 ulp over the whole range (`div.full`).
float div_full(float a, float b);
/// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the upper 32 bits of operand and result count, the lower are
/// zero. rsqrt.approx.f64 (ftz false) has full precision.
double rcp_approx_f64(double x);
double rsqrt_approx_f64(double x, bool ftz);

}  // namespace raddle::numerics
