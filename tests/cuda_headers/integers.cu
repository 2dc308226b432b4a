// device/integers.h, device/conversions.h and device/rounded.h against the host's arithmetic.
#include <algorithm>
#include <cfenv>
#include <cstdint>

#include "check.h"

constexpr int kCount = 512;

template <typename T, typename R, typename Function>
__global__ void apply(Function function, const T* a, const T* b, R* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = function(a[i], b[i]);
}

static uint64_t random_bits() {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/// Random and chosen operands: small, all ones, single bits.
template <typename T>
std::vector<T> operands() {
  std::vector<T> result;
  for (int i = 0; i < kCount; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      result.push_back(std::ldexp((T)((int64_t)random_bits() >> 20), i % 80 - 70));
    } else {
      const T chosen[] = {0, 1, (T)-1, (T)1 << (i % (sizeof(T) * 8)), (T)i};
      result.push_back(i % 3 != 0 ? (T)random_bits() : chosen[i / 3 % 5]);
    }
  }
  return result;
}

template <typename T, typename R, typename Function, typename Exact>
void check_function(const char* name, Function function, Exact exact) {
  const std::vector<T> a = operands<T>(), b = operands<T>();
  const Buffer<T> first(a), second(b);
  const Buffer<R> to(kCount);
  apply<T, R><<<2, kCount / 2>>>(function, first.get(), second.get(), to.get());
  must(cudaGetLastError());
  const std::vector<R> got = to.contents();
  int wrong = 0, at = 0;
  for (int i = 0; i < kCount; ++i) {
    const R want = exact(a[i], b[i]);
    if (std::memcmp(&got[i], &want, sizeof want) == 0) continue;
    ++wrong;
    at = i;
  }
  char detail[160] = "";
  if (wrong) std::snprintf(detail, sizeof detail, "%d wrong; of %.17g, %.17g: %.17g", wrong, (double)a[at], (double)b[at], (double)got[at]);
  check(wrong == 0, name, detail);
}

