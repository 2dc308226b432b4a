// The cases of libdevice_test.cpp, in its function cases(): each function's shape, arguments, limit and exact
// value. Long, because libdevice is.
#define EXACT(value)                  \
  [=](const std::vector<Number>& x) { \
    (void)x;                          \
    return std::vector<Number> value; \
  }
#define H(f) of(static_cast<Unary>([](Number x) -> Number { return f; }))
#define H2(f) of(static_cast<Binary>([](Number x, Number y) -> Number { return f; }))
// clang-format off
unary("acos", -1, 1, 1, 2, H(std::acos(x)));
unary("acosh", 1, 50, 1, 3, H(std::acosh(x)));
unary("asin", -1, 1, 1, 2, H(std::asin(x)));
unary("asinh", -50, 50, 1, 3, H(std::asinh(x)));
unary("atan", -20, 20, 1, 2, H(std::atan(x)));
unary("atanh", -0.99L, 0.99L, 1, 3, H(std::atanh(x)));
unary("cbrt", -100, 100, 1, 1, H(std::cbrt(x)));
unary("ceil", -9, 9, 0, 0, H(std::ceil(x)));
unary("cos", -100, 100, 1, 2, H(std::cos(x)));
unary("cosh", -20, 20, 1, 2, H(std::cosh(x)));
unary("cospi", -4, 4, 1, 2, H(half_turns(x, 0.5L)));
unary("cyl_bessel_i0", -60, 60, 6, 6, H(std::cyl_bessel_il(0, std::fabs(x))));
unary("cyl_bessel_i1", -60, 60, 6, 8, H(x < 0 ? -std::cyl_bessel_il(1, -x) : std::cyl_bessel_il(1, x)));
unary("erf", -4, 4, 1, 2, H(std::erf(x)));
unary("erfc", -4, 8, 1, 5, H(std::erfc(x)));
unary("erfcx", 0, 8, 1, 4, H(std::exp(x * x) * std::erfc(x)));
unary("erfinv", -0.99L, 0.99L, 2, 5, H(bisected([x](Number y) { return std::erf(y) - x; }, -8, 8)));
unary("erfcinv", 0.01L, 1.99L, 4, 6, H(bisected([x](Number y) { return x - std::erfc(y); }, -8, 8)));
unary("normcdf", -8, 4, 5, 5, EXACT({std::erfc(-x[0] / root) / 2}));
unary("normcdfinv", 0.01L, 0.99L, 5, 8, H(bisected([x](Number y) { return std::erfc(-y / std::sqrt(2.0L)) / 2 - x; }, -20, 20)));
unary("exp", -80, 80, 1, 1, H(std::exp(x)));
unary("exp10", -36, 36, 1, 1, H(std::pow(10.0L, x)));
unary("exp2", -120, 120, 1, 1, H(std::exp2(x)));
unary("expm1", -3, 3, 1, 2, H(std::expm1(x)));
unary("fabs", -9, 9, 0, 0, H(std::fabs(x)));
unary("floor", -9, 9, 0, 0, H(std::floor(x)));
// Bessel functions: units in the last place below 8, beside zeros too; above, where the table bounds the
// absolute error: BesselFunctionsOfLargeArguments.
unary("j0", -8, 8, 9, 7, H(::j0l(x)));
unary("j1", -8, 8, 9, 7, H(::j1l(x)));
unary("y0", 0.01L, 8, 9, 7, H(::y0l(x)));
unary("y1", 0.01L, 8, 9, 7, H(::y1l(x)));
unary("lgamma", 3, 100, 1, 8, H(std::lgamma(x)));
unary("log", 0.01L, 100, 1, 1, H(std::log(x)));
unary("log10", 0.01L, 100, 1, 1, H(std::log10(x)));
unary("log1p", -0.9L, 10, 1, 2, H(std::log1p(x)));
unary("log2", 0.01L, 100, 1, 1, H(std::log2(x)));
unary("logb", 0.01L, 100, 0, 0, H(std::logb(x)));
unary("nearbyint", -9, 9, 0, 0, H(std::nearbyint(x)));
unary("rcbrt", 0.1L, 100, 1, 2, H(1 / std::cbrt(x)));
unary("rint", -9, 9, 0, 0, H(std::rint(x)));
unary("round", -9, 9, 0, 0, H(std::round(x)));
unary("rsqrt", 0.1L, 100, 2, 2, H(1 / std::sqrt(x)));
unary("sin", -100, 100, 1, 2, H(std::sin(x)));
unary("sinh", -20, 20, 1, 2, H(std::sinh(x)));
unary("sinpi", -4, 4, 1, 2, H(half_turns(x, 0)));
unary("sqrt", 0, 100, 0.51L, 0.51L, H(std::sqrt(x)));
unary("tan", -100, 100, 1, 2, H(std::tan(x)));
unary("tanh", -4, 4, 1, 2, H(std::tanh(x)));
unary("tgamma", 0.1L, 20, 1, 12, H(std::tgamma(x)));
unary("trunc", -9, 9, 0, 0, H(std::trunc(x)));
binary("atan2", -9, 9, 1, 2, H2(std::atan2(x, y)));
binary("copysign", -9, 9, 0, 0, H2(std::copysign(x, y)));
binary("fdim", -9, 9, 0.51L, 0.51L, H2(std::fdim(x, y)));
binary("fmax", -9, 9, 0, 0, H2(std::fmax(x, y)));
binary("fmin", -9, 9, 0, 0, H2(std::fmin(x, y)));
binary("fmod", -90, 90, 0, 0, H2(std::fmod(x, y)));
binary("hypot", -90, 90, 1, 2, H2(std::hypot(x, y)));
binary("pow", 0.1L, 20, 1, 2, H2(std::pow(x, y)));
binary("remainder", -90, 90, 0, 0, H2(std::remainder(x, y)));
binary("rhypot", 0.1L, 90, 2, 2, H2(1 / std::hypot(x, y)));
all.push_back({"__nv_nextafterf", "f:ff", -9, 9, 0, H2(std::nextafter(static_cast<float>(x), static_cast<float>(y)))});
all.push_back({"__nv_nextafter", "d:dd", -9, 9, 0, H2(std::nextafter(static_cast<double>(x), static_cast<double>(y)))});
all.push_back({"__nv_nanf", "f:L", 0, 9, 0, EXACT({NAN})});
all.push_back({"__nv_nan", "d:L", 0, 9, 0, EXACT({NAN})});

