// Heat that spreads through a plate, of which each rank of MPI has some rows. In every step a rank sends its first and last
// row to its neighbours and computes the rest meanwhile. The ranks share one device.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

constexpr int kWidth = 256, kRowsOfARank = 64, kSteps = 60;

// Rows first to last of a slab, of which row 0 and the last but one are the neighbours'. The plate's sides are cold.
__global__ void spread(const float* from, float* to, int first, int last) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = first + blockIdx.y;
  if (x >= kWidth || y > last) return;
  const float* here = from + y * kWidth + x;
  const float left = x == 0 ? 0 : here[-1], right = x == kWidth - 1 ? 0 : here[1];
  to[y * kWidth + x] = 0.5f * *here + 0.125f * (left + right + here[-kWidth] + here[kWidth]);
}

static void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("heat: %s\n", cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static float warmth(int x, int y) { return (x * 31 + y * 17) % 97 == 0 ? 100.0f : 0.0f; }

// The same on the host, of the whole plate.
static std::vector<float> expected(int rows) {
  std::vector<float> now((rows + 2) * kWidth), next(now.size());
  for (int y = 1; y <= rows; ++y)
    for (int x = 0; x < kWidth; ++x) now[y * kWidth + x] = warmth(x, y - 1);
  for (int step = 0; step < kSteps; ++step) {
    for (int y = 1; y <= rows; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const float* here = &now[y * kWidth + x];
        const float left = x == 0 ? 0 : here[-1], right = x == kWidth - 1 ? 0 : here[1];
        next[y * kWidth + x] = 0.5f * *here + 0.125f * (left + right + here[-kWidth] + here[kWidth]);
      }
    std::swap(now, next);
  }
  return now;
}

// Both outer rows go to the neighbours, and theirs come, through memory that host and device share.
static void exchange(float* slab, int rank, int ranks) {
  const int above = rank == 0 ? MPI_PROC_NULL : rank - 1, below = rank == ranks - 1 ? MPI_PROC_NULL : rank + 1;
  float *const first = slab + kWidth, *const last = slab + kRowsOfARank * kWidth;
  MPI_Sendrecv(first, kWidth, MPI_FLOAT, above, 0, last + kWidth, kWidth, MPI_FLOAT, below, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(last, kWidth, MPI_FLOAT, below, 1, slab, kWidth, MPI_FLOAT, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t values = (kRowsOfARank + 2) * kWidth;
  float* slabs[2];
  for (float*& slab : slabs) {
    must(cudaMallocManaged(&slab, values * sizeof(float)));
    for (size_t i = 0; i < values; ++i) slab[i] = 0;
  }
  for (int y = 1; y <= kRowsOfARank; ++y)
    for (int x = 0; x < kWidth; ++x) slabs[0][y * kWidth + x] = warmth(x, rank * kRowsOfARank + y - 1);
  const dim3 block(128), inner(kWidth / 128, kRowsOfARank - 2), edge(kWidth / 128, 1);
  for (int step = 0; step < kSteps; ++step) {
    spread<<<inner, block>>>(slabs[0], slabs[1], 2, kRowsOfARank - 1);
    exchange(slabs[0], rank, ranks);
    spread<<<edge, block>>>(slabs[0], slabs[1], 1, 1);
    spread<<<edge, block>>>(slabs[0], slabs[1], kRowsOfARank, kRowsOfARank);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
    std::swap(slabs[0], slabs[1]);
  }
  std::vector<float> plate(rank == 0 ? ranks * kRowsOfARank * kWidth : 0);
  MPI_Gather(slabs[0] + kWidth, kRowsOfARank * kWidth, MPI_FLOAT, plate.data(), kRowsOfARank * kWidth, MPI_FLOAT, 0,
             MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    const std::vector<float> right = expected(ranks * kRowsOfARank);
    for (size_t i = 0; i < plate.size(); ++i) wrong += std::abs(plate[i] - right[i + kWidth]) > 1e-4f;
    std::printf("heat: %d ranks, %d rows, %d steps, %d wrong\n", ranks, ranks * kRowsOfARank, kSteps, wrong);
  }
  for (float* slab : slabs) must(cudaFree(slab));
  MPI_Finalize();
  return wrong != 0;
}
