// Rows, boxes and arrays between host and device, and sets of them; peers' calls on one device.
#include "program.h"

__global__ void transpose(const float* in, std::size_t in_pitch, float* out, std::size_t out_pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float* row = reinterpret_cast<const float*>(reinterpret_cast<const char*>(in) + y * in_pitch);
  reinterpret_cast<float*>(reinterpret_cast<char*>(out) + x * out_pitch)[y] = row[x];
}

int main() {
  constexpr int kWidth = 33, kHeight = 20;
  std::vector<float> from(kWidth * kHeight), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = i;
  float *in, *out;
  std::size_t in_pitch, out_pitch;
  CUDA(cudaMallocPitch(&in, &in_pitch, kWidth * sizeof(float), kHeight));
  CUDA(cudaMallocPitch(&out, &out_pitch, kHeight * sizeof(float), kWidth));
  CHECK(in_pitch % 256 == 0 && in_pitch >= kWidth * sizeof(float));
  CUDA(cudaMemcpy2D(in, in_pitch, from.data(), kWidth * sizeof(float), kWidth * sizeof(float), kHeight, cudaMemcpyHostToDevice));
  transpose<<<dim3(5, 3), dim3(8, 8)>>>(in, in_pitch, out, out_pitch, kWidth, kHeight);
  CUDA(cudaMemcpy2D(to.data(), kHeight * sizeof(float), out, out_pitch, kHeight * sizeof(float), kWidth, cudaMemcpyDefault));
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) CHECK(to[x * kHeight + y] == from[y * kWidth + x]);

  // A box through an array and back.
  const cudaExtent extent = make_cudaExtent(8, 6, 4);
  std::vector<short> box(8 * 6 * 4), back(box.size());
  for (std::size_t i = 0; i < box.size(); ++i) box[i] = i * 3;
  const cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
  cudaArray_t array;
  CUDA(cudaMalloc3DArray(&array, &shorts, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(box.data(), 8 * sizeof(short), 8, 6);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  cudaPitchedPtr device;
  CUDA(cudaMalloc3D(&device, make_cudaExtent(8 * sizeof(short), 6, 4)));
  CUDA(cudaMemset3D(device, 0, make_cudaExtent(8 * sizeof(short), 6, 4)));
  cudaMemcpy3DParms part{};
  part.srcArray = array;
  part.srcPos = make_cudaPos(2, 1, 1);
  part.dstPtr = device;
  part.extent = make_cudaExtent(3, 2, 2);
  part.kind = cudaMemcpyDeviceToDevice;
  CUDA(cudaMemcpy3D(&part));
  cudaMemcpy3DParms read{};
  read.srcPtr = device;
  read.dstPtr = make_cudaPitchedPtr(back.data(), 8 * sizeof(short), 8, 6);
  read.extent = make_cudaExtent(8 * sizeof(short), 6, 4);
  read.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&read));
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 8; ++x) {
        const bool copied = x < 3 && y < 2 && z < 2;
        CHECK(back[(z * 6 + y) * 8 + x] == (copied ? box[((z + 1) * 6 + y + 1) * 8 + x + 2] : 0));
      }
  CUDA(cudaFreeArray(array));
}
