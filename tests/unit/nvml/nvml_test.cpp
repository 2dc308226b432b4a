// libnvidia-ml's calls, as programs make them that look for devices before they use CUDA.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "nvml/abi.h"

extern "C" {
using raddle::nvml::Device;
using raddle::nvml::Result;
Result nvmlInit_v2();
Result nvmlInitWithFlags(unsigned);
Result nvmlShutdown();
const char* nvmlErrorString(Result);
Result nvmlSystemGetCudaDriverVersion_v2(int*);
Result nvmlSystemGetDriverVersion(char*, unsigned);
Result nvmlSystemGetDriverBranch(raddle::nvml::DriverBranch*, unsigned);
Result nvmlSystemGetNVMLVersion(char*, unsigned);
Result nvmlSystemGetProcessName(unsigned, char*, unsigned);
Result nvmlDeviceGetCount_v2(unsigned*);
Result nvmlDeviceGetHandleByIndex_v2(unsigned, Device*);
Result nvmlDeviceGetHandleByUUID(const char*, Device*);
Result nvmlDeviceGetHandleByPciBusId_v2(const char*, Device*);
Result nvmlDeviceGetIndex(Device, unsigned*);
Result nvmlDeviceGetName(Device, char*, unsigned);
Result nvmlDeviceGetUUID(Device, char*, unsigned);
Result nvmlDeviceGetPciInfo_v3(Device, raddle::nvml::PciInfo*);
Result nvmlDeviceGetPciInfoExt(Device, raddle::nvml::PciInfoExt*);
Result nvmlDeviceGetNumFans(Device, unsigned*);
Result nvmlDeviceGetCudaComputeCapability(Device, int*, int*);
Result nvmlDeviceGetArchitecture(Device, unsigned*);
Result nvmlDeviceGetNumGpuCores(Device, unsigned*);
Result nvmlDeviceGetMemoryInfo(Device, raddle::nvml::Memory*);
Result nvmlDeviceGetMemoryInfo_v2(Device, raddle::nvml::MemoryV2*);
int cuInit(unsigned);
int cuDeviceGetCount(int*);
int cuDeviceGetPCIBusId(char*, int, int);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, std::size_t);
int cuMemFree_v2(unsigned long long);
}

namespace {

using namespace raddle::nvml;

TEST(Nvml, AnswersBetweenInitAndShutdownOnly) {
  unsigned count = 0;
  EXPECT_EQ(nvmlShutdown(), kUninitialized);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), kUninitialized);
  ASSERT_EQ(nvmlInit_v2(), kSuccess);
  ASSERT_EQ(nvmlInitWithFlags(0), kSuccess);
  EXPECT_EQ(nvmlShutdown(), kSuccess);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), kSuccess);  // there is another user
  EXPECT_EQ(nvmlShutdown(), kSuccess);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), kUninitialized);
  EXPECT_STREQ(nvmlErrorString(kUninitialized), "Uninitialized");
}

class Devices : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(nvmlInit_v2(), kSuccess);
    ASSERT_EQ(cuInit(0), 0);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), kSuccess);
  }
  void TearDown() override { EXPECT_EQ(nvmlShutdown(), kSuccess); }
  Device device = nullptr;
};

TEST_F(Devices, AreThoseOfCuda) {
  unsigned count = 0;
  int of_cuda = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), kSuccess);
  ASSERT_EQ(cuDeviceGetCount(&of_cuda), 0);
  EXPECT_EQ(static_cast<int>(count), of_cuda);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(count, &device), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, nullptr), kInvalidArgument);
}

