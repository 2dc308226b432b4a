// NVML's calls about the system and its devices: names, numbers, sizes. What belongs to a board (power,
// clocks, fans, temperatures, errors of memory) is not supported (missing.def). Devices are those that CUDA
// sees, in its order, so that CUDA_VISIBLE_DEVICES counts here, too.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "nvml/abi.h"
#include "nvml/driver.h"

#define NVML extern "C" __attribute__((visibility("default"))) ::raddle::nvml::Result

namespace raddle::nvml {

struct DeviceRecord {
  int number;
};

namespace {

/// Of NVIDIA's driver that came with the CUDA version whose interface this is (CUDA's release notes).
constexpr const char* kRelease = "580.65.06";
constexpr int kMostDevices = 64;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76, kSmCount = 16;  // CUdevice_attribute
constexpr int kPciDomain = 50, kPciBus = 33, kPciDevice = 34;
constexpr unsigned kDisplayController = 3, kDisplay3D = 2;  // PCI classes of GPUs for computing
constexpr int kHopper = 9, kCoresPerSm = 128;  // FP32 lanes of an SM since compute capability 8.6, and in 9.0

std::atomic<int> users{0};

DeviceRecord* record_of(int number) {
  static DeviceRecord* const records = [] {
    auto* const made = new DeviceRecord[kMostDevices];
    for (int i = 0; i < kMostDevices; ++i) made[i].number = i;
    return made;
  }();
  return &records[number];
}

/// The driver, for a call between nvmlInit and nvmlShutdown.
const Driver* driver() { return users > 0 ? Driver::load() : nullptr; }

int device_count(const Driver& of) {
  int count = 0;
  return of.count(&count) == 0 ? count : 0;
}

Result check(Device device, const void* answer) {
  const Driver* const of = driver();
  if (of == nullptr) return kUninitialized;
  for (int i = 0; i < device_count(*of); ++i)
    if (device == record_of(i)) return answer != nullptr ? kSuccess : kInvalidArgument;
  return kInvalidArgument;
}

Result give(const std::string& text, char* to, unsigned bytes) {
  if (to == nullptr) return kInvalidArgument;
  if (text.size() >= bytes) return kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kSuccess;
}

int attribute(Device device, int which) {
  int value = 0;
  (void)driver()->attribute(&value, which, device->number);
  return value;
}

std::string uuid_of(int number) {
  unsigned char id[16]{};
  if (driver()->uuid(id, number) != 0) return "";
  std::string text = "GPU-";
  char byte[3];
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(byte, sizeof byte, "%02x", id[i]);
    text += byte;
  }
  return text;
}

/// As NVML writes it, with eight digits of the domain: 00000000:0B:00.0.
std::string bus_id_of(Device device, const char* form) {
  char text[32];
  std::snprintf(text, sizeof text, form, attribute(device, kPciDomain), attribute(device, kPciBus),
                attribute(device, kPciDevice));
  return text;
}

template <class Matches>
Result find_device(Device* device, const Matches& matches) {
  const Driver* const of = driver();
  if (of == nullptr) return kUninitialized;
  if (device == nullptr) return kInvalidArgument;
  for (int i = 0; i < device_count(*of); ++i)
    if (matches(record_of(i))) return *device = record_of(i), kSuccess;
  return kNotFound;
}

/// Of the device, as cuMemGetInfo says in its primary context.
Result read_memory(Device device, std::size_t& free, std::size_t& total) {
  const Driver& of = *driver();
  void* context = nullptr;
  if (of.retain(&context, device->number) != 0 || of.push(context) != 0) return kUnknown;
  const int answer = of.memory(&free, &total);
  (void)of.pop(&context);
  (void)of.release(device->number);
  return answer == 0 ? kSuccess : kUnknown;
}

}  // namespace
}  // namespace raddle::nvml

using namespace raddle::nvml;

NVML nvmlInit_v2() {
  if (Driver::load() == nullptr) return kDriverNotLoaded;
  ++users;
  return kSuccess;
}
NVML nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
NVML nvmlInit() { return nvmlInit_v2(); }

NVML nvmlShutdown() {
  int now = users;
  while (now > 0)
    if (users.compare_exchange_weak(now, now - 1)) return kSuccess;
  return kUninitialized;
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Result result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kUnknown:
      break;
  }
  return "Unknown Error";
}

NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  const Driver* const of = driver();
  if (of == nullptr) return kUninitialized;
  if (version == nullptr) return kInvalidArgument;
  return of->version(version) == 0 ? kSuccess : kUnknown;
}
NVML nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

NVML nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  return driver() == nullptr ? kUninitialized : give(kRelease, text, bytes);
}

NVML nvmlSystemGetDriverBranch(DriverBranch* answer, unsigned bytes) {
  if (driver() == nullptr) return kUninitialized;
  if (answer == nullptr || answer->version != (sizeof *answer | 1 << 24)) return kInvalidArgument;
  const std::string release = kRelease;
  return give("r" + release.substr(0, release.find('.')), answer->branch,
              std::min<unsigned>(bytes, sizeof answer->branch));
}

NVML nvmlSystemGetNVMLVersion(char* text, unsigned bytes) {
  int version = 0;
  const Result read = nvmlSystemGetCudaDriverVersion_v2(&version);
  return read != kSuccess ? read : give(std::to_string(version / 1000) + "." + kRelease, text, bytes);
}