// Float and double of other shapes: f stands for both in the signature, F too.
const auto both = [&](const char* name, std::string signature, Number low, Number high, Number ulps, Exact exact) {
  all.push_back({fmt::format("__nv_{}f", name), signature, low, high, ulps, exact});
  for (char& c : signature) c = c == 'f' ? 'd' : c == 'F' ? 'D' : c == 'p' ? 'q' : c;
  all.push_back({fmt::format("__nv_{}", name), signature, low, high, ulps, exact});
};
both("fma", "f:fff", 1, 9, 0.51L, EXACT({x[0] * x[1] + x[2]}));
both("norm3d", "f:fff", -9, 9, 2, EXACT({std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])}));
both("rnorm3d", "f:fff", -9, 9, 2, EXACT({1 / std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])}));
both("norm4d", "f:ffff", -9, 9, 2, EXACT({std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])}));
both("rnorm4d", "f:ffff", -9, 9, 2, EXACT({1 / std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])}));
const auto length = [](Number n) {  // of the first numbers in the test's buffers
  const Number all_squares[] = {0, 9, 25, 169, 7225, 7225.25L, 7229.25L, 7278.25L};
  return std::sqrt(all_squares[static_cast<int>(n)]);
};
both("norm", "f:ip", 1, 8, 2, EXACT({length(x[0])}));
both("rnorm", "f:ip", 1, 8, 2, EXACT({1 / length(x[0])}));
both("ldexp", "f:fi", -20, 20, 0, EXACT({std::ldexp(x[0], static_cast<int>(x[1]))}));
both("scalbn", "f:fi", -20, 20, 0, EXACT({std::ldexp(x[0], static_cast<int>(x[1]))}));
both("powi", "f:fi", 0.5L, 9, 2, EXACT({std::pow(x[0], x[1])}));
// Recurrences lose digits beside zeros: BesselFunctionsOfLargeArguments bounds the absolute error.
all.push_back({"__nv_jnf", "f:if", 2, 9, 9, EXACT({::jnl(static_cast<int>(x[0]), x[1])})});
all.push_back({"__nv_ynf", "f:if", 2, 9, 9, EXACT({::ynl(static_cast<int>(x[0]), x[1])})});
all.push_back({"__nv_jn", "d:id", 2, 9, 40, EXACT({::jnl(static_cast<int>(x[0]), x[1])})});
all.push_back({"__nv_yn", "d:id", 2, 9, 1e5L, EXACT({::ynl(static_cast<int>(x[0]), x[1])})});
both("ilogb", "i:f", 0.01L, 900, 0, EXACT({static_cast<Number>(std::ilogb(x[0]))}));
both("llrint", "l:f", -900, 900, 0, EXACT({std::rint(x[0])}));
both("llround", "l:f", -900, 900, 0, EXACT({std::round(x[0])}));
both("frexp", "f:fI", -900, 900, 0, [](const std::vector<Number>& x) { int n; const Number part = std::frexp(x[0], &n); return std::vector<Number>{part, static_cast<Number>(n)}; });
both("modf", "f:fF", -900, 900, 0, EXACT(({x[0] - std::trunc(x[0]), std::trunc(x[0])})));
both("remquo", "f:ffI", 1, 90, 0, [](const std::vector<Number>& x) { const Number rest = std::remainder(x[0], x[1]); return std::vector<Number>{rest, std::rint((x[0] - rest) / x[1])}; });
both("sincos", "v:fFF", -100, 100, 2, EXACT(({std::sin(x[0]), std::cos(x[0])})));
both("sincospi", "v:fFF", -4, 4, 2, EXACT(({half_turns(x[0], 0), half_turns(x[0], 0.5L)})));

