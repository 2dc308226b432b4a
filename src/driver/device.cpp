// Devices: there is one, the modelled machine.
#include <algorithm>
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

Status give_uuid(CUuuid* id) {
  // The same for each device of a shape: "raddle" and the shape's name.
  std::memset(id->bytes, 0, sizeof id->bytes);
  const std::string text = "raddle" + Process::instance().shape().name;
  std::memcpy(id->bytes, text.data(), std::min(text.size(), sizeof id->bytes));
  return CUDA_SUCCESS;
}

Status give_text(char* to, int length, const std::string& text) {
  if (to == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}

}  // namespace

Status cuDeviceGet(CUdevice* device, In<CUdevice> ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

Status cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

Status cuDeviceGetName(char* name, int length, In<CUdevice>) {
  return give_text(name, length, "Raddle " + Process::instance().shape().name);
}

Status cuDeviceGetUuid(CUuuid* id, In<CUdevice>) { return give_uuid(id); }
Status cuDeviceGetUuid_v2(CUuuid* id, In<CUdevice>) { return give_uuid(id); }

Status cuDeviceTotalMem_v2(std::size_t* bytes, In<CUdevice>) {
  TRY_ASSIGN(*bytes, Process::instance().memory_bytes());
  return CUDA_SUCCESS;
}

Status cuDeviceGetAttribute(int* value, int attribute, In<CUdevice>) {
  const MachineShape& shape = Process::instance().shape();
  const SmLimits& sm = shape.sm;
  const bool reaches_host = Process::instance().reaches_host_memory();
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

Status cuDeviceComputeCapability(int* major, int* minor, In<CUdevice>) {
  *major = static_cast<int>(Process::instance().shape().capability / 10);
  *minor = static_cast<int>(Process::instance().shape().capability % 10);
  return CUDA_SUCCESS;
}

Status cuDeviceCanAccessPeer(int* can, In<CUdevice>, In<CUdevice>) {
  *can = 0;
  return CUDA_SUCCESS;
}

// A device is no peer of its own, and there is no other.
Status cuDeviceGetP2PAttribute(int*, int attribute, CUdevice, CUdevice) {
  constexpr int kLast = 5;
  return attribute < 1 || attribute > kLast ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
}

// Memory of the host is memory like any other: every atomic of kernels holds for it too.
Status cuDeviceGetHostAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                         unsigned count, In<CUdevice>) {
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

Status cuDeviceGetP2PAtomicCapabilities(unsigned*, const CUatomicOperation*, unsigned count, In<CUdevice>,
                                        In<CUdevice>) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_INVALID_DEVICE;
}

Status cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const bool is_id = std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4 ||
                     (domain = 0, std::sscanf(id, "%x:%x.%x", &bus, &slot, &function) == 3) ||
                     std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3;
  if (!is_id || domain != 0 || bus != 0 || slot != 0) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
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

Status cuDeviceGetPCIBusId(char* id, int length, In<CUdevice>) {
  return give_text(id, length, "0000:00:00.0");
}

}  // namespace raddle::driver::entry
