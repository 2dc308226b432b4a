// Devices: what they are, and what two of them are to each other.
#include <algorithm>
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/visible_devices.h"
#include "runtime/hardware.h"

namespace raddle::driver::entry {
namespace {

Status give_uuid(CUuuid* id, const Gpu& gpu) {
  *id = uuid_of(gpu.shape, gpu.slot);
  return CUDA_SUCCESS;
}

Status give_text(char* to, int length, const std::string& text) {
  if (to == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}

// Memory of the host and of other devices is memory like any other: every atomic of kernels holds for it too.
Status give_atomic_capabilities(unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr unsigned kScalars = ATOMIC_REDUCTION | ATOMIC_SCALAR_32 | ATOMIC_SCALAR_64;
  for (unsigned i = 0; i < count; ++i) {
    const int operation = operations[i];
    if (operation < ATOMIC_INTEGER_ADD || operation > ATOMIC_FLOAT_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (operation == ATOMIC_EXCHANGE || operation == ATOMIC_CAS)
      capabilities[i] = ATOMIC_UNSIGNED | ATOMIC_SCALAR_32 | ATOMIC_SCALAR_64 | ATOMIC_SCALAR_128;
    else if (operation == ATOMIC_INTEGER_INCREMENT || operation == ATOMIC_INTEGER_DECREMENT)
      capabilities[i] = ATOMIC_UNSIGNED | ATOMIC_REDUCTION | ATOMIC_SCALAR_32;
    else if (operation == ATOMIC_FLOAT_ADD)
      capabilities[i] = ATOMIC_SIGNED | kScalars | ATOMIC_VECTOR_32X4;
    else if (operation == ATOMIC_FLOAT_MIN || operation == ATOMIC_FLOAT_MAX)
      capabilities[i] = 0;  // PTX has none of f32 and f64
    else
      capabilities[i] = ATOMIC_UNSIGNED | kScalars | (operation <= ATOMIC_INTEGER_MAX ? ATOMIC_SIGNED : 0u);
  }
  return CUDA_SUCCESS;
}

}  // namespace

Status cuDeviceGet(CUdevice* device, In<CUdevice> ordinal) {
  *device = ordinal.number;
  return CUDA_SUCCESS;
}

Status cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Process::instance().gpus().size());
  return CUDA_SUCCESS;
}

Status cuDeviceGetName(char* name, int length, In<CUdevice> device) {
  return give_text(name, length, "Raddle " + device.shape.name);
}

Status cuDeviceGetUuid(CUuuid* id, In<CUdevice> device) { return give_uuid(id, device); }
Status cuDeviceGetUuid_v2(CUuuid* id, In<CUdevice> device) { return give_uuid(id, device); }

Status cuDeviceTotalMem_v2(std::size_t* bytes, In<CUdevice> device) {
  *bytes = device.memory_bytes;
  return CUDA_SUCCESS;
}

Status cuDeviceGetAttribute(int* value, int attribute, In<CUdevice> device) {
  const MachineShape& shape = device.shape;
  const SmLimits& sm = shape.sm;
  const bool reaches_host = device.reaches_host_memory();
  const bool is_alone = Process::instance().gpus().size() == 1;
  switch (attribute) {
#define ATTRIBUTE(name, number, expression) \
  case number:                              \
    *value = static_cast<int>(expression);  \
    return CUDA_SUCCESS;
#include "driver/attributes.def"
#undef ATTRIBUTE
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

Status cuDeviceComputeCapability(int* major, int* minor, In<CUdevice> device) {
  *major = static_cast<int>(device.shape.capability / 10);
  *minor = static_cast<int>(device.shape.capability % 10);
  return CUDA_SUCCESS;
}

Status cuDeviceCanAccessPeer(int* can, In<CUdevice> device, In<CUdevice> peer) {
  *can = are_peers(device, peer);
  return CUDA_SUCCESS;
}

// Any two devices are peers, all at one distance; textures and surfaces are of arrays of their own device
// only.
Status cuDeviceGetP2PAttribute(int* value, int attribute, In<CUdevice> device, In<CUdevice> peer) {
  if (&device == &peer) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute < P2P_PERFORMANCE_RANK || attribute > P2P_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
    return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == P2P_ACCESS_SUPPORTED || attribute == P2P_NATIVE_ATOMIC_SUPPORTED;
  return CUDA_SUCCESS;
}

Status cuDeviceGetHostAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                         unsigned count, In<CUdevice>) {
  return give_atomic_capabilities(capabilities, operations, count);
}

Status cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                        unsigned count, In<CUdevice> device, In<CUdevice> peer) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (&device == &peer) return CUDA_ERROR_INVALID_DEVICE;
  return give_atomic_capabilities(capabilities, operations, count);
}

Status cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const bool is_id = std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4 ||
                     (domain = 0, std::sscanf(id, "%x:%x.%x", &bus, &slot, &function) == 3) ||
                     std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3;
  if (!is_id) return CUDA_ERROR_INVALID_VALUE;
  if (domain != 0 || slot != 0) return CUDA_ERROR_INVALID_DEVICE;
  for (const auto& gpu : Process::instance().gpus())
    if (gpu->slot == bus) return *device = gpu->number, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_DEVICE;
}

// Identifiers of Windows' display drivers.
Status cuDeviceGetLuid(char*, unsigned*, In<CUdevice>) { return CUDA_ERROR_NOT_SUPPORTED; }

Status cuDeviceGetTexture1DLinearMaxWidth(std::size_t* width, CUarray_format format, unsigned channels,
                                          In<CUdevice>) {
  if (channel_bytes(format) == 0 || (channels != 1 && channels != 2 && channels != 4))
    return CUDA_ERROR_INVALID_VALUE;
  *width = array_limits::kLinearWidth1d;
  return CUDA_SUCCESS;
}

Status cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, In<CUdevice>) {
  if (type != EXEC_AFFINITY_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  *supported = 0;
  return CUDA_SUCCESS;
}

Status cuDeviceGetPCIBusId(char* id, int length, In<CUdevice> device) {
  return give_text(id, length, fmt::format("0000:{:02x}:00.0", device.slot));
}

}  // namespace raddle::driver::entry
