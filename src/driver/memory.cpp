// Memory: allocations, what is known of an address, copies and fills. Device memory is host memory here, so
// that host memory that a program pins needs no mapping, and a copy needs to know only which side kernels may
// watch.
#include <cstdlib>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

constexpr std::size_t kPitchAlignment = 512, kPinnedAlignment = 4096;

enum class Side { device, pinned, host };

Side side_of(Context& context, std::uint64_t address) {
  if (context.device.region({address})) return Side::device;
  const std::lock_guard lock(context.mutex);
  auto next = context.pinned.upper_bound(reinterpret_cast<void*>(address));
  if (next == context.pinned.begin()) return Side::host;
  const auto& [begin, bytes] = *--next;
  return address < reinterpret_cast<std::uint64_t>(begin) + bytes ? Side::pinned : Side::host;
}

/// What an entry's name says of one side of its copy.
enum class Expected { anything, device };

bool fits(Expected expected, Side side) { return expected == Expected::anything || side != Side::host; }

struct Copy {
  std::uint64_t to, from;
  std::size_t bytes;
  Side to_side, from_side;
};

/// Checks the sides; kernels' memory and pinned memory are both "device" to CUDA.
CUresult make_copy(Context& context, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                   Expected to_expected, Expected from_expected, Copy& copy) {
  copy = {to, from, bytes, side_of(context, to), side_of(context, from)};
  if (to == 0 || from == 0 || !fits(to_expected, copy.to_side) || !fits(from_expected, copy.from_side))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

Result<void> append(raddle::Stream& stream, const Copy& copy) {
  const DevicePtr to{copy.to}, from{copy.from};
  void* const host_to = reinterpret_cast<void*>(copy.to);
  const void* const host_from = reinterpret_cast<const void*>(copy.from);
  const bool to_device = copy.to_side == Side::device, from_device = copy.from_side == Side::device;
  if (to_device && from_device) return stream.copy(to, from, copy.bytes);
  if (to_device) return stream.write(to, host_from, copy.bytes);
  if (from_device) return stream.read(host_to, from, copy.bytes);
  stream.call([=, bytes = copy.bytes] { std::memmove(host_to, host_from, bytes); });
  return {};
}

/// Within the calling thread: what a copy of the whole context's order waits for is done before it.
Result<void> run_now(raddle::Device& device, const Copy& copy) {
  const DevicePtr to{copy.to}, from{copy.from};
  void* const host_to = reinterpret_cast<void*>(copy.to);
  const void* const host_from = reinterpret_cast<const void*>(copy.from);
  const bool to_device = copy.to_side == Side::device, from_device = copy.from_side == Side::device;
  if (to_device && from_device) return device.copy(to, from, copy.bytes);
  if (to_device) return device.write(to, host_from, copy.bytes);
  if (from_device) return device.read(host_to, from, copy.bytes);
  std::memmove(host_to, host_from, copy.bytes);
  return {};
}

CUresult copy_now(std::uint64_t to, std::uint64_t from, std::size_t bytes, Expected to_expected,
                  Expected from_expected) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  Copy copy;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (const CUresult result = find_stream(nullptr, context, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = make_copy(*context, to, from, bytes, to_expected, from_expected, copy);
      result != CUDA_SUCCESS)
    return result;
  stream->order();
  (void)stream->stream.synchronize();
  if (const CUresult result = sticky_result(*context); result != CUDA_SUCCESS) return result;
  const Result<void> done = run_now(context->device, copy);
  return done ? CUDA_SUCCESS : result_of(done.error());
}

CUresult copy_later(std::uint64_t to, std::uint64_t from, std::size_t bytes, Expected to_expected,
                    Expected from_expected, CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  Copy copy;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (const CUresult result = make_copy(*context, to, from, bytes, to_expected, from_expected, copy);
      result != CUDA_SUCCESS)
    return result;
  stream->order();
  const Result<void> done = append(stream->stream, copy);
  return done ? CUDA_SUCCESS : result_of(done.error());
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// Fills are asynchronous to the host, also those without Async in their names.
CUresult fill(CUdeviceptr to, std::uint32_t value, unsigned word_bytes, std::size_t count, CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (to % word_bytes != 0 || count > ~std::size_t{0} / word_bytes) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return CUDA_SUCCESS;
  const Side side = side_of(*context, to);
  if (side == Side::host) return CUDA_ERROR_INVALID_VALUE;
  stream->order();
  if (side == Side::pinned) {
    stream->stream.call([=] {
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(reinterpret_cast<char*>(to) + i * word_bytes, &value, word_bytes);
    });
    return CUDA_SUCCESS;
  }
  const Result<void> done = word_bytes == 1
                                ? stream->stream.fill({to}, static_cast<std::uint8_t>(value), count)
                                : stream->stream.fill_words({to}, value, word_bytes, count);
  return done ? CUDA_SUCCESS : result_of(done.error());
}

}  // namespace

namespace entry {

CUresult cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  if (available == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *total = context->device.properties().memory_bytes;
  *available = *total - std::min<std::size_t>(*total, context->device.memory_used());
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const Result<DevicePtr> allocated = context->device.allocate(bytes);
  if (!allocated) return result_of(allocated.error());
  *address = allocated->value;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                            unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
      width > ~std::size_t{0} - kPitchAlignment)
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (row > ~std::size_t{0} / height) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = cuMemAlloc_v2(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const Result<void> freed = context->device.free({address});
  return freed ? CUDA_SUCCESS : result_of(freed.error());
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto region = context->device.region({address});
  if (!region) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = region->address.value;
  if (bytes != nullptr) *bytes = region->bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  constexpr unsigned kPortable = 1, kDeviceMap = 2, kWriteCombined = 4;  // all the same here
  if (memory == nullptr || bytes == 0 || (flags & ~(kPortable | kDeviceMap | kWriteCombined)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes > ~std::size_t{0} - kPinnedAlignment) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t rounded = (bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment;
  void* const allocated = std::aligned_alloc(kPinnedAlignment, rounded);
  if (allocated == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(context->mutex);
  context->pinned[allocated] = bytes;
  *memory = allocated;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

CUresult cuMemFreeHost(void* memory) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  (void)context->device.synchronize();  // kernels may use it
  const std::lock_guard lock(context->mutex);
  if (context->pinned.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned flags) {
  if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (side_of(*context, number(memory)) != Side::pinned) return CUDA_ERROR_INVALID_VALUE;
  *address = number(memory);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const Side side = side_of(*context, address);
  if (side == Side::host) return CUDA_ERROR_INVALID_VALUE;
  const auto region = context->device.region({address});
  switch (attribute) {
    case POINTER_CONTEXT:
      *static_cast<CUcontext*>(value) = context->handle;
      return CUDA_SUCCESS;
    case POINTER_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = side == Side::device ? kMemoryTypeDevice : kMemoryTypeHost;
      return CUDA_SUCCESS;
    case POINTER_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case POINTER_HOST_POINTER:
      if (side == Side::device) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<void**>(value) = reinterpret_cast<void*>(address);
      return CUDA_SUCCESS;
    case POINTER_IS_MANAGED:
      *static_cast<unsigned char*>(value) = 0;
      return CUDA_SUCCESS;
    case POINTER_DEVICE_ORDINAL:
      *static_cast<int*>(value) = 0;
      return CUDA_SUCCESS;
    case POINTER_RANGE_START_ADDR:
      if (!region) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUdeviceptr*>(value) = region->address.value;
      return CUDA_SUCCESS;
    case POINTER_RANGE_SIZE:
      if (!region) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<std::size_t*>(value) = region->bytes;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(to, from, bytes, Expected::anything, Expected::anything);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy_now(to, number(from), bytes, Expected::device, Expected::anything);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(number(to), from, bytes, Expected::anything, Expected::device);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(to, from, bytes, Expected::device, Expected::device);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(to, from, bytes, Expected::anything, Expected::anything, stream);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy_later(to, number(from), bytes, Expected::device, Expected::anything, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(number(to), from, bytes, Expected::anything, Expected::device, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(to, from, bytes, Expected::device, Expected::device, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill(to, value, 1, count, nullptr);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill(to, value, 2, count, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return fill(to, value, 4, count, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return fill(to, value, 2, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(to, value, 4, count, stream);
}

}  // namespace entry
}  // namespace raddle::driver
