// One-dimensional copies, and what all copies come down to. Device memory is host memory here: nothing is
// staged, a copy is a memcpy per piece of rows that follow each other. Those that are done when the call
// returns run on the caller's thread, others on the device's copy thread.
#include "driver/copy.h"

#include <new>

#include "driver/entry.h"
#include "driver/graph/capture.h"
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
  std::shared_ptr<Context> peer;  ///< whose memory it is, if that is another device's
};

Status resolve(const std::shared_ptr<Context>& context, const Endpoint& endpoint, const Extent& extent,
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
  if (known) side = {place_of(info), syncs_memops(*context, info), nullptr};
  if (known && info.context != nullptr && &info.context->gpu != &context->gpu) side.peer = info.context;
  return CUDA_SUCCESS;
}

/// A copy, and its two sides.
struct Resolved {
  BoxCopy box;
  Side target, source;
};

Answer<Resolved> resolve(const std::shared_ptr<Context>& context, const Endpoint& to, const Endpoint& from,
                         const Extent& extent) {
  Resolved copy{{{}, {}, extent.width, extent.height, extent.depth}, {}, {}};
  TRY(resolve(context, to, extent, ACCESS_READ_WRITE, copy.box.to, copy.target));
  TRY(resolve(context, from, extent, ACCESS_READ, copy.box.from, copy.source));
  return copy;
}

/// Copies between devices that name no stream come after all that was given to either, and before what will
/// be.
void wait_for_peers(const Side& target, const Side& source) {
  for (const Side* side : {&target, &source})
    if (side->peer != nullptr) (void)side->peer->device.synchronize();
}

/// On the calling thread, once the stream's work is done.
Status copy_now(Context& context, Stream& stream, const BoxCopy& box) {
  (void)stream.stream.synchronize();
  TRY(result_after_wait(context));
  return context.device.copy(box);
}

/// The source is read now; the copy from there is the stream's.
Status copy_aside(Context& context, Stream& stream, const BoxCopy& box) {
  const std::shared_ptr<std::byte[]> aside(new (std::nothrow) std::byte[box.width * box.height * box.depth]);
  if (aside == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const CopySide packed{nullptr, reinterpret_cast<CUdeviceptr>(aside.get()), box.width,
                        box.width * box.height};
  TRY(context.device.copy({packed, box.from, box.width, box.height, box.depth}));
  return stream.stream.copy({box.to, packed, box.width, box.height, box.depth, aside});
}

/// The same in the words of the public structure, for a node of a graph.
CUDA_MEMCPY3D describe(const BoxCopy& box) {
  const auto slice_rows = [](const CopySide& side) {
    return side.pitch == 0 ? 0 : side.slice_pitch / side.pitch;
  };
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = box.to.device == nullptr ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
  copy.srcMemoryType = box.from.device == nullptr ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
  copy.dstHost = reinterpret_cast<void*>(box.to.device == nullptr ? box.to.address : 0);
  copy.srcHost = reinterpret_cast<void*>(box.from.device == nullptr ? box.from.address : 0);
  copy.dstDevice = box.to.device == nullptr ? 0 : box.to.address;
  copy.srcDevice = box.from.device == nullptr ? 0 : box.from.address;
  copy.dstPitch = box.to.pitch, copy.dstHeight = slice_rows(box.to);
  copy.srcPitch = box.from.pitch, copy.srcHeight = slice_rows(box.from);
  copy.WidthInBytes = box.width, copy.Height = box.height, copy.Depth = box.depth;
  return copy;
}

}  // namespace

Answer<BoxCopy> box_between(const std::shared_ptr<Context>& context, const Endpoint& to, const Endpoint& from,
                            const Extent& extent) {
  TRY_ASSIGN(const auto resolved, resolve(context, to, from, extent));
  return resolved.box;
}

Status copy(const CopyCall& call, const Endpoint& to, const Endpoint& from, const Extent& extent) {
  const auto& [context, stream, form] = call;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_SUCCESS;
  TRY_ASSIGN(const auto resolved, resolve(context, to, from, extent));
  const auto& [box, target, source] = resolved;
  if (stream.is_capturing() && form != CallForm::synchronous)
    return capture(stream, CopyNode{context, describe(box)});
  TRY(stream.order());
  const bool is_between = target.peer != nullptr || source.peer != nullptr;
  const bool waits =
      form == CallForm::synchronous && (target.syncs_memops || source.syncs_memops || is_between);
  if (form == CallForm::synchronous && is_between) wait_for_peers(target, source);
  const Returns returns = waits ? Returns::done : copy_returns(form, source.place, target.place);
  // With nothing before it, a synchronous copy is made at once, also one that need not be done.
  const bool is_next = stream.stream.done();
  if (returns == Returns::at_once && !(form == CallForm::synchronous && is_next))
    return stream.stream.copy(box);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(extent.width, extent.height, &bytes) ||
      __builtin_mul_overflow(bytes, extent.depth, &bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const bool fits_aside = form == CallForm::during_call || bytes <= kMostAside;
  const bool is_aside = returns == Returns::source_read && fits_aside && !is_next;
  return is_aside ? copy_aside(*context, stream, box) : copy_now(*context, stream, box);
}

namespace {

Endpoint device(CUdeviceptr address) { return {address, 0, 0, true}; }
Endpoint anything(CUdeviceptr address) { return {address}; }
Endpoint host(const void* address) { return {reinterpret_cast<CUdeviceptr>(address)}; }

}  // namespace

namespace entry {

Status cuMemcpy(Here context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(synchronous_call(context), anything(to), anything(from), {bytes});
}
Status cuMemcpyHtoD_v2(Here context, CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(synchronous_call(context), device(to), host(from), {bytes});
}
Status cuMemcpyDtoH_v2(Here context, void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(synchronous_call(context), host(to), device(from), {bytes});
}
Status cuMemcpyDtoD_v2(Here context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(synchronous_call(context), device(to), device(from), {bytes});
}
Status cuMemcpyAsync(Here context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes, In<Stream> stream) {
  return copy(asynchronous_call(context, *stream), anything(to), anything(from), {bytes});
}
Status cuMemcpyHtoDAsync_v2(Here context, CUdeviceptr to, const void* from, std::size_t bytes,
                            In<Stream> stream) {
  return copy(asynchronous_call(context, *stream), device(to), host(from), {bytes});
}
Status cuMemcpyDtoHAsync_v2(Here context, void* to, CUdeviceptr from, std::size_t bytes, In<Stream> stream) {
  return copy(asynchronous_call(context, *stream), host(to), device(from), {bytes});
}
Status cuMemcpyDtoDAsync_v2(Here context, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                            In<Stream> stream) {
  return copy(asynchronous_call(context, *stream), device(to), device(from), {bytes});
}

// An address says whose it is: the contexts are only checked.
Status cuMemcpyPeer(Here context, CUdeviceptr to, In<Context>, CUdeviceptr from, In<Context>,
                    std::size_t bytes) {
  return cuMemcpyDtoD_v2(context, to, from, bytes);
}
Status cuMemcpyPeerAsync(Here context, CUdeviceptr to, In<Context>, CUdeviceptr from, In<Context>,
                         std::size_t bytes, In<Stream> stream) {
  return cuMemcpyDtoDAsync_v2(context, to, from, bytes, stream);
}

}  // namespace entry
}  // namespace raddle::driver
