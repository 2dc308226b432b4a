// As kernels.cl, for the rows of matrices and the irregular kernels. Atomics that CUDA aggregates by warp are
// one by one here, as there are no warps to ask.
#define COLUMNS 1024

float group_sum(float value, __local float* scratch) {
  const int thread = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);  // the result before has been read
  scratch[thread] = value;
  for (int width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < width) scratch[thread] += scratch[thread + width];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scratch[0];
}

float group_max(float value, __local float* scratch) {
  const int thread = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[thread] = value;
  for (int width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread < width) scratch[thread] = fmax(scratch[thread], scratch[thread + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scratch[0];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax_half(__global const half* in,
                                                                            __global half* out, int columns) {
  __local float scratch[256];
  const int thread = get_local_id(0);
  in += get_group_id(0) * columns;
  out += get_group_id(0) * columns;
  float largest = -FLT_MAX, sum = 0.0f;
  for (int i = thread; i < columns; i += 256) largest = fmax(largest, vload_half(i, in));
  largest = group_max(largest, scratch);
  for (int i = thread; i < columns; i += 256) sum += native_exp(vload_half(i, in) - largest);
  const float scale = 1.0f / group_sum(sum, scratch);
  for (int i = thread; i < columns; i += 256)
    vstore_half(native_exp(vload_half(i, in) - largest) * scale, i, out);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void layer_norm(__global const float* in,
                                                                          __global const float* scale,
                                                                          __global const float* shift,
                                                                          __global float* out, int columns,
                                                                          float epsilon) {
  __local float scratch[256];
  const int thread = get_local_id(0);
  in += get_group_id(0) * columns;
  out += get_group_id(0) * columns;
  float sum = 0.0f, squares = 0.0f;
  for (int c = thread; c < columns; c += 256) sum += in[c];
  const float mean = group_sum(sum, scratch) / columns;
  for (int c = thread; c < columns; c += 256) squares += (in[c] - mean) * (in[c] - mean);
  const float factor = native_rsqrt(group_sum(squares, scratch) / columns + epsilon);
  for (int c = thread; c < columns; c += 256) out[c] = (in[c] - mean) * factor * scale[c] + shift[c];
}

__kernel __attribute__((reqd_work_group_size(32, 8, 1))) void transpose(__global const float* in,
                                                                        __global float* out, int width,
                                                                        int height) {
  __local float tile[32][33];
  const int tx = get_local_id(0), ty = get_local_id(1);
  int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
  for (int r = 0; r < 32; r += 8) {
    if (x < width && y + r < height) tile[ty + r][tx] = in[(y + r) * width + x];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 32 + tx;
  y = get_group_id(0) * 32 + ty;
  for (int r = 0; r < 32; r += 8) {
    if (x < height && y + r < width) out[(y + r) * height + x] = tile[tx][ty + r];
  }
}

__kernel void spmv_scalar(__global const int* starts, __global const int* columns, __global const float* values,
                          __global const float* x, __global float* y, int rows) {
  const int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void spmv_vector(
    __global const int* starts, __global const int* columns, __global const float* values,
    __global const float* x, __global float* y, int rows) {
  __local float scratch[256];
  const int thread = get_local_id(0), lane = thread % 32, row = get_global_id(0) / 32;
  float sum = 0.0f;
  if (row < rows) {
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
  }
  scratch[thread] = sum;
  for (int width = 16; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < width) scratch[thread] += scratch[thread + width];
  }
  if (lane == 0 && row < rows) y[row] = scratch[thread];
}

__kernel void bfs_level(__global const int* starts, __global const int* neighbours, __global int* distances,
                        __global const int* queue, __global int* next_queue, __global int* counts, int level) {
  const int count = counts[level];
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
    const int vertex = queue[i];
    for (int edge = starts[vertex]; edge < starts[vertex + 1]; ++edge) {
      const int to = neighbours[edge];
      if (distances[to] == -1 && atomic_cmpxchg(&distances[to], -1, level + 1) == -1)
        next_queue[atomic_inc(&counts[level + 1])] = to;
    }
  }
}
