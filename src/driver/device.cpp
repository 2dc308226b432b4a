// Devices: there is one, the modelled machine.
#include <algorithm>
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "exec/abi.h"

namespace raddle::driver::entry {
namespace {

struct Attribute {
  int number;
  const char* name;
};

CUresult give_uuid(CUuuid* id, CUdevice device) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  // The same for each device of a shape: "raddle" and the shape's name.
  std::memset(id->bytes, 0, sizeof id->bytes);
  const std::string text = "raddle" + Process::instance().shape().name;
  std::memcpy(id->bytes, text.data(), std::min(text.size(), sizeof id->bytes));
  return CUDA_SUCCESS;
}

CUresult give_text(char* to, int length, const std::string& text) {
  if (to == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(ordinal); result != CUDA_SUCCESS) return result;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  return give_text(name, length, "Raddle " + Process::instance().shape().name);
}

CUresult cuDeviceGetUuid(CUuuid* id, CUdevice device) { return give_uuid(id, device); }
CUresult cuDeviceGetUuid_v2(CUuuid* id, CUdevice device) { return give_uuid(id, device); }

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  const Result<std::uint64_t> total = Process::instance().memory_bytes();
  if (!total) return result_of(total.error());
  *bytes = *total;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  const machine::MachineShape& shape = Process::instance().shape();
  const machine::SmLimits& sm = shape.sm;
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

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  *major = static_cast<int>(Process::instance().shape().capability / 10);
  *minor = static_cast<int>(Process::instance().shape().capability % 10);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const CUdevice each : {device, peer})
    if (const CUresult result = check_device(each); result != CUDA_SUCCESS) return result;
  *can = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, int attribute, CUdevice device, CUdevice peer) {
  constexpr int kLast = 5;
  if (value == nullptr || attribute < 1 || attribute > kLast) return CUDA_ERROR_INVALID_VALUE;
  for (const CUdevice each : {device, peer})
    if (const CUresult result = check_device(each); result != CUDA_SUCCESS) return result;
  return CUDA_ERROR_INVALID_DEVICE;  // a device is no peer of its own
}

// Memory of the host is memory like any other: every atomic of kernels holds for it too.
CUresult cuDeviceGetHostAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                           unsigned count, CUdevice device) {
  if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
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

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                          unsigned count, CUdevice device, CUdevice peer) {
  if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (const CUdevice each : {device, peer})
    if (const CUresult result = check_device(each); result != CUDA_SUCCESS) return result;
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  if (device == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const bool is_id = std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4 ||
                     (domain = 0, std::sscanf(id, "%x:%x.%x", &bus, &slot, &function) == 3) ||
                     std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3;
  if (!is_id || domain != 0 || bus != 0 || slot != 0) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

// Identifiers of Windows' display drivers.
CUresult cuDeviceGetLuid(char* luid, unsigned* nodes, CUdevice device) {
  if (luid == nullptr || nodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  return result != CUDA_SUCCESS ? result : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(std::size_t* width, CUarray_format format, unsigned channels,
                                            CUdevice device) {
  if (width == nullptr || channel_bytes(format) == 0 || (channels != 1 && channels != 2 && channels != 4))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  *width = array_limits::kLinearWidth1d;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device) {
  if (supported == nullptr || type != EXEC_AFFINITY_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  *supported = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  return give_text(id, length, "0000:00:00.0");
}

}  // namespace raddle::driver::entry
