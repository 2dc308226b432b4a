// malloc, free, new and delete in kernels: memory that outlives its launch, lists that several kernels build, and a heap that
// runs out.
struct Link {
  Link* next;
  int value;
};

/// Each thread puts `count` links in front of its list.
extern "C" __global__ void extend(Link** heads, int first, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < count; ++k) {
    Link* link = static_cast<Link*>(malloc(sizeof(Link)));
    if (link == nullptr) return;
    *link = {heads[i], first + k + 1000 * i};
    heads[i] = link;
  }
}
/// Sums each list by its order, then frees it; thread i has the list of its mirror image.
extern "C" __global__ void sum_and_free(Link** heads, long long* sums, int n) {
  const int i = n - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 0) return;
  long long sum = 0;
  int place = 0;
  for (Link* link = heads[i]; link != nullptr;) {
    sum = sum * 3 + link->value + place++;
    Link* next = link->next;
    free(link);
    link = next;
  }
  heads[i] = nullptr;
  sums[i] = sum;
}

/// Allocates until the heap is empty; counts: how many each thread got. Every piece is written and checked.
extern "C" __global__ void exhaust(int** pieces, int* counts, int most, unsigned long long bytes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = 0;
  while (count < most) {
    int* piece = static_cast<int*>(malloc(bytes));
    if (piece == nullptr) break;
    piece[0] = i;
    piece[bytes / 4 - 1] = count;
    pieces[i * most + count++] = piece;
  }
  for (int k = 0; k < count; ++k) {
    if (pieces[i * most + k][0] != i || pieces[i * most + k][bytes / 4 - 1] != k) count = -1000000;
  }
  counts[i] = count;
}
extern "C" __global__ void release(int** pieces, const int* counts, int most) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < counts[i]; ++k) free(pieces[i * most + k]);
}
extern "C" __global__ void allocate(unsigned long long* addresses, const unsigned long long* bytes) {
  addresses[threadIdx.x] = reinterpret_cast<unsigned long long>(malloc(bytes[threadIdx.x]));
}
extern "C" __global__ void free_address(unsigned long long address) { free(reinterpret_cast<void*>(address)); }

struct Counter {
  int* live;
  __device__ explicit Counter(int* l) : live(l) { atomicAdd(live, 1); }
  __device__ ~Counter() { atomicSub(live, 1); }
};
extern "C" __global__ void new_and_delete(int* live, int* most) {
  Counter* mine = new Counter(live);
  int* numbers = new int[threadIdx.x + 1];
  __syncthreads();
  if (threadIdx.x == 0) *most = *live;
  __syncthreads();
  delete[] numbers;
  delete mine;
}
