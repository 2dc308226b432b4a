// One-dimensional copies, and what all copies come down to. Device memory is host memory here: nothing is
// staged, a copy is a memcpy per piece of rows that follow each other. Those that return when they are done
// run on the caller's thread, others on the device's copy thread.
#include "driver/copy.h"

#include "driver/entry.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

CUresult resolve(const std::shared_ptr<Context>& context, const Endpoint& endpoint, const Extent& extent,
                 CUmemAccess_flags access, CopySide& side) {
  AddressInfo info;
  const bool known = find_address(context, endpoint.address, info);
  if (endpoint.address == 0 || (endpoint.is_device && !known)) return CUDA_ERROR_INVALID_VALUE;
  // Sizes that overflow are refused where the copy is made.
  const std::size_t span =
      (extent.depth - 1) * endpoint.slice_pitch + (extent.height - 1) * endpoint.pitch + extent.width;
  if (known && info.shared != nullptr && !Process::instance().memory.allows(endpoint.address, span, access))
    return CUDA_ERROR_INVALID_VALUE;
  Device* owner = !known ? nullptr : info.context != nullptr ? &info.context->device : &context->device;
  side = {owner, endpoint.address, endpoint.pitch, endpoint.slice_pitch};
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copy(const Endpoint& to, const Endpoint& from, const Extent& extent, CUstream handle, bool later) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  BoxCopy box{{}, {}, extent.width, extent.height, extent.depth};
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_SUCCESS;
  if (const CUresult result = resolve(context, to, extent, ACCESS_READ_WRITE, box.to); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = resolve(context, from, extent, ACCESS_READ, box.from); result != CUDA_SUCCESS)
    return result;
  stream->order();
  if (!later) {
    (void)stream->stream.synchronize();
    if (const CUresult result = sticky_result(*context); result != CUDA_SUCCESS) return result;
  }
  const Result<void> done = later ? stream->stream.copy(box) : context->device.copy(box);
  return done ? CUDA_SUCCESS : result_of(done.error());
}

namespace {

Endpoint device(CUdeviceptr address) { return {address, 0, 0, true}; }
Endpoint anything(CUdeviceptr address) { return {address}; }
Endpoint host(const void* address) { return {reinterpret_cast<CUdeviceptr>(address)}; }

CUresult copy_now(const Endpoint& to, const Endpoint& from, std::size_t bytes) {
  return copy(to, from, {bytes}, nullptr, false);
}
CUresult copy_later(const Endpoint& to, const Endpoint& from, std::size_t bytes, CUstream stream) {
  return copy(to, from, {bytes}, stream, true);
}

CUresult check_contexts(CUcontext one, CUcontext other) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  const auto& contexts = Process::instance().contexts;
  return contexts.find(one) != nullptr && contexts.find(other) != nullptr ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

namespace entry {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(anything(to), anything(from), bytes);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy_now(device(to), host(from), bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(host(to), device(from), bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_now(device(to), device(from), bytes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(anything(to), anything(from), bytes, stream);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy_later(device(to), host(from), bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(host(to), device(from), bytes, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_later(device(to), device(from), bytes, stream);
}

// An address says whose it is: the contexts are only checked.
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      std::size_t bytes) {
  const CUresult result = check_contexts(to_context, from_context);
  return result != CUDA_SUCCESS ? result : cuMemcpyDtoD_v2(to, from, bytes);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           std::size_t bytes, CUstream stream) {
  const CUresult result = check_contexts(to_context, from_context);
  return result != CUDA_SUCCESS ? result : cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

}  // namespace entry
}  // namespace raddle::driver