all.push_back({"__nv_finitef", "i:f", -9, 9, 0, EXACT({1})});
all.push_back({"__nv_isfinited", "i:d", -9, 9, 0, EXACT({1})});
all.push_back({"__nv_isinff", "i:f", -9, 9, 0, EXACT({0})});
all.push_back({"__nv_isinfd", "i:d", -9, 9, 0, EXACT({0})});
all.push_back({"__nv_isnanf", "i:f", -9, 9, 0, EXACT({0})});
all.push_back({"__nv_isnand", "i:d", -9, 9, 0, EXACT({0})});
all.push_back({"__nv_signbitf", "i:f", -9, 9, 0, H(std::signbit(x))});
all.push_back({"__nv_signbitd", "i:d", -9, 9, 0, H(std::signbit(x))});

// The hardware's approximations: docs/accuracy.md.
all.push_back({"__nv_fast_cosf", "f:f", 0.2L, 1.2L, 16, H(std::cos(x))});
all.push_back({"__nv_fast_sinf", "f:f", 0.5L, 1.5L, 16, H(std::sin(x))});
all.push_back({"__nv_fast_tanf", "f:f", 0.5L, 1.2L, 32, H(std::tan(x))});
all.push_back({"__nv_fast_tanhf", "f:f", 0.5L, 2, 1 << 13, H(std::tanh(x))});
all.push_back({"__nv_fast_sincosf", "v:fFF", 0.5L, 1.2L, 16, EXACT(({std::sin(x[0]), std::cos(x[0])}))});
all.push_back({"__nv_fast_expf", "f:f", -10, 10, 16, H(std::exp(x))});
all.push_back({"__nv_fast_exp10f", "f:f", -5, 5, 24, H(std::pow(10.0L, x))});
all.push_back({"__nv_fast_logf", "f:f", 2, 100, 8, H(std::log(x))});
all.push_back({"__nv_fast_log10f", "f:f", 2, 100, 8, H(std::log10(x))});
all.push_back({"__nv_fast_log2f", "f:f", 2, 100, 8, H(std::log2(x))});
all.push_back({"__nv_fast_powf", "f:ff", 1, 4, 32, H2(std::pow(x, y))});
all.push_back({"__nv_fast_fdividef", "f:ff", 1, 90, 2, H2(x / y)});
all.push_back({"__nv_saturatef", "f:f", -2, 2, 0, H(x < 0 ? 0 : x > 1 ? 1 : x)});
all.push_back({"__nv_rcp64h", "d:d", 1, 90, 0x1p33L, H(1 / x)});
all.push_back({"__nv_frsqrt_rn", "f:f", 0.1L, 90, 0.51L, H(1 / std::sqrt(x))});

