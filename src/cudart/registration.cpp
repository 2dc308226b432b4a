// What the code that nvcc and clang generate calls: constructors register fat binaries, kernels and
// variables; <<<...>>> pushes a configuration, which the kernel's stub pops and launches.
#include <iterator>

#include "cudart/code.h"
#include "cudart/entry.h"
#include "cudart/launch.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace raddle::cudart {
namespace {

/// By its section `raddle doctor` tells programs that contain this runtime from those with NVIDIA's. An ELF
/// note: sizes of name and content, type, name, content.
struct Note {
  std::uint32_t name_bytes = 7, content_bytes = 4, type = 1;
  char name[8] = "raddle";
  std::uint32_t content = CUDART_VERSION;
};
[[gnu::section(".note.raddle"), gnu::used]] constexpr Note kNote;

// The handle of a binary and of a kernel in generated code: our own objects, which nothing else gets to see.
FatBinary& binary_of(void** handle) { return *reinterpret_cast<FatBinary*>(handle); }
Kernel* kernel_of(cudaKernel_t handle) { return reinterpret_cast<Kernel*>(handle); }

}  // namespace

EXPORTED void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(register_binary(wrapper));
}

// Nothing is loaded before its first use.
EXPORTED void __cudaRegisterFatBinaryEnd(void**) {}

EXPORTED void __cudaUnregisterFatBinary(void** handle) {
  if (handle != nullptr) unregister_binary(binary_of(handle));
}

EXPORTED void __cudaRegisterFunction(void** handle, const char* stand_in, char*, const char* name, int,
                                     uint3*, uint3*, dim3*, dim3*, int*) {
  register_kernel(binary_of(handle), stand_in, name);
}

EXPORTED void __cudaRegisterVar(void** handle, char* stand_in, char*, const char* name, int,
                                std::size_t bytes, int, int) {
  register_variable(binary_of(handle), stand_in, name, bytes, nullptr);
}

EXPORTED void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int,
                                       std::size_t bytes, int, int) {
  register_variable(binary_of(handle), pointer, name, bytes, pointer);
}

// Called before the host touches a managed variable.
EXPORTED char __cudaInitModule(void** handle) {
  const cudaError_t error = load_binary(binary_of(handle));
  if (error != cudaSuccess) thread().last_error = error;
  return error == cudaSuccess ? 1 : 0;
}

EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                              cudaStream_t stream) {
  Thread& mine = thread();
  if (mine.launch_count == std::size(mine.launches)) return 1;  // generated code then launches nothing
  mine.launches[mine.launch_count++] = {grid, block, shared_bytes, stream};
  return 0;
}

namespace entry {

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  Thread& mine = thread();
  if (mine.launch_count == 0) return cudaErrorMissingConfiguration;
  const LaunchShape& shape = mine.launches[--mine.launch_count];
  *grid = shape.grid;
  *block = shape.block;
  *shared_bytes = shape.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = shape.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stand_in) {
  *kernel = reinterpret_cast<cudaKernel_t>(find_kernel(stand_in));
  return *kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  cudaFunction_t function = nullptr;
  CHECK(function_of(*kernel_of(kernel), function));
  return launch(function, {grid, block, shared_bytes, stream}, arguments);
}

}  // namespace entry
}  // namespace raddle::cudart
