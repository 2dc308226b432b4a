// A kernel compiled while the program runs, loaded as what NVRTC calls a cubin and as PTX, launched by
// the runtime's library API.

// nvcc: -lnvrtc

#include <nvrtc.h>

#include <string>

#include "program.h"

constexpr const char* kSource = R"(
template <class T> __global__ void scale(T* data, T by) { data[threadIdx.x] *= by; }
)";

#define NVRTC(call) CHECK((call) == NVRTC_SUCCESS)

void run(const void* image, const char* name) {
  cudaLibrary_t library;
  cudaKernel_t kernel;
  CUDA(cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUDA(cudaLibraryGetKernel(&kernel, library, name));
  float* data;
  CUDA(cudaMallocManaged(&data, 32 * sizeof(float)));
  for (int i = 0; i < 32; ++i) data[i] = static_cast<float>(i);
  float by = 2.5f;
  void* arguments[] = {&data, &by};
  CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 32; ++i) CHECK(data[i] == 2.5f * static_cast<float>(i));
  CUDA(cudaFree(data));
  CUDA(cudaLibraryUnload(library));
}

int main() {
  nvrtcProgram program;
  NVRTC(nvrtcCreateProgram(&program, kSource, "scale.cu", 0, nullptr, nullptr));
  NVRTC(nvrtcAddNameExpression(program, "scale<float>"));
  const char* options[] = {"--gpu-architecture=sm_90"};
  NVRTC(nvrtcCompileProgram(program, 1, options));
  const char* name = nullptr;
  NVRTC(nvrtcGetLoweredName(program, "scale<float>", &name));
  std::size_t bytes = 0;
  NVRTC(nvrtcGetCUBINSize(program, &bytes));
  std::string cubin(bytes, '\0');
  NVRTC(nvrtcGetCUBIN(program, cubin.data()));
  run(cubin.data(), name);
  NVRTC(nvrtcGetPTXSize(program, &bytes));
  std::string ptx(bytes, '\0');
  NVRTC(nvrtcGetPTX(program, ptx.data()));
  run(ptx.data(), name);
  NVRTC(nvrtcDestroyProgram(&program));
}