// Arithmetic and conversions of every rounding, by the host's.
for (const auto& [cuda, mode] : {std::pair{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"ru", FE_UPWARD}, {"rd", FE_DOWNWARD}}) {
#define ROUNDED(name, signature, T, value) \
  all.push_back({fmt::format("__nv_{}_{}", name, cuda), signature, 1, 900, 0, [mode = mode](const std::vector<Number>& arguments) { \
    const volatile T x = static_cast<T>(arguments[0]), y = static_cast<T>(arguments.back()), z = static_cast<T>(arguments.back()); \
    (void)y, (void)z; \
    return std::vector<Number>{at_rounding<T>(mode, [&]() -> T { return value; })}; }})
#define ARITHMETIC(prefix, type, T) \
  ROUNDED(prefix "add", type ":" type type, T, x + y); \
  ROUNDED(prefix "sub", type ":" type type, T, x - y); \
  ROUNDED(prefix "mul", type ":" type type, T, x * y); \
  ROUNDED(prefix "div", type ":" type type, T, x / y); \
  ROUNDED(prefix "rcp", type ":" type, T, T(1) / x); \
  ROUNDED(prefix "sqrt", type ":" type, T, std::sqrt(x))
  ARITHMETIC("f", "f", float);
  ARITHMETIC("d", "d", double);
#define FUSED(name, type, T) \
  all.push_back({fmt::format("__nv_{}_{}", name, cuda), type ":" type type type, 1, 900, 0, [mode = mode](const std::vector<Number>& arguments) { \
    const volatile T x = static_cast<T>(arguments[0]), y = static_cast<T>(arguments[1]), z = static_cast<T>(arguments[2]); \
    return std::vector<Number>{at_rounding<T>(mode, [&]() -> T { return std::fma(x, y, z); })}; }})
  FUSED("fmaf", "f", float);
  FUSED("fmaf_ieee", "f", float);
  FUSED("fma", "d", double);
#define TO_WHOLE(name, from, to, low) \
  all.push_back({fmt::format("__nv_{}_{}", name, cuda), to ":" from, low, 90000, 0, [mode = mode](const std::vector<Number>& x) { \
    return std::vector<Number>{at_rounding<Number>(mode, [&] { return std::rint(x[0]); })}; }})
  TO_WHOLE("float2int", "f", "i", -90000);
  TO_WHOLE("float2uint", "f", "u", 0);
  TO_WHOLE("float2ll", "f", "l", -90000);
  TO_WHOLE("float2ull", "f", "L", 0);
  TO_WHOLE("double2int", "d", "i", -90000);
  TO_WHOLE("double2uint", "d", "u", 0);
  TO_WHOLE("double2ll", "d", "l", -90000);
  TO_WHOLE("double2ull", "d", "L", 0);
#define TO_FLOAT(name, from, to, T, low, high) \
  all.push_back({fmt::format("__nv_{}_{}", name, cuda), to ":" from, low, high, 0, [mode = mode](const std::vector<Number>& x) { \
    const volatile Number value = x[0]; \
    return std::vector<Number>{at_rounding<T>(mode, [&] { return static_cast<T>(value); })}; }})
  TO_FLOAT("double2float", "d", "f", float, -900, 900);
  TO_FLOAT("int2float", "i", "f", float, -0x7fffffff, 0x7fffffff);
  TO_FLOAT("uint2float", "u", "f", float, 0, 0xffffffffu);
  TO_FLOAT("ll2float", "l", "f", float, -0x1p62L, 0x1p62L);
  TO_FLOAT("ull2float", "L", "f", float, 0, 0x1p63L);
  TO_FLOAT("ll2double", "l", "d", double, -0x1p62L, 0x1p62L);
  TO_FLOAT("ull2double", "L", "d", double, 0, 0x1p63L);
}
all.push_back({"__nv_int2double_rn", "d:i", -0x7fffffff, 0x7fffffff, 0, H(x)});
all.push_back({"__nv_uint2double_rn", "d:u", 0, 0xffffffffu, 0, H(x)});
all.push_back({"__nv_float2half_rn", "h:f", -900, 900, 0, H((std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))))});
all.push_back({"__nv_half2float", "f:h", 0, 0x7bff, 0, H(static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(x))))});

// Bits.
#define I(x) static_cast<std::int64_t>(x)
#define U(x) static_cast<std::uint64_t>(x)
#define BITS64(x) std::bit_cast<std::uint64_t>(static_cast<double>(x))
#define BITS32(x) std::bit_cast<std::uint32_t>(static_cast<float>(x))
all.push_back({"__nv_double2hiint", "i:d", -900, 900, 0, H(static_cast<std::int32_t>(BITS64(x) >> 32))});
all.push_back({"__nv_double2loint", "i:d", -900, 900, 0, H(static_cast<std::int32_t>(BITS64(x)))});
all.push_back({"__nv_hiloint2double", "d:ii", 0x10000, 0x7fe00000, 0, H2(std::bit_cast<double>(U(x) << 32 | U(y)))});
all.push_back({"__nv_double_as_longlong", "l:d", -900, 900, 0, H(static_cast<Number>(I(BITS64(x))))});
all.push_back({"__nv_longlong_as_double", "d:l", 0, 0x7fe0000000000000, 0, H(std::bit_cast<double>(I(x)))});
all.push_back({"__nv_float_as_int", "i:f", -900, 900, 0, H(static_cast<std::int32_t>(BITS32(x)))});
all.push_back({"__nv_float_as_uint", "u:f", -900, 900, 0, H(BITS32(x))});
all.push_back({"__nv_int_as_float", "f:i", 0, 0x7f700000, 0, H(std::bit_cast<float>(static_cast<std::uint32_t>(x)))});
all.push_back({"__nv_uint_as_float", "f:u", 0, 0x7f700000, 0, H(std::bit_cast<float>(static_cast<std::uint32_t>(x)))});

