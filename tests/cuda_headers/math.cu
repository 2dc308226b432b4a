// The math functions of include/raddle/cuda/device/math_*.h against the host's in long double, float and double.
// The limits are what was measured, rounded up; bench/results/accuracy.md has the table.
#include "check.h"

/// sin(pi x), exact where x is a multiple of a half.
static long double half_turns(long double x) {
  const long double part = remainderl(x, 2);
  return sinl(M_PIl * (part > 0.5L ? 1 - part : part < -0.5L ? -1 - part : part));
}

// X(function, lowest argument, highest, most units in the last place for float, for double, exact value)
#define UNARY(X)                                                                       \
  X(sin, -100, 100, 0.51, 0.8, sinl(x))                                                \
  X(cos, -100, 100, 0.51, 0.8, cosl(x))                                                \
  X(tan, -100, 100, 0.51, 1.8, tanl(x))                                                \
  X(sinpi, -4, 4, 0.51, 1.0, half_turns(x))                                             \
  X(cospi, -4, 4, 0.51, 1.0, half_turns(x + 0.5L))                                          \
  X(asin, -1, 1, 0.51, 1.0, asinl(x))                                                  \
  X(acos, -1, 1, 0.51, 1.0, acosl(x))                                                  \
  X(atan, -20, 20, 0.51, 1.0, atanl(x))                                                \
  X(sinh, -20, 20, 0.51, 2.0, sinhl(x))                                                \
  X(cosh, -20, 20, 0.51, 1.5, coshl(x))                                                \
  X(tanh, -4, 4, 0.51, 2.0, tanhl(x))                                                  \
  X(asinh, -50, 50, 0.51, 2.0, asinhl(x))                                              \
  X(acosh, 1, 50, 0.51, 2.0, acoshl(x))                                                \
  X(atanh, -1, 1, 0.51, 2.0, atanhl(x))                                                \
  X(exp, -80, 80, 0.51, 1.0, expl(x))                                                  \
  X(exp2, -120, 120, 0.51, 1.0, exp2l(x))                                              \
  X(exp10, -36, 36, 0.51, 1.0, exp10l(x))                                              \
  X(expm1, -3, 3, 0.51, 1.2, expm1l(x))                                                \
  X(log, 0.01, 100, 0.51, 1.0, logl(x))                                                \
  X(log2, 0.01, 100, 0.51, 1.0, log2l(x))                                              \
  X(log10, 0.01, 100, 0.51, 1.0, log10l(x))                                            \
  X(log1p, -0.9, 10, 0.51, 1.5, log1pl(x))                                             \
  X(cbrt, -100, 100, 0.51, 1.0, cbrtl(x))                                              \
  X(rcbrt, 0.1, 100, 0.51, 1.5, 1 / cbrtl(x))                                          \
  X(sqrt, 0, 100, 0.51, 0.51, sqrtl(x))                                                \
  X(rsqrt, 0.1, 100, 2.0, 1.5, 1 / sqrtl(x))                                           \
  X(erf, -4, 4, 0.51, 1.0, erfl(x))                                                    \
  X(erfc, -4, 8, 0.51, 4.0, erfcl(x))                                                  \
  X(erfcx, 0, 8, 0.51, 4.0, expl(x* x) * erfcl(x))                                     \
  X(normcdf, -8, 4, 0.51, 4.0, erfcl(-x * M_SQRT1_2l) / 2)                             \
  X(tgamma, 0.1, 20, 0.51, 12.0, tgammal(x))                                           \
  X(lgamma, 3, 100, 0.51, 8.0, lgammal(x))                                            \
  X(floor, -9, 9, 0, 0, floorl(x))                                                     \
  X(ceil, -9, 9, 0, 0, ceill(x))                                                       \
  X(trunc, -9, 9, 0, 0, truncl(x))                                                     \
  X(rint, -9, 9, 0, 0, rintl(x))                                                       \
  X(round, -9, 9, 0, 0, roundl(x))                                                     \
  X(fabs, -9, 9, 0, 0, fabsl(x))

constexpr int kCount = 1536;

template <typename T, typename Function>
__global__ void apply(Function function, const T* in, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = function(in[i]);
}

/// Arguments from low to high, with both, the middle and halves among them.
template <typename T>
std::vector<T> arguments(double low, double high) {
  std::vector<T> result;
  for (int i = 0; i < kCount; ++i) {
    const double part = (double)i / (kCount - 1);
    result.push_back((T)(low + (high - low) * part));
  }
  result[1] = (T)(low + (high - low) / 2);
  result[2] = (T)1.5;
  result[3] = (T)1;
  return result;
}

template <typename T, typename Function, typename Exact>
void check_unary(const char* name, double low, double high, double limit, Function function, Exact exact) {
  const std::vector<T> in = arguments<T>(low, high);
  const Buffer<T> from(in), to(kCount);
  apply<<<kCount / 256, 256>>>(function, from.get(), to.get());
  must(cudaGetLastError());
  const std::vector<T> got = to.contents();
  double worst = 0;
  T at = 0;
  for (int i = 0; i < kCount; ++i) {
    const double wrong = distance(got[i], exact((long double)in[i]));
    if (!(wrong > worst)) continue;
    worst = wrong;
    at = in[i];
  }
  char detail[100];
  std::snprintf(detail, sizeof detail, "%.3f units at most, at %.17g", worst, (double)at);
  check(worst <= limit, name, detail);
}

