// As kernels.cl, for Fourier transforms and attention.
#define POINTS 1024

float2 complex_product(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

__kernel __attribute__((reqd_work_group_size(POINTS / 4, 1, 1))) void fft(__global const float2* in,
                                                                          __global float2* out, int n) {
  __local float2 data[POINTS];
  const int t = get_local_id(0), quarter = n / 4;
  in += get_group_id(0) * n;
  out += get_group_id(0) * n;
  for (int i = t; i < n; i += POINTS / 4) data[i] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int size = 1; size < n; size *= 4) {  // 1024 is a power of 4
    const int k = t & (size - 1), to = (t - k) * 4 + k;
    const float angle = -6.283185307f * k / (4 * size);
    const float2 w = (float2)(native_cos(angle), native_sin(angle)), w2 = complex_product(w, w);
    const float2 a = data[t], b = complex_product(w, data[t + quarter]),
                 c = complex_product(w2, data[t + 2 * quarter]),
                 d = complex_product(complex_product(w2, w), data[t + 3 * quarter]);
    const float2 even = a + c, odd = b + d, even_difference = a - c, difference = b - d;
    const float2 odd_difference = (float2)(difference.y, -difference.x);
    barrier(CLK_LOCAL_MEM_FENCE);
    data[to] = even + odd;
    data[to + size] = even_difference + odd_difference;
    data[to + 2 * size] = even - odd;
    data[to + 3 * size] = even_difference - odd_difference;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = t; i < n; i += POINTS / 4) out[i] = data[i];
}

#define HEAD 64
#define TILE 32
#define GROUP 8

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void flash_attention(
    __global const float* queries, __global const float* keys, __global const float* values,
    __global float* out, int length) {
  __local float key_tile[TILE][HEAD], value_tile[TILE][HEAD];
  const int thread = get_local_id(0), head = get_group_id(1) * length, query = get_global_id(0);
  float q[HEAD], sum[HEAD], largest = -FLT_MAX, weight = 0.0f;
  for (int c = 0; c < HEAD; ++c) {
    q[c] = query < length ? queries[(head + query) * HEAD + c] * (1.4426950408889634f / 8) : 0.0f;
    sum[c] = 0.0f;
  }
  for (int first = 0; first < length; first += TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = thread; i < TILE * HEAD; i += 128) {
      key_tile[i / HEAD][i % HEAD] = keys[(head + first) * HEAD + i];
      value_tile[i / HEAD][i % HEAD] = values[(head + first) * HEAD + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int group = 0; group < TILE; group += GROUP) {
      float score[GROUP], top = largest;
      for (int k = 0; k < GROUP; ++k) {
        score[k] = 0.0f;
        for (int c = 0; c < HEAD; ++c) score[k] += q[c] * key_tile[group + k][c];
        top = fmax(top, score[k]);
      }
      const float correction = native_exp2(largest - top);
      largest = top;
      weight *= correction;
      for (int c = 0; c < HEAD; ++c) sum[c] *= correction;
      for (int k = 0; k < GROUP; ++k) {
        const float share = native_exp2(score[k] - top);
        weight += share;
        for (int c = 0; c < HEAD; ++c) sum[c] += share * value_tile[group + k][c];
      }
    }
  }
  if (query >= length) return;
  for (int c = 0; c < HEAD; ++c) out[(head + query) * HEAD + c] = sum[c] / weight;
}