NVML nvmlSystemGetProcessName(unsigned process, char* name, unsigned bytes) {
  if (driver() == nullptr) return kUninitialized;
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
  std::string text;
  if (!file || !std::getline(file, text, '\0')) return kNotFound;
  if (name == nullptr || bytes == 0) return kInvalidArgument;
  return give(text.substr(0, bytes - 1), name, bytes);
}

NVML nvmlDeviceGetCount_v2(unsigned* count) {
  const Driver* const of = driver();
  if (of == nullptr) return kUninitialized;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(device_count(*of));
  return kSuccess;
}
NVML nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const Result found =
      find_device(device, [=](Device each) { return each->number == static_cast<int>(index); });
  return found == kNotFound ? kInvalidArgument : found;
}
NVML nvmlDeviceGetHandleByIndex(unsigned index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// With its prefix, or as CUDA's libraries write it.
NVML nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (driver() != nullptr && uuid == nullptr) return kInvalidArgument;
  return find_device(device, [=](Device each) {
    const std::string own = uuid_of(each->number);
    return own == uuid || own == std::string("GPU-") + uuid;
  });
}

// The domain may have four digits or eight, as CUDA and NVML write it.
NVML nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  int domain = 0, bus = 0, slot = 0;
  if (driver() == nullptr) return kUninitialized;
  if (bus_id == nullptr || std::sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3)
    return kInvalidArgument;
  return find_device(device, [=](Device each) {
    return attribute(each, kPciDomain) == domain && attribute(each, kPciBus) == bus &&
           attribute(each, kPciDevice) == slot;
  });
}

NVML nvmlDeviceGetIndex(Device device, unsigned* index) {
  const Result checked = check(device, index);
  if (checked == kSuccess) *index = static_cast<unsigned>(device->number);
  return checked;
}
NVML nvmlDeviceGetMinorNumber(Device device, unsigned* number) { return nvmlDeviceGetIndex(device, number); }

NVML nvmlDeviceGetName(Device device, char* name, unsigned bytes) {
  char text[256] = "";
  if (const Result checked = check(device, name); checked != kSuccess) return checked;
  return driver()->name(text, sizeof text, device->number) == 0 ? give(text, name, bytes) : kUnknown;
}

NVML nvmlDeviceGetUUID(Device device, char* uuid, unsigned bytes) {
  const Result checked = check(device, uuid);
  return checked != kSuccess ? checked : give(uuid_of(device->number), uuid, bytes);
}

NVML nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  if (const Result checked = check(device, info); checked != kSuccess) return checked;
  *info = {};
  info->domain = static_cast<unsigned>(attribute(device, kPciDomain));
  info->bus = static_cast<unsigned>(attribute(device, kPciBus));
  info->device = static_cast<unsigned>(attribute(device, kPciDevice));
  (void)give(bus_id_of(device, "%04X:%02X:%02X.0"), info->busIdLegacy, sizeof info->busIdLegacy);
  return give(bus_id_of(device, "%08X:%02X:%02X.0"), info->busId, sizeof info->busId);
}

NVML nvmlDeviceGetPciInfoExt(Device device, PciInfoExt* info) {
  if (const Result checked = check(device, info); checked != kSuccess) return checked;
  if (info->version != (sizeof *info | 1 << 24)) return kInvalidArgument;
  const unsigned version = info->version;
  *info = {};
  info->version = version;
  info->domain = static_cast<unsigned>(attribute(device, kPciDomain));
  info->bus = static_cast<unsigned>(attribute(device, kPciBus));
  info->device = static_cast<unsigned>(attribute(device, kPciDevice));
  info->baseClass = kDisplayController;
  info->subClass = kDisplay3D;
  return give(bus_id_of(device, "%08X:%02X:%02X.0"), info->busId, sizeof info->busId);
}

NVML nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  const Result checked = check(device, major != nullptr ? minor : nullptr);
  if (checked == kSuccess)
    *major = attribute(device, kCapabilityMajor), *minor = attribute(device, kCapabilityMinor);
  return checked;
}

NVML nvmlDeviceGetArchitecture(Device device, unsigned* architecture) {
  const Result checked = check(device, architecture);
  if (checked == kSuccess)
    *architecture = attribute(device, kCapabilityMajor) == kHopper ? unsigned{kHopper} : kArchitectureUnknown;
  return checked;
}

NVML nvmlDeviceGetNumGpuCores(Device device, unsigned* cores) {
  const Result checked = check(device, cores);
  if (checked == kSuccess) *cores = static_cast<unsigned>(attribute(device, kSmCount) * kCoresPerSm);
  return checked;
}

NVML nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  if (const Result checked = check(device, memory); checked != kSuccess) return checked;
  std::size_t free = 0, total = 0;
  if (const Result read = read_memory(device, free, total); read != kSuccess) return read;
  *memory = {total, free, total - free};
  return kSuccess;
}

NVML nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (const Result checked = check(device, memory); checked != kSuccess) return checked;
  if (memory->version != (sizeof *memory | 2 << 24)) return kInvalidArgument;
  std::size_t free = 0, total = 0;
  if (const Result read = read_memory(device, free, total); read != kSuccess) return read;
  *memory = {memory->version, total, 0, free, total - free};
  return kSuccess;
}

#define MISSING(name) \
  NVML name(...) { return driver() == nullptr ? kUninitialized : kNotSupported; }
#include "nvml/missing.def"
#undef MISSING