// X(function, most units for float, for double, exact value)
#define BINARY(X)                                     \
  X(pow, 0.51, 1.0, powl(x, y))                       \
  X(atan2, 0.51, 1.5, atan2l(x, y))                   \
  X(hypot, 0.51, 1.0, hypotl(x, y))                   \
  X(fmod, 0, 0, fmodl(x, y))                          \
  X(remainder, 0, 0, remainderl(x, y))                \
  X(fmin, 0, 0, fminl(x, y))                          \
  X(fmax, 0, 0, fmaxl(x, y))                          \
  X(fdim, 0.51, 0.51, fdiml(x, y))                    \
  X(copysign, 0, 0, copysignl(x, y))

template <typename T, typename Function>
__global__ void apply_two(Function function, const T* a, const T* b, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = function(a[i], b[i]);
}

template <typename T, typename Function, typename Exact>
void check_binary(const char* name, double limit, Function function, Exact exact) {
  std::vector<T> a, b;
  for (int i = 0; i < kCount; ++i) {
    a.push_back((T)(0.01 + i * 0.017));
    b.push_back((T)((i * 37 % 101 - 50) / 7.0));
  }
  // Results that the standard fixes: zeros, infinities, NaN.
  const double special[][2] = {{0, 0},   {0, -1},        {-0.0, 3},        {1, NAN},   {NAN, 0},      {2, INFINITY},
                               {0.5, INFINITY}, {INFINITY, -1}, {INFINITY, 2}, {-2, 3}, {-2, 4}, {-8, 0.5}};
  for (int i = 0; i < 12; ++i) {
    a[i] = (T)special[i][0];
    b[i] = (T)special[i][1];
  }
  const Buffer<T> first(a), second(b), to(kCount);
  apply_two<<<kCount / 256, 256>>>(function, first.get(), second.get(), to.get());
  must(cudaGetLastError());
  const std::vector<T> got = to.contents();
  double worst = 0;
  int at = 0;
  for (int i = 0; i < kCount; ++i) {
    const double wrong = distance(got[i], exact((long double)a[i], (long double)b[i]));
    if (!(wrong > worst)) continue;
    worst = wrong;
    at = i;
  }
  char detail[120];
  std::snprintf(detail, sizeof detail, "%.3f units at most, at %.17g, %.17g", worst, (double)a[at], (double)b[at]);
  check(worst <= limit, name, detail);
}

/// Arguments at the ends of the numbers, where functions overflow, vanish or reduce by many turns.
void check_extremes() {
  const std::vector<double> in = {0.0, -0.0, 1e22, -1e300, 5e-324, 1e-310, 710, -746, -745, 1e16, INFINITY, -INFINITY, NAN, 0x1p1023, 3e40, 1};
  const Buffer<double> from(in), to(in.size() * 6);
  const int n = (int)in.size();
  apply<<<1, n>>>([out = to.get(), n] __device__(double x) {
    const int i = threadIdx.x;
    out[n + i] = cos(x);
    out[2 * n + i] = exp(x);
    out[3 * n + i] = log(x);
    out[4 * n + i] = atan(x);
    out[5 * n + i] = cbrt(x);
    return sin(x);
  }, from.get(), to.get());
  must(cudaGetLastError());
  const std::vector<double> got = to.contents();
  long double (*const exact[])(long double) = {sinl, cosl, expl, logl, atanl, cbrtl};
  const char* const names[] = {"sin", "cos", "exp", "log", "atan", "cbrt"};
  for (int f = 0; f < 6; ++f) {
    double worst = 0, at = 0;
    for (int i = 0; i < n; ++i) {
      const double wrong = distance(got[f * n + i], exact[f](in[i]));
      if (wrong > worst) at = in[i];
      worst = std::fmax(worst, wrong);
    }
    char detail[100];
    std::snprintf(detail, sizeof detail, "%s, %.3f units at most, at %g", names[f], worst, at);
    check(worst <= 1.0, "extreme arguments", detail);
  }
}

int main() {
#define CHECK_UNARY(name, low, high, limit_f, limit_d, exact)                                                         \
  check_unary<float>(#name " of float", low, high, limit_f, [] __device__(float x) { return name(x); },               \
                     [](long double x) { return exact; });                                                            \
  check_unary<double>(#name " of double", low, high, limit_d, [] __device__(double x) { return name(x); },            \
                      [](long double x) { return exact; });
  UNARY(CHECK_UNARY)
#define CHECK_BINARY(name, limit_f, limit_d, exact)                                                                   \
  check_binary<float>(#name " of float", limit_f, [] __device__(float x, float y) { return name(x, y); },             \
                      [](long double x, long double y) { return exact; });                                            \
  check_binary<double>(#name " of double", limit_d, [] __device__(double x, double y) { return name(x, y); },         \
                       [](long double x, long double y) { return exact; });
  BINARY(CHECK_BINARY)
  check_extremes();
  check_unary<double>("erfinv of erf", -2.5, 2.5, 1e3, [] __device__(double x) { return erfinv(erf(x)); }, [](long double x) { return x; });
  check_unary<double>("erfcinv of erfc", 0.5, 5, 16, [] __device__(double x) { return erfcinv(erfc(x)); }, [](long double x) { return x; });
  return finish();
}