TEST_F(Devices, AreFoundByWhatTheyAreCalled) {
  char name[96], uuid[96], bus_id[32];
  Device found = nullptr;
  unsigned index = 9;
  ASSERT_EQ(nvmlDeviceGetName(device, name, sizeof name), kSuccess);
  EXPECT_EQ(std::string(name).substr(0, 6), "Raddle");
  EXPECT_EQ(nvmlDeviceGetName(device, name, 3), kInsufficientSize);
  ASSERT_EQ(nvmlDeviceGetUUID(device, uuid, sizeof uuid), kSuccess);
  EXPECT_EQ(std::strlen(uuid), 40u) << uuid;
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), kSuccess);
  EXPECT_EQ(found, device);
  found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid + 4, &found), kSuccess);  // as cuda-core asks
  EXPECT_EQ(found, device);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &found), kNotFound);
  // CUDA's form of the address on the bus, and NVML's.
  PciInfo info{};
  ASSERT_EQ(cuDeviceGetPCIBusId(bus_id, sizeof bus_id, 0), 0);
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(device, &info), kSuccess);
  for (const std::string& each : {std::string(bus_id), std::string(info.busId)}) {
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(each.c_str(), &found), kSuccess) << each;
    EXPECT_EQ(found, device);
  }
  PciInfoExt more{};
  EXPECT_EQ(nvmlDeviceGetPciInfoExt(device, &more), kInvalidArgument);
  more.version = sizeof more | 1 << 24;
  EXPECT_EQ(nvmlDeviceGetPciInfoExt(device, &more), kSuccess);
  EXPECT_TRUE(more.bus == info.bus && more.device == info.device && more.domain == info.domain);
  EXPECT_STREQ(more.busId, info.busId);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("00FF:FF:FF.0", &found), kNotFound);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("a device", &found), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetIndex(device, &index), kSuccess);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(nvmlDeviceGetIndex(nullptr, &index), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetIndex(device, nullptr), kInvalidArgument);
}

TEST_F(Devices, HaveTheMachinesSizes) {
  int major = 0, minor = -1;
  unsigned architecture = 0, cores = 0;
  EXPECT_EQ(nvmlDeviceGetCudaComputeCapability(device, &major, &minor), kSuccess);
  EXPECT_EQ(nvmlDeviceGetArchitecture(device, &architecture), kSuccess);
  EXPECT_EQ(nvmlDeviceGetNumGpuCores(device, &cores), kSuccess);
  EXPECT_TRUE(major == 9 && minor == 0 && architecture == 9);
  EXPECT_EQ(cores, 132u * 128);
  EXPECT_EQ(nvmlDeviceGetNumFans(device, &cores), kNotSupported);
  Memory before{}, after{};
  MemoryV2 more{};
  void* context = nullptr;
  unsigned long long address = 0;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), 0);
  ASSERT_EQ(cuCtxSetCurrent(context), 0);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device, &before), kSuccess);
  ASSERT_EQ(cuMemAlloc_v2(&address, 1 << 20), 0);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device, &after), kSuccess);
  EXPECT_EQ(after.total, before.total);
  EXPECT_EQ(after.used, before.used + (1 << 20));
  EXPECT_EQ(after.free + after.used, after.total);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device, &more), kInvalidArgument);
  more.version = sizeof more | 2 << 24;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(device, &more), kSuccess);
  EXPECT_TRUE(more.total == after.total && more.free == after.free && more.used == after.used);
  EXPECT_EQ(cuMemFree_v2(address), 0);
}

TEST_F(Devices, TheSystemHasVersionsAndNamesOfProcesses) {
  int version = 0;
  char text[256];
  EXPECT_EQ(nvmlSystemGetCudaDriverVersion_v2(&version), kSuccess);
  EXPECT_GE(version, 13000);
  EXPECT_EQ(nvmlSystemGetDriverVersion(text, sizeof text), kSuccess);
  DriverBranch branch{};
  EXPECT_EQ(nvmlSystemGetDriverBranch(&branch, sizeof branch.branch), kInvalidArgument);
  branch.version = sizeof branch | 1 << 24;
  EXPECT_EQ(nvmlSystemGetDriverBranch(&branch, sizeof branch.branch), kSuccess);
  EXPECT_EQ(std::string(branch.branch), "r" + std::string(text).substr(0, 3));
  EXPECT_EQ(nvmlSystemGetNVMLVersion(text, sizeof text), kSuccess);
  EXPECT_EQ(std::string(text).substr(0, 3), "13.");
  EXPECT_EQ(nvmlSystemGetProcessName(static_cast<unsigned>(getpid()), text, sizeof text), kSuccess);
  EXPECT_NE(std::string(text).find("test_nvml"), std::string::npos) << text;
  EXPECT_EQ(nvmlSystemGetProcessName(0x7fffffff, text, sizeof text), kNotFound);
}

}  // namespace
