// The machine's memory beside that of single devices, for who builds an API on the runtime: memory that all
// devices of the process know, and mappings.
#pragma once

#include "machine/memory/device_memory.h"
#include "machine/memory/host_touches.h"
#include "machine/memory/mapping.h"
#include "machine/memory/movable_memory.h"
#include "machine/memory/residency.h"
#include "machine/memory/shared_memory.h"

namespace raddle {

using machine::DeviceMemory;
using machine::FilePages;
using machine::HostTouches;
using machine::is_mapped;
using machine::Mapping;
using machine::MemoryFile;
using machine::MovableMemory;
using machine::Protection;
using machine::Residency;
using machine::SharedMemory;
using machine::SharedRange;

}  // namespace raddle
