// The CUDA kernels of examples/kernels in OpenCL C 1.2: same algorithms, same work-group sizes. Where CUDA
// shuffles, these use a tree in local memory, because the rival's device has no sub-group shuffles.

__kernel void saxpy(int n, float a, __global const float* x, __global float* y) {
  const int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

float normal_cdf(float d) {
  const float k = native_divide(1.0f, 1.0f + 0.2316419f * fabs(d));
  const float polynomial =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228040143267794f * native_exp(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float* price, __global const float* strike, __global const float* years,
                            __global float* call, __global float* put, float rate, float volatility, int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const float s = price[i], x = strike[i], t = years[i];
  const float spread = volatility * sqrt(t);
  const float d1 = native_divide(native_log(native_divide(s, x)) + (rate + 0.5f * volatility * volatility) * t, spread);
  const float d2 = d1 - spread;
  const float cdf1 = normal_cdf(d1), cdf2 = normal_cdf(d2);
  const float discounted = x * native_exp(-rate * t);
  call[i] = s * cdf1 - discounted * cdf2;
  put[i] = discounted * (1.0f - cdf2) - s * (1.0f - cdf1);
}

#define SQUARE_SGEMM(TILE)                                                                             \
  __kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void sgemm_##TILE(                     \
      __global const float* a, __global const float* b, __global float* c, int n) {                    \
    __local float tile_a[TILE][TILE];                                                                  \
    __local float tile_b[TILE][TILE];                                                                  \
    const int tx = get_local_id(0), ty = get_local_id(1);                                              \
    const int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;                 \
    float sum = 0.0f;                                                                                  \
    for (int k0 = 0; k0 < n; k0 += TILE) {                                                             \
      tile_a[ty][tx] = a[row * n + k0 + tx];                                                           \
      tile_b[ty][tx] = b[(k0 + ty) * n + column];                                                      \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
      for (int k = 0; k < TILE; ++k) sum += tile_a[ty][k] * tile_b[k][tx];                             \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
    }                                                                                                  \
    c[row * n + column] = sum;                                                                         \
  }

SQUARE_SGEMM(16)
SQUARE_SGEMM(32)

__kernel __attribute__((reqd_work_group_size(32, 8, 1))) void sgemm_64x32(__global const float* a,
                                                                          __global const float* b,
                                                                          __global float* c, int n) {
  __local float tile_a[64][32];
  __local float tile_b[32][32];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int row0 = get_group_id(1) * 64, column = get_group_id(0) * 32 + tx;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int k0 = 0; k0 < n; k0 += 32) {
    for (int r = 0; r < 64; r += 8) tile_a[r + ty][tx] = a[(row0 + r + ty) * n + k0 + tx];
    for (int r = 0; r < 32; r += 8) tile_b[r + ty][tx] = b[(k0 + r + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; ++k) {
      const float value = tile_b[k][tx];
      for (int r = 0; r < 8; ++r) sum[r] += tile_a[ty * 8 + r][k] * value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < 8; ++r) c[(row0 + ty * 8 + r) * n + column] = sum[r];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reduce_sum(__global const float* in,
                                                                          __global float* partial, int n) {
  __local float scratch[256];
  const int thread = get_local_id(0);
  float sum = 0.0f;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += in[i];
  scratch[thread] = sum;
  for (int width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < width) scratch[thread] += scratch[thread + width];
  }
  if (thread == 0) partial[get_group_id(0)] = scratch[0];
}

__kernel void stencil(__global const float* in, __global float* out, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  float value = in[i];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    value = 0.5f * value + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
  }
  out[i] = value;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void nbody(__global const float4* bodies,
                                                                     __global float4* accelerations, int n,
                                                                     float softening) {
  __local float4 tile[256];
  const int i = get_global_id(0), thread = get_local_id(0);
  const float4 me = bodies[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int start = 0; start < n; start += 256) {
    tile[thread] = bodies[start + thread];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = native_rsqrt(dx * dx + dy * dy + dz * dz + softening);
      const float pull = other.w * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  accelerations[i] = (float4)(ax, ay, az, 0.0f);
}

__kernel void histogram(__global const uint* words, __global uint* bins, int n) {
  __local uint counts[256];
  const int thread = get_local_id(0), threads = get_local_size(0);
  for (int i = thread; i < 256; i += threads) counts[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    const uint word = words[i];
    atomic_inc(&counts[word & 255]);
    atomic_inc(&counts[word >> 8 & 255]);
    atomic_inc(&counts[word >> 16 & 255]);
    atomic_inc(&counts[word >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = thread; i < 256; i += threads) atomic_add(&bins[i], counts[i]);
}

__kernel void mandelbrot(__global uint* iterations, int width, int height, float left, float top, float step,
                         int limit) {
  const int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  const float cx = left + px * step, cy = top + py * step;
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    ++count;
  }
  iterations[py * width + px] = count;
}

__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void bitonic_sort(__global uint* keys) {
  __local uint run[1024];
  const int thread = get_local_id(0);
  __global uint* mine = keys + get_group_id(0) * 1024;
  run[thread] = mine[thread];
  run[thread + 512] = mine[thread + 512];
  for (int size = 2; size <= 1024; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int left = 2 * thread - (thread & (stride - 1));
      const bool ascending = (left & size) == 0;
      const uint a = run[left], b = run[left + stride];
      if ((a > b) == ascending) {
        run[left] = b;
        run[left + stride] = a;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  mine[thread] = run[thread];
  mine[thread + 512] = run[thread + 512];
}