// X(name, operands' type, result's type, expression on the device, on the host)
#define FUNCTIONS(X)                                                                                                 \
  X(popc, uint32_t, int, __popc(a), __builtin_popcount(a))                                                           \
  X(popcll, uint64_t, int, __popcll(a), __builtin_popcountll(a))                                                     \
  X(clz, int, int, __clz(a), a ? __builtin_clz(a) : 32)                                                              \
  X(clzll, long long, int, __clzll(a), a ? __builtin_clzll(a) : 64)                                                  \
  X(ffs, int, int, __ffs(a), __builtin_ffs(a))                                                                       \
  X(ffsll, long long, int, __ffsll(a), __builtin_ffsll(a))                                                           \
  X(brev, uint32_t, uint32_t, __brev(a), __builtin_bitreverse32(a))                                                  \
  X(brevll, uint64_t, uint64_t, __brevll(a), __builtin_bitreverse64(a))                                              \
  X(byte_perm, uint32_t, uint32_t, __byte_perm(a, b, 0x6240), permuted(a, b))                                        \
  X(funnelshift_l, uint32_t, uint32_t, __funnelshift_l(a, b, a), (uint32_t)((((uint64_t)b << 32 | a) << (a & 31)) >> 32)) \
  X(funnelshift_lc, uint32_t, uint32_t, __funnelshift_lc(a, b, 40), a)                                               \
  X(funnelshift_r, uint32_t, uint32_t, __funnelshift_r(a, b, a), (uint32_t)(((uint64_t)b << 32 | a) >> (a & 31)))    \
  X(funnelshift_rc, uint32_t, uint32_t, __funnelshift_rc(a, b, 40), b)                                               \
  X(mulhi, int, int, __mulhi(a, b), (int)(((int64_t)a * b) >> 32))                                                   \
  X(umulhi, uint32_t, uint32_t, __umulhi(a, b), (uint32_t)(((uint64_t)a * b) >> 32))                                 \
  X(mul64hi, long long, long long, __mul64hi(a, b), (long long)(((__int128)a * b) >> 64))                            \
  X(umul64hi, uint64_t, uint64_t, __umul64hi(a, b), (uint64_t)(((unsigned __int128)a * b) >> 64))                    \
  X(mul24, int, int, __mul24(a, b), (int)((uint32_t)((int32_t)((uint32_t)a << 8) >> 8) * (uint32_t)((int32_t)((uint32_t)b << 8) >> 8))) \
  X(umul24, uint32_t, uint32_t, __umul24(a, b), (a & 0xffffff) * (b & 0xffffff))                                     \
  X(sad, int, uint32_t, __sad(a, b, 7u), (uint32_t)std::llabs((int64_t)a - b) + 7u)                                  \
  X(usad, uint32_t, uint32_t, __usad(a, b, 7u), (uint32_t)std::llabs((int64_t)a - (int64_t)b) + 7u)                  \
  X(hadd, int, int, __hadd(a, b), (int)(((int64_t)a + b) >> 1))                                                      \
  X(rhadd, int, int, __rhadd(a, b), (int)(((int64_t)a + b + 1) >> 1))                                                \
  X(urhadd, uint32_t, uint32_t, __urhadd(a, b), (uint32_t)(((uint64_t)a + b + 1) >> 1))                              \
  X(dp4a, int, int, __dp4a(a, b, 5), dot(a, b, 4, true) + 5)                                                         \
  X(dp4a_unsigned, uint32_t, uint32_t, __dp4a(a, b, 5u), dot(a, b, 4, false) + 5)                                    \
  X(dp2a_lo, int, int, __dp2a_lo(a, b, 5), (int)((uint32_t)((short)a * (signed char)b) + (uint32_t)((short)(a >> 16) * (signed char)(b >> 8)) + 5)) \
  X(dp2a_hi, int, int, __dp2a_hi(a, b, 5), (int)((uint32_t)((short)a * (signed char)(b >> 16)) + (uint32_t)((short)(a >> 16) * (signed char)(b >> 24)) + 5)) \
  X(vadd2, uint32_t, uint32_t, __vadd2(a, b), parts<short>(a, b, [](int x, int y) { return x + y; }))                 \
  X(vsubus4, uint32_t, uint32_t, __vsubus4(a, b), parts<unsigned char>(a, b, [](int x, int y) { return x > y ? x - y : 0; })) \
  X(vaddss2, uint32_t, uint32_t, __vaddss2(a, b), parts<short>(a, b, [](int x, int y) { return std::min(std::max(x + y, -32768), 32767); })) \
  X(vavgu4, uint32_t, uint32_t, __vavgu4(a, b), parts<unsigned char>(a, b, [](int x, int y) { return (x + y + 1) / 2; })) \
  X(vhaddu4, uint32_t, uint32_t, __vhaddu4(a, b), parts<unsigned char>(a, b, [](int x, int y) { return (x + y) / 2; })) \
  X(vmins4, uint32_t, uint32_t, __vmins4(a, b), parts<signed char>(a, b, [](int x, int y) { return std::min(x, y); })) \
  X(vabsdiffu4, uint32_t, uint32_t, __vabsdiffu4(a, b), parts<unsigned char>(a, b, [](int x, int y) { return std::abs(x - y); })) \
  X(vcmpgts2, uint32_t, uint32_t, __vcmpgts2(a, b), parts<short>(a, b, [](int x, int y) { return x > y ? -1 : 0; }))  \
  X(vsetleu4, uint32_t, uint32_t, __vsetleu4(a, b), parts<unsigned char>(a, b, [](int x, int y) { return x <= y; }))  \
  X(vneg4, uint32_t, uint32_t, __vneg4(a), parts<signed char>(a, b, [](int x, int) { return -x; }))                  \
  X(vabs2, uint32_t, uint32_t, __vabs2(a), parts<short>(a, b, [](int x, int) { return std::abs(x); }))               \
  X(vabsss4, uint32_t, uint32_t, __vabsss4(a), parts<signed char>(a, b, [](int x, int) { return std::min(std::abs(x), 127); })) \
  X(vsadu4, uint32_t, uint32_t, __vsadu4(a, b), sum_of_differences(a, b))                                            \
  X(vimax3_s32, int, int, __vimax3_s32(a, b, 77), std::max(std::max(a, b), 77))                                      \
  X(viaddmin_s16x2, uint32_t, uint32_t, __viaddmin_s16x2(a, b, 0x00050005u), parts<short>(a, b, [](int x, int y) { return std::min<int>((short)(x + y), 5); })) \
  X(min, int, int, min(a, b), b < a ? b : a)                                                                         \
  X(max, uint64_t, uint64_t, max(a, b), a < b ? b : a)                                                               \
  X(abs, long long, long long, llabs(a), a < 0 ? (long long)(0ull - (uint64_t)a) : a)                                \
  X(float2int_rn, float, int, __float2int_rn(a), limited<int>(std::nearbyint(a)))                                    \
  X(float2int_rz, float, int, __float2int_rz(a), limited<int>(std::trunc(a)))                                        \
  X(float2uint_ru, float, uint32_t, __float2uint_ru(a), limited<uint32_t>(std::ceil(a)))                             \
  X(float2ll_rd, float, long long, __float2ll_rd(a), limited<long long>(std::floor(a)))                              \
  X(double2int_rd, double, int, __double2int_rd(a), limited<int>(std::floor(a)))                                     \
  X(double2ull_rn, double, uint64_t, __double2ull_rn(a), limited<uint64_t>(std::nearbyint(a)))                       \
  X(double2float_ru, double, float, __double2float_ru(a), rounded(FE_UPWARD, [=] { return (float)hidden(a); }))      \
  X(int2float_rz, int, float, __int2float_rz(a), rounded(FE_TOWARDZERO, [=] { return (float)hidden(a); }))           \
  X(ull2double_rd, uint64_t, double, __ull2double_rd(a | 1), rounded(FE_DOWNWARD, [=] { return (double)hidden(a | 1); }))    \
  X(float_as_int, float, int, __float_as_int(a), bits_of<int>(a))                                                    \
  X(double2hiint, double, int, __double2hiint(a), (int)(bits_of<uint64_t>(a) >> 32))                                 \
  X(hiloint2double, int, double, __hiloint2double(a & 0x7fe00000, b), bits_of<double>((uint64_t)(uint32_t)(a & 0x7fe00000) << 32 | (uint32_t)b)) \
  X(fadd_ru, float, float, __fadd_ru(a, b), rounded(FE_UPWARD, [=] { return hidden(a) + hidden(b); }))               \
  X(fsub_rz, float, float, __fsub_rz(a, b), rounded(FE_TOWARDZERO, [=] { return hidden(a) - hidden(b); }))           \
  X(fmul_rd, float, float, __fmul_rd(a, b), rounded(FE_DOWNWARD, [=] { return hidden(a) * hidden(b); }))             \
  X(fdiv_rn, float, float, __fdiv_rn(a, b + 0.5f), a / (b + 0.5f))                                                   \
  X(frcp_ru, float, float, __frcp_ru(a), rounded(FE_UPWARD, [=] { return 1.0f / hidden(a); })) \
  X(dadd_rd, double, double, __dadd_rd(a, b), rounded(FE_DOWNWARD, [=] { return hidden(a) + hidden(b); }))           \
  X(dmul_ru, double, double, __dmul_ru(a, b), rounded(FE_UPWARD, [=] { return hidden(a) * hidden(b); }))             \
  X(fma_rz, double, double, __fma_rz(a, b, a), rounded(FE_TOWARDZERO, [=] { return std::fma(hidden(a), hidden(b), hidden(a)); })) \
  X(fmaf_rn, float, float, __fmaf_rn(a, b, a), std::fma(a, b, a))                                                    \
  X(saturatef, float, float, __saturatef(a), a > 1 ? 1.0f : a > 0 ? a : 0.0f)

