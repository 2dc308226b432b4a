// NVML's binary interface, as far as it is answered: results and structures of NVIDIA's NVML API reference.
#pragma once

namespace raddle::nvml {

enum Result : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kUnknown = 999
};

using Device = struct DeviceRecord*;

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};

/// `version`: its size, and 1 from bit 24 on.
struct PciInfoExt {
  unsigned version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
  char busId[32];
};

struct Memory {
  unsigned long long total, free, used;
};
/// `version` holds the structure's size, and 2 from bit 24 on.
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

struct DriverBranch {
  unsigned version;  ///< its size, and 1 from bit 24 on
  char branch[80];
};

inline constexpr unsigned kArchitectureUnknown = 0xFFFFFFFF;

}  // namespace raddle::nvml
