// cuda_fp16.h and cuda_bf16.h: the same operations in a kernel and on the host, and against float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

constexpr int kCount = 2048, kRows = 14;

/// Row by row the same functions, on either side.
template <typename T, typename T2>
__host__ __device__ void operations(T a, T b, T c, float* out, int stride) {
  const T2 pair = {a, b}, other = {b, c};
  const float values[kRows] = {(float)(a + b),
                               (float)(a - b),
                               (float)(a * b),
                               (float)(a / b),
                               (float)__hfma(a, b, c),
                               (float)__hmax(a, b),
                               (float)__hmin(a, c),
                               (float)(-a),
                               (float)__habs(b),
                               (float)(a < b) + 2 * (float)__hgeu(a, c) + 4 * (float)(a == b) + 8 * (float)__hisnan(a),
                               (float)(pair * other).y,
                               (float)__hfma2(pair, other, pair).x,
                               (float)__hadd_sat(a, b),
                               (float)__hlt2(pair, other).y + __hbgt2(pair, other)};
  for (int i = 0; i < kRows; ++i) out[i * stride] = values[i];
}

template <typename T, typename T2>
__global__ void on_device(const T* a, const T* b, const T* c, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  operations<T, T2>(a[i], b[i], c[i], out + i, kCount);
}

template <typename T>
__global__ void functions(const T* a, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const T x = __habs(a[i]);
  out[i] = (float)hsqrt(x) - (float)T(sqrtf((float)x));
  out[i + kCount] = (float)hexp(T(0.01f) * a[i] > T(5.0f) ? T(5.0f) : T(0.5f)) > 0;
  out[i + 2 * kCount] = (float)hfloor(a[i]) - floorf((float)a[i]);
  out[i + 3 * kCount] = (float)__shfl_xor_sync(0xffffffffu, a[i], 1) - (float)a[i ^ 1];
}

template <typename T, typename T2>
__global__ void sums(T* one, T2* two) {
  atomicAdd(one, T(1.0f));
  atomicAdd(two, T2(T(1.0f), T(2.0f)));
}

template <typename T, typename T2>
void check_type(const char* name) {
  std::vector<T> a, b, c;
  const float special[] = {0.0f, -0.0f, 1.0f, 65504.0f, 1e-7f, INFINITY, -INFINITY, NAN, 0.3333f};
  for (int i = 0; i < kCount; ++i) {
    a.push_back(i < 81 ? T(special[i % 9]) : T((i * 37 % 1009 - 500) / 17.0f));
    b.push_back(i < 81 ? T(special[i / 9]) : T((i * 91 % 997 - 450) / 113.0f));
    c.push_back(T((i * 7 % 61 - 30) / 1024.0f));
  }
  const Buffer<T> da(a), db(b), dc(c);
  const Buffer<float> out(kRows * kCount), differences(4 * kCount);
  on_device<T, T2><<<kCount / 256, 256>>>(da.get(), db.get(), dc.get(), out.get());
  functions<<<kCount / 256, 256>>>(da.get(), differences.get());
  must(cudaGetLastError());
  const std::vector<float> got = out.contents(), rest = differences.contents();
  std::vector<float> want(kRows * kCount);
  for (int i = 0; i < kCount; ++i) operations<T, T2>(a[i], b[i], c[i], want.data() + i, kCount);
  for (int row = 0; row < kRows; ++row) {
    int wrong = 0, at = 0;
    for (int i = row * kCount; i < (row + 1) * kCount; ++i) {
      if (got[i] == want[i] || (got[i] != got[i] && want[i] != want[i])) continue;
      ++wrong;
      at = i;
    }
    char detail[120];
    const int i = at % kCount;
    std::snprintf(detail, sizeof detail, "operation %d, %d differ, of %g, %g, %g: %g and %g", row, wrong, (float)a[i], (float)b[i], (float)c[i], got[at], want[at]);
    check(wrong == 0, name, detail);
  }
  int wrong = 0;
  for (int i = 81; i < kCount; ++i) wrong += rest[i] != 0 || rest[kCount + i] != 1 || rest[2 * kCount + i] != 0 || rest[3 * kCount + i] != 0;
  check(wrong == 0, name, "square roots, floors, shuffles");
  const Buffer<T> one(std::vector<T>{T(0.0f)});
  const Buffer<T2> two(std::vector<T2>{T2(T(0.0f), T(0.0f))});
  sums<<<2, 50>>>(one.get(), two.get());
  must(cudaGetLastError());
  check((float)one.contents()[0] == 100 && (float)two.contents()[0].y == 200, name, "atomicAdd of one and two");
}

__global__ void conversions(int* wrong) {
  const unsigned short bits = blockIdx.x * blockDim.x + threadIdx.x;
  const __half h = __ushort_as_half(bits);
  const __nv_bfloat16 b = __ushort_as_bfloat16(bits);
  const float x = h, y = b;
  bool good = x != x || __half_as_ushort(__float2half(x)) == bits;
  good &= y != y || __bfloat16_as_ushort(__float2bfloat16(y)) == bits;
  if (fabsf(x) < 30000) good &= __half2int_rd(h) == (int)floorf(x) && __half2int_rn(h) == __float2int_rn(x) && __half2short_rz(h) == (short)x;
  good &= (float)__int2half_rz(bits) <= bits && (float)__int2half_ru(bits) >= bits;
  if (!good) atomicAdd(wrong, 1);
}

int main() {
  check_type<__half, __half2>("__half");
  check_type<__nv_bfloat16, __nv_bfloat162>("__nv_bfloat16");
  const Buffer<int> wrong(1);
  conversions<<<256, 256>>>(wrong.get());
  must(cudaGetLastError());
  char detail[40];
  std::snprintf(detail, sizeof detail, "%d wrong", wrong.contents()[0]);
  check(wrong.contents()[0] == 0, "conversions of all 16-bit patterns", detail);
  return finish();
}