static uint32_t permuted(uint32_t a, uint32_t b) {
  const uint64_t bytes = (uint64_t)b << 32 | a;
  return (uint32_t)((bytes & 0xff) | (bytes >> 32 & 0xff) << 8 | (bytes >> 16 & 0xff) << 16 | (bytes >> 48 & 0xff) << 24);
}
static int dot(uint32_t a, uint32_t b, int count, bool with_sign) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += with_sign ? (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i) : (int)((a >> 8 * i & 255) * (b >> 8 * i & 255));
  return sum;
}
/// `function` for each part of two words.
template <typename T, typename Function>
static uint32_t parts(uint32_t a, uint32_t b, Function function) {
  constexpr int count = 4 / sizeof(T);
  T x[count], y[count];
  std::memcpy(x, &a, 4);
  std::memcpy(y, &b, 4);
  for (int i = 0; i < count; ++i) x[i] = (T)function(x[i], y[i]);
  std::memcpy(&a, x, 4);
  return a;
}
static uint32_t sum_of_differences(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) sum += std::abs((int)(a >> i & 255) - (int)(b >> i & 255));
  return sum;
}
template <typename R>
static R limited(double x) {
  if (x >= std::ldexp(1.0, std::numeric_limits<R>::digits)) return std::numeric_limits<R>::max();
  if (x <= (double)std::numeric_limits<R>::min()) return std::numeric_limits<R>::min();
  return (R)x;
}
template <typename R, typename T>
static R bits_of(T x) {
  R bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <typename T>
static T hidden(T x) {  // the compiler does not know it, so it cannot compute before the rounding is set
  volatile T copy = x;
  return copy;
}
template <typename Function>
__attribute__((noinline)) static auto rounded(int mode, Function function) {
  std::fesetround(mode);
  auto result = function();
  volatile auto kept = result;
  std::fesetround(FE_TONEAREST);
  return (decltype(result))kept;
}

int main() {
#define CHECK(name, type, result, on_device, on_host)                                                                \
  check_function<type, result>(#name, [] __device__(type a, type b) -> result { return on_device; },                 \
                               [](type a, type b) -> result { return on_host; });
  FUNCTIONS(CHECK)
  return finish();
}
