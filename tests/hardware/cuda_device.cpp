#include "hardware/cuda_device.h"

#include <dlfcn.h>

#include <array>
#include <cstring>

namespace raddle::testing {
namespace {

constexpr int kErrorLog = 5, kErrorLogBytes = 6;  ///< CU_JIT_ERROR_LOG_BUFFER and its size

}  // namespace

Result<CudaApi> CudaApi::load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error::make(ErrorCode::not_found, "no libcuda.so.1: {}", dlerror());
  CudaApi api{};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing += std::string(" ") + name;
  };
#define FIND(name) find(api.name, #name)
  FIND(cuInit), FIND(cuDriverGetVersion), FIND(cuDeviceGet), FIND(cuDeviceGetName),
      FIND(cuDeviceGetAttribute);
  FIND(cuDevicePrimaryCtxRetain), FIND(cuCtxSetCurrent), FIND(cuCtxSynchronize);
  FIND(cuModuleLoadData), FIND(cuModuleLoadDataEx), FIND(cuModuleUnload), FIND(cuModuleGetFunction);
  FIND(cuMemAlloc_v2), FIND(cuMemFree_v2), FIND(cuMemcpyHtoD_v2), FIND(cuMemcpyDtoH_v2),
      FIND(cuMemGetInfo_v2);
  FIND(cuLaunchKernel), FIND(cuStreamCreate), FIND(cuStreamDestroy_v2), FIND(cuStreamSynchronize);
  FIND(cuEventCreate), FIND(cuEventElapsedTime), FIND(cuEventDestroy_v2), FIND(cuGetErrorName);
  FIND(cuFuncGetAttribute), FIND(cuOccupancyMaxActiveBlocksPerMultiprocessor);
#undef FIND
  if (!missing.empty()) return Error::make(ErrorCode::not_found, "this libcuda.so.1 lacks{}", missing);
  return api;
}

std::string CudaDevice::describe(int result) const {
  if (result == 0) return {};
  const char* name = nullptr;
  api_.cuGetErrorName(result, &name);
  return name != nullptr ? name : "error " + std::to_string(result);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open() {
  auto device = std::make_unique<CudaDevice>();
  TRY_ASSIGN(device->api_, CudaApi::load());
  const CudaApi& api = device->api_;
  int number = 0, major = 0, minor = 0;
  char name[256] = "";
  if (const int result = api.cuInit(0); result != 0)
    return Error::make(ErrorCode::not_found, "cuInit: {}", device->describe(result));
  if (api.cuDeviceGet(&number, 0) != 0 || api.cuDeviceGetName(name, sizeof name, number) != 0)
    return Error::make(ErrorCode::not_found, "no device");
  constexpr int kMajor = 75, kMinor = 76;
  api.cuDeviceGetAttribute(&major, kMajor, number);
  api.cuDeviceGetAttribute(&minor, kMinor, number);
  device->identity_ = {name, 0, major * 10 + minor};
  api.cuDriverGetVersion(&device->identity_.driver);
  int result = api.cuDevicePrimaryCtxRetain(&device->context_, number);
  if (result == 0) result = api.cuCtxSetCurrent(device->context_);
  if (result != 0) return Error::make(ErrorCode::not_found, "no context: {}", device->describe(result));
  return device;
}

std::string CudaDevice::load(const std::string& ptx) {
  if (ptx == loaded_ && module_ != nullptr) return {};
  if (module_ != nullptr) api_.cuModuleUnload(module_);
  module_ = nullptr;
  loaded_ = ptx;
  int options[] = {kErrorLog, kErrorLogBytes};
  std::array<char, 2048> log{};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  std::string problem = describe(api_.cuModuleLoadDataEx(&module_, ptx.c_str(), 2, options, values));
  const std::string_view reason(log.data(), strnlen(log.data(), log.size()));
  if (!problem.empty() && !reason.empty()) problem += ": " + std::string(reason.substr(0, reason.find('\n')));
  return problem;
}

std::string CudaDevice::run(const DeviceRun& run) {
  if (std::string problem = load(run.ptx); !problem.empty()) return "loading: " + problem;
  void* kernel = nullptr;
  int result = api_.cuModuleGetFunction(&kernel, module_, run.kernel.c_str());
  std::vector<CudaApi::Address> addresses(run.arguments.size());
  std::vector<void*> parameters;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const DeviceRun::Argument& argument = run.arguments[i];
    parameters.push_back(argument.is_buffer ? &addresses[i] : argument.data);
    if (!argument.is_buffer || result != 0) continue;
    result = api_.cuMemAlloc_v2(&addresses[i], argument.bytes);
    if (result == 0) result = api_.cuMemcpyHtoD_v2(addresses[i], argument.data, argument.bytes);
  }
  if (result == 0)
    result = api_.cuLaunchKernel(kernel, run.blocks, 1, 1, run.threads, 1, 1, 0, nullptr, parameters.data(),
                                 nullptr);
  if (result == 0) result = api_.cuCtxSynchronize();
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const DeviceRun::Argument& argument = run.arguments[i];
    if (!argument.is_buffer || addresses[i] == 0) continue;
    if (argument.is_output && result == 0)
      result = api_.cuMemcpyDtoH_v2(argument.data, addresses[i], argument.bytes);
    api_.cuMemFree_v2(addresses[i]);
  }
  return describe(result);
}

}  // namespace raddle::testing
