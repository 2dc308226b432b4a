// One-dimensional copies, and what all copies come down to. Device memory is host memory here: nothing is
// staged, a copy is a memcpy per piece of rows that follow each other. Those that are done when the call
// returns run on the caller's thread, others on the device's copy thread.
#include "driver/copy.h"

#include <new>

#include "driver/entry.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

/// A source that has to be read before the call returns is copied aside up to so many bytes; for more the
/// call waits for the stream, as NVIDIA's driver does.
constexpr std::size_t kMostAside = 64 << 10;

/// One side, as the table of what calls wait for sees it.
struct Side {
  Place place = Place::pageable;
  bool syncs_memops = false;
};

CUresult resolve(const std::shared_ptr<Context>& context, const Endpoint& endpoint, const Extent& extent,
                 CUmemAccess_flags access, CopySide& copied, Side& side) {
  AddressInfo info;
  const bool known = find_address(context, endpoint.address, info);
  if (endpoint.address == 0 || (endpoint.is_device && !known)) return CUDA_ERROR_INVALID_VALUE;
  // Sizes that overflow are refused where the copy is made.
  const std::size_t span =
      (extent.depth - 1) * endpoint.slice_pitch + (extent.height - 1) * endpoint.pitch + extent.width;
  if (known && info.shared != nullptr && !Process::instance().memory.allows(endpoint.address, span, access))
    return CUDA_ERROR_INVALID_VALUE;
  Device* owner = !known ? nullptr : info.context != nullptr ? &info.context->device : &context->device;
  copied = {owner, endpoint.address, endpoint.pitch, endpoint.slice_pitch};
  if (known) side = {place_of(info), syncs_memops(*context, info)};
  return CUDA_SUCCESS;
}

CUresult result_of_copy(const Result<void>& done) { return done ? CUDA_SUCCESS : result_of(done.error()); }

/// On the calling thread, once the stream's work is done.
CUresult copy_now(Context& context, Stream& stream, const BoxCopy& box) {
  (void)stream.stream.synchronize();
  if (const CUresult result = result_after_wait(context); result != CUDA_SUCCESS) return result;
  return result_of_copy(context.device.copy(box));
}

/// The source is read now; the copy from there is the stream's.
CUresult copy_aside(Context& context, Stream& stream, const BoxCopy& box) {
  const std::shared_ptr<std::byte[]> aside(new (std::nothrow) std::byte[box.width * box.height * box.depth]);
  if (aside == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const CopySide packed{nullptr, reinterpret_cast<CUdeviceptr>(aside.get()), box.width,
                        box.width * box.height};
  if (const Result<void> read = context.device.copy({packed, box.from, box.width, box.height, box.depth});
      !read)
    return result_of(read.error());
  return result_of_copy(stream.stream.copy({box.to, packed, box.width, box.height, box.depth, aside}));
}

}  // namespace

CUresult copy(const Endpoint& to, const Endpoint& from, const Extent& extent, CUstream handle,
              CallForm form) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  BoxCopy box{{}, {}, extent.width, extent.height, extent.depth};
  Side target, source;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_SUCCESS;
  if (const CUresult result = resolve(context, to, extent, ACCESS_READ_WRITE, box.to, target);
      result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = resolve(context, from, extent, ACCESS_READ, box.from, source);
      result != CUDA_SUCCESS)
    return result;
  stream->order();
  const bool waits = form == CallForm::synchronous && (target.syncs_memops || source.syncs_memops);
  const Returns returns = waits ? Returns::done : copy_returns(form, source.place, target.place);
  // With nothing before it, a synchronous copy is made at once, also one that need not be done.
  const bool is_next = stream->stream.done();
  if (returns == Returns::at_once && !(form == CallForm::synchronous && is_next))
    return result_of_copy(stream->stream.copy(box));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(extent.width, extent.height, &bytes) ||
      __builtin_mul_overflow(bytes, extent.depth, &bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const bool fits_aside = form == CallForm::during_call || bytes <= kMostAside;
  const bool is_aside = returns == Returns::source_read && fits_aside && !is_next;
  return is_aside ? copy_aside(*context, *stream, box) : copy_now(*context, *stream, box);
}

namespace {

Endpoint device(CUdeviceptr address) { return {address, 0, 0, true}; }
Endpoint anything(CUdeviceptr address) { return {address}; }
Endpoint host(const void* address) { return {reinterpret_cast<CUdeviceptr>(address)}; }

CUresult copy_bytes(const Endpoint& to, const Endpoint& from, std::size_t bytes) {
  return copy(to, from, {bytes}, nullptr, CallForm::synchronous);
}
CUresult copy_bytes(const Endpoint& to, const Endpoint& from, std::size_t bytes, CUstream stream) {
  return copy(to, from, {bytes}, stream, CallForm::asynchronous);
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
  return copy_bytes(anything(to), anything(from), bytes);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy_bytes(device(to), host(from), bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes(host(to), device(from), bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes(device(to), device(from), bytes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(anything(to), anything(from), bytes, stream);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy_bytes(device(to), host(from), bytes, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(host(to), device(from), bytes, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(device(to), device(from), bytes, stream);
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
