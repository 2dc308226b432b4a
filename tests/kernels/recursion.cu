// Recursion: a walk over a binary tree, quicksort with a limit to its depth, and frames that add up until the stack
// is full. calls.cu has more on calls.
struct Node {
  int left, right, value;  // children: indices, -1 for none
};

__device__ __noinline__ int sum_of(const Node* nodes, int node, int depth, int* deepest) {
  if (node < 0) return 0;
  if (depth > *deepest) *deepest = depth;
  return nodes[node].value + sum_of(nodes, nodes[node].left, depth + 1, deepest) -
         2 * sum_of(nodes, nodes[node].right, depth + 1, deepest);
}
/// Thread i walks the tree below node i.
extern "C" __global__ void walk(const Node* nodes, int* sums, int* depths, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int deepest = 0;
  sums[i] = sum_of(nodes, i, 1, &deepest);
  depths[i] = deepest;
}

__device__ void insertion_sort(int* first, int* last) {
  for (int* next = first + 1; next < last; ++next) {
    const int value = *next;
    int* to = next;
    for (; to > first && to[-1] > value; --to) *to = to[-1];
    *to = value;
  }
}
__device__ __noinline__ void quicksort(int* first, int* last, int depth) {
  if (last - first < 8 || depth == 0) return insertion_sort(first, last);
  const int pivot = first[(last - first) / 2];
  int *low = first, *high = last - 1;
  while (low <= high) {
    while (*low < pivot) ++low;
    while (*high > pivot) --high;
    if (low > high) break;
    const int value = *low;
    *low++ = *high;
    *high-- = value;
  }
  quicksort(first, high + 1, depth - 1);
  quicksort(low, last, depth - 1);
}
/// Each thread sorts its part of `length` numbers, in place, in global memory.
extern "C" __global__ void sort_parts(int* data, int parts, int length, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < parts) quicksort(data + i * length, data + (i + 1) * length, depth);
}

/// At least 256 bytes of stack per level.
__device__ __noinline__ int descend(int levels, int seed) {
  int frame[64];
  for (int k = 0; k < 64; ++k) frame[k] = seed + k;
  const int below = levels == 0 ? seed : descend(levels - 1, frame[seed & 63] & 0xffff);
  return below + frame[below & 63];
}
/// Thread i goes down levels + i.
extern "C" __global__ void descent(int* out, int levels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = descend(levels + i, i);
}

/// No array of its own: what a level keeps is the caller's registers.
__device__ __noinline__ unsigned chain(unsigned n, unsigned x) {
  if (n == 0) return x;
  const unsigned below = chain(n - 1, x * 1664525u + n);
  return below ^ (x + n);
}
extern "C" __global__ void chains(unsigned* out, unsigned levels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = chain(levels + i, i);
}
