#include "hardware/api_probes.h"

#include <memory>

namespace raddle::testing {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidDevice = 101, kInvalidPtx = 218, kInvalidHandle = 400,
              kNotFound = 500;

constexpr const char* kModule = R"(.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 number = 7;
.visible .entry nothing(.param .u32 unused) { ret; }
.visible .entry narrow() .maxntid 64, 1, 1 { ret; }
)";

/// What the probes share.
struct State {
  void *module = nullptr, *nothing = nullptr, *narrow = nullptr, *stream = nullptr, *first = nullptr,
       *second = nullptr;
  CudaApi::Address memory = 0;
  int number = 0;
  std::size_t bytes = 0, total = 0;
  float milliseconds = 0;
};

}  // namespace

std::vector<ApiProbe> api_probes(const CudaApi& api) {
  auto s = std::make_shared<State>();
  std::vector<ApiProbe> probes;
  const auto add = [&](const char* call, int expected, std::function<int()> run) {
    probes.push_back({call, expected, std::move(run)});
  };
  const auto launch = [s, &api](void* const* kernel, unsigned grid, unsigned block, unsigned shared,
                                bool arguments) {
    void* parameters[] = {&s->number};
    return api.cuLaunchKernel(*kernel, grid, 1, 1, block, 1, 1, shared, nullptr,
                              arguments ? parameters : nullptr, nullptr);
  };
  add("cuInit(1)", kInvalidValue, [&api] { return api.cuInit(1); });
  add("cuDriverGetVersion(null)", kInvalidValue, [&api] { return api.cuDriverGetVersion(nullptr); });
  add("cuDeviceGet(&device, 99)", kInvalidDevice, [s, &api] { return api.cuDeviceGet(&s->number, 99); });
  add("cuDeviceGet(&device, -1)", kInvalidDevice, [s, &api] { return api.cuDeviceGet(&s->number, -1); });
  add("cuDeviceGetAttribute(&value, 0, 0)", kInvalidValue,
      [s, &api] { return api.cuDeviceGetAttribute(&s->number, 0, 0); });
  add("cuDeviceGetAttribute(null, 1, 0)", kInvalidValue,
      [&api] { return api.cuDeviceGetAttribute(nullptr, 1, 0); });
  add("cuMemAlloc(&address, 0)", kInvalidValue, [s, &api] { return api.cuMemAlloc_v2(&s->memory, 0); });
  add("cuMemAlloc(null, 4)", kInvalidValue, [&api] { return api.cuMemAlloc_v2(nullptr, 4); });
  add("cuMemAlloc(&address, 2^50)", 2, [s, &api] { return api.cuMemAlloc_v2(&s->memory, 1ull << 50); });
  add("cuMemAlloc(&address, 64)", kSuccess, [s, &api] { return api.cuMemAlloc_v2(&s->memory, 64); });
  add("cuMemGetInfo(&free, &total)", kSuccess,
      [s, &api] { return api.cuMemGetInfo_v2(&s->bytes, &s->total); });
  add("cuMemFree(address)", kSuccess, [s, &api] { return api.cuMemFree_v2(s->memory); });
  add("cuMemFree(address) again", kInvalidValue, [s, &api] { return api.cuMemFree_v2(s->memory); });
  add("cuMemFree(0)", kSuccess, [&api] { return api.cuMemFree_v2(0); });
  add("cuModuleLoadData(&module, null)", kInvalidValue,
      [s, &api] { return api.cuModuleLoadData(&s->module, nullptr); });
  add("cuModuleLoadData(&module, malformed PTX)", kInvalidPtx, [s, &api] {
    return api.cuModuleLoadData(&s->module,
                                ".version 6.0\n.target sm_50\n.address_size 64\nthis is no PTX\n");
  });
  add("cuModuleLoadData(&module, PTX)", kSuccess,
      [s, &api] { return api.cuModuleLoadData(&s->module, kModule); });
  add("cuModuleGetFunction(&function, module, missing)", kNotFound,
      [s, &api] { return api.cuModuleGetFunction(&s->nothing, s->module, "missing"); });
  add("cuModuleGetFunction(&function, module, null)", kInvalidValue,
      [s, &api] { return api.cuModuleGetFunction(&s->nothing, s->module, nullptr); });
  add("cuModuleGetFunction(&function, module, nothing)", kSuccess,
      [s, &api] { return api.cuModuleGetFunction(&s->nothing, s->module, "nothing"); });
  add("cuModuleGetFunction(&function, module, narrow)", kSuccess,
      [s, &api] { return api.cuModuleGetFunction(&s->narrow, s->module, "narrow"); });
  add("cuFuncGetAttribute(&value, 99, function)", kInvalidValue,
      [s, &api] { return api.cuFuncGetAttribute(&s->number, 99, s->nothing); });
  add("cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0)", kInvalidValue,
      [s, &api] { return api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&s->number, s->nothing, 0, 0); });
  add("cuLaunchKernel(null)", kInvalidHandle, [launch] {
    static void* const none = nullptr;
    return launch(&none, 1, 1, 0, true);
  });
  add("cuLaunchKernel, a grid of 0", kInvalidValue, [=] { return launch(&s->nothing, 0, 1, 0, true); });
  add("cuLaunchKernel, a block of 0", kInvalidValue, [=] { return launch(&s->nothing, 1, 0, 0, true); });
  add("cuLaunchKernel, a block of 1025", kInvalidValue,
      [=] { return launch(&s->nothing, 1, 1025, 0, true); });
  add("cuLaunchKernel, a block larger than .maxntid", kInvalidValue,
      [=] { return launch(&s->narrow, 1, 65, 0, true); });
  add("cuLaunchKernel, 1 MiB of shared memory", kInvalidValue,
      [=] { return launch(&s->nothing, 1, 1, 1u << 20, true); });
  add("cuLaunchKernel without arguments", kInvalidValue, [=] { return launch(&s->nothing, 1, 1, 0, false); });
  add("cuLaunchKernel", kSuccess, [=] { return launch(&s->nothing, 1, 1, 0, true); });
  add("cuStreamCreate(&stream, 0x100)", kInvalidValue,
      [s, &api] { return api.cuStreamCreate(&s->stream, 0x100); });
  add("cuStreamCreate(&stream, 1)", kSuccess, [s, &api] { return api.cuStreamCreate(&s->stream, 1); });
  add("cuStreamSynchronize(stream)", kSuccess, [s, &api] { return api.cuStreamSynchronize(s->stream); });
  add("cuStreamDestroy(stream)", kSuccess, [s, &api] { return api.cuStreamDestroy_v2(s->stream); });
  add("cuEventCreate(&event, 0)", kSuccess, [s, &api] { return api.cuEventCreate(&s->first, 0); });
  add("cuEventCreate(&event, 2)", kSuccess, [s, &api] { return api.cuEventCreate(&s->second, 2); });
  add("cuEventElapsedTime, an event without timing", kInvalidHandle,
      [s, &api] { return api.cuEventElapsedTime(&s->milliseconds, s->first, s->second); });
  add("cuEventDestroy(event)", kSuccess, [s, &api] { return api.cuEventDestroy_v2(s->first); });
  add("cuEventDestroy(second event)", kSuccess, [s, &api] { return api.cuEventDestroy_v2(s->second); });
  add("cuModuleUnload(module)", kSuccess, [s, &api] { return api.cuModuleUnload(s->module); });
  return probes;
}

}  // namespace raddle::testing
