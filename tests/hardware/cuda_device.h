// A device behind whatever libcuda.so.1 the loader finds, as the instruction tests' place to run kernels.
// Declares the few functions of CUDA's driver API it needs itself.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "isa/harness/device.h"

namespace raddle::testing {

/// The driver API's functions, by their exported names; null where the library lacks one.
struct CudaApi {
  using Result = int;
  using Handle = void*;
  using Address = unsigned long long;

  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuDeviceGet)(int*, int);
  Result (*cuDeviceGetName)(char*, int, int);
  Result (*cuDeviceGetAttribute)(int*, int, int);
  Result (*cuDevicePrimaryCtxRetain)(Handle*, int);
  Result (*cuCtxSetCurrent)(Handle);
  Result (*cuCtxSynchronize)();
  Result (*cuModuleLoadData)(Handle*, const void*);
  Result (*cuModuleLoadDataEx)(Handle*, const void*, unsigned, int*, void**);
  Result (*cuModuleUnload)(Handle);
  Result (*cuModuleGetFunction)(Handle*, Handle, const char*);
  Result (*cuMemAlloc_v2)(Address*, std::size_t);
  Result (*cuMemFree_v2)(Address);
  Result (*cuMemcpyHtoD_v2)(Address, const void*, std::size_t);
  Result (*cuMemcpyDtoH_v2)(void*, Address, std::size_t);
  Result (*cuMemGetInfo_v2)(std::size_t*, std::size_t*);
  Result (*cuLaunchKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           Handle, void**, void**);
  Result (*cuStreamCreate)(Handle*, unsigned);
  Result (*cuStreamDestroy_v2)(Handle);
  Result (*cuStreamSynchronize)(Handle);
  Result (*cuEventCreate)(Handle*, unsigned);
  Result (*cuEventElapsedTime)(float*, Handle, Handle);
  Result (*cuEventDestroy_v2)(Handle);
  Result (*cuGetErrorName)(Result, const char**);
  Result (*cuFuncGetAttribute)(int*, int, Handle);
  Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int*, Handle, int, std::size_t);

  /// @errors not_found: no libcuda.so.1, or one without these functions
  static raddle::Result<CudaApi> load();
};

/// Names of device and driver, for the head of a file of answers.
struct CudaIdentity {
  std::string device;
  int driver = 0, capability = 0;
};

/// The device in this process. A kernel's fault breaks the process's context for good (an H200 answers
/// CUDA_ERROR_DEVICE_UNAVAILABLE even after a reset): see WorkerDevice.
class CudaDevice final : public Device {
 public:
  /// @errors not_found: no library, or no device behind it
  static Result<std::unique_ptr<CudaDevice>> open();
  std::string run(const DeviceRun& run) override;
  const CudaIdentity& identity() const { return identity_; }
  const CudaApi& api() const { return api_; }

 private:
  std::string load(const std::string& ptx);
  std::string describe(int result) const;
  CudaApi api_{};
  CudaIdentity identity_;
  std::string loaded_;  ///< the text of module_
  void *context_ = nullptr, *module_ = nullptr;
};

}  // namespace raddle::testing