// Whole numbers.
constexpr Number kInt = 0x7fffffff, kUint = 0xffffffffu, kLong = 0x7ff0000000000000;
all.push_back({"__nv_abs", "i:i", -kInt, kInt, 0, H(std::fabs(x))});
all.push_back({"__nv_llabs", "l:l", -kLong, kLong, 0, H(std::fabs(x))});
for (const auto& [prefix, signature, low, high] : {std::tuple{"", "i:ii", -kInt, kInt}, {"u", "u:uu", Number(0), kUint}, {"ll", "l:ll", -kLong, kLong}, {"ull", "L:LL", Number(0), 2 * kLong}}) {
  all.push_back({fmt::format("__nv_{}min", prefix), signature, low, high, 0, H2(std::min(x, y))});
  all.push_back({fmt::format("__nv_{}max", prefix), signature, low, high, 0, H2(std::max(x, y))});
}
all.push_back({"__nv_brev", "u:u", 0, kUint, 0, H([](std::uint32_t v) { std::uint32_t r = 0; for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i); return r; }(static_cast<std::uint32_t>(x)))});
all.push_back({"__nv_brevll", "L:L", 0, kLong, 0, H([](std::uint64_t v) { std::uint64_t r = 0; for (int i = 0; i < 64; ++i) r |= (v >> i & 1) << (63 - i); return r; }(U(x)))});
all.push_back({"__nv_byte_perm", "u:uuu", 0, kUint, 0, [](const std::vector<Number>& x) {
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t selector = U(x[2]) >> (4 * i) & 15;
    std::uint32_t byte = (U(x[1]) << 32 | U(x[0])) >> (8 * (selector & 7)) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return std::vector<Number>{static_cast<Number>(result)};
}});
all.push_back({"__nv_clz", "i:i", 0, 900, 0, H(std::countl_zero(static_cast<std::uint32_t>(x)))});
all.push_back({"__nv_clzll", "i:l", 0, 900, 0, H(std::countl_zero(U(x)))});
all.push_back({"__nv_ffs", "i:i", 1, 900, 0, H(1 + std::countr_zero(static_cast<std::uint32_t>(x)))});
all.push_back({"__nv_ffsll", "i:l", 1, kLong, 0, H(1 + std::countr_zero(U(x)))});
all.push_back({"__nv_popc", "i:u", 0, kUint, 0, H(std::popcount(static_cast<std::uint32_t>(x)))});
all.push_back({"__nv_popcll", "i:L", 0, kLong, 0, H(std::popcount(U(x)))});
all.push_back({"__nv_hadd", "i:ii", -kInt, kInt, 0, H2(std::floor((x + y) / 2))});
all.push_back({"__nv_rhadd", "i:ii", -kInt, kInt, 0, H2(std::ceil((x + y) / 2))});
all.push_back({"__nv_uhadd", "u:uu", 0, kUint, 0, H2(std::floor((x + y) / 2))});
all.push_back({"__nv_urhadd", "u:uu", 0, kUint, 0, H2(std::ceil((x + y) / 2))});
all.push_back({"__nv_mul24", "i:ii", -0x7fffff, 0x7fffff, 0, H2(static_cast<std::int32_t>(I(x) * I(y)))});
all.push_back({"__nv_umul24", "u:uu", 0, 0xffffff, 0, H2(static_cast<std::uint32_t>(U(x) * U(y)))});
all.push_back({"__nv_mulhi", "i:ii", -kInt, kInt, 0, H2(I(x) * I(y) >> 32)});
all.push_back({"__nv_umulhi", "u:uu", 0, kUint, 0, H2(U(x) * U(y) >> 32)});
all.push_back({"__nv_mul64hi", "l:ll", -kLong, kLong, 0, H2(static_cast<Number>(I(static_cast<__int128>(I(x)) * I(y) >> 64)))});
all.push_back({"__nv_umul64hi", "L:LL", 0, 2 * kLong, 0, H2(static_cast<Number>(U(static_cast<unsigned __int128>(U(x)) * U(y) >> 64)))});
all.push_back({"__nv_sad", "u:iiu", 0, 1 << 29, 0, EXACT({std::fabs(x[0] - x[1]) + x[2]})});
all.push_back({"__nv_usad", "u:uuu", 0, 1 << 29, 0, EXACT({std::fabs(x[0] - x[1]) + x[2]})});
// clang-format on
