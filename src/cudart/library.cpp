// Code that the program loads itself: libraries and their kernels; and the driver's own entries by name.
#include <algorithm>

#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

// Options of both kinds have the driver's numbers.
template <class Option>
int* numbers(Option* options) {
  return reinterpret_cast<int*>(options);
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit_options,
                                void** jit_values, unsigned jit_count, cudaLibraryOption* options,
                                void** values, unsigned count) {
  CHECK(prepare());
  return driver().cuLibraryLoadData(library, code, numbers(jit_options), jit_values, jit_count,
                                    numbers(options), values, count);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* jit_options,
                                    void** jit_values, unsigned jit_count, cudaLibraryOption* options,
                                    void** values, unsigned count) {
  CHECK(prepare());
  return driver().cuLibraryLoadFromFile(library, path, numbers(jit_options), jit_values, jit_count,
                                        numbers(options), values, count);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  CHECK(prepare());
  return driver().cuLibraryUnload(library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  CHECK(prepare());
  return driver().cuLibraryGetKernel(kernel, library, name);
}

cudaError_t cudaLibraryGetGlobal(void** pointer, std::size_t* bytes, cudaLibrary_t library,
                                 const char* name) {
  CHECK(prepare());
  return driver().cuLibraryGetGlobal(address(pointer), bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void** pointer, std::size_t* bytes, cudaLibrary_t library,
                                  const char* name) {
  CHECK(prepare());
  return driver().cuLibraryGetManaged(address(pointer), bytes, library, name);
}

cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  CHECK(prepare());
  return driver().cuLibraryGetKernelCount(count, library);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  CHECK(prepare());
  return driver().cuLibraryEnumerateKernels(kernels, count, library);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                            int device) {
  CHECK(prepare());
  return driver().cuKernelSetAttribute(attribute, value, kernel, device);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  int version = 0;
  CHECK(load_driver());
  CHECK(driver().cuDriverGetVersion(&version));
  return entry::cudaGetDriverEntryPointByVersion(
      symbol, function, static_cast<unsigned>(std::min(version, CUDART_VERSION)), flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned cuda_version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  if (flags > cudaEnablePerThreadDefaultStream) return cudaErrorInvalidValue;
  CHECK(load_driver());
  if (flags == cudaEnableDefault)
    flags = thread().null_is_per_thread ? cudaEnablePerThreadDefaultStream : cudaEnableLegacyStream;
  int found = cudaDriverEntryPointSymbolNotFound;
  CHECK(driver().cuGetProcAddress(symbol, function, static_cast<int>(cuda_version), flags, &found));
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return cudaSuccess;
}

}  // namespace raddle::cudart::entry
