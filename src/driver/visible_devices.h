// Which devices a process has: the computer that RADDLE_DEVICE describes, and the part of it that
// CUDA_VISIBLE_DEVICES leaves visible.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/gpu.h"

namespace raddle::driver {

/// One of them before it has a number.
struct InstalledDevice {
  unsigned slot = 0;
  std::string name;  ///< of the shape, as the user wrote it
  MachineShape shape;
};

/// "h200,tiny,2xa100": names of shapes, with a count before an x where there are several alike.
/// @errors as find_shape; invalid: none, or more than kMostDevices
Result<std::vector<InstalledDevice>> installed_devices(std::string_view text);

/// "raddle", the shape's name, and the slot.
CUuuid uuid_of(const InstalledDevice& device);
CUuuid uuid_of(const MachineShape& shape, unsigned slot);

/// Those that CUDA_VISIBLE_DEVICES names, in its order: numbers, or the beginnings of "GPU-" and a UUID. The
/// first that names no device ends the list; a device that is named twice leaves none.
std::vector<InstalledDevice> visible_devices(std::vector<InstalledDevice> installed, std::string_view wanted);

/// How much memory each has, of what the host can give: as much as its shape says, or else an equal part of
/// what the others leave.
std::vector<std::uint64_t> shares_of_memory(std::span<const InstalledDevice> devices,
                                            std::uint64_t host_bytes);

}  // namespace raddle::driver
