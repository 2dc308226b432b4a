// Several devices: access to each other's memory, and copies between them.
#include "cudart/box.h"
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

/// cudaErrorInvalidDevice: the current device is no peer of its own; also as primary_context().
cudaError_t peer_context(int peer, CUcontext& context) {
  int device = 0;
  CHECK(current_device(device));
  return device == peer ? cudaErrorInvalidDevice : primary_context(peer, context);
}

}  // namespace

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  CHECK(load_driver());
  return driver().cuDeviceCanAccessPeer(can, device, peer);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  CHECK(load_driver());
  return driver().cuDeviceGetP2PAttribute(value, attribute, from, to);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CHECK(prepare());
  CUcontext context = nullptr;
  CHECK(peer_context(peer, context));
  return driver().cuCtxEnablePeerAccess(context, flags);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CHECK(prepare());
  CUcontext context = nullptr;
  CHECK(peer_context(peer, context));
  return driver().cuCtxDisablePeerAccess(context);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  CHECK(prepare());
  CUcontext to_context = nullptr, from_context = nullptr;
  CHECK(primary_context(to_device, to_context));
  CHECK(primary_context(from_device, from_context));
  if (bytes == 0) return cudaSuccess;
  return driver().cuMemcpyPeer(address(to), to_context, address(from), from_context, bytes);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  CHECK(prepare());
  CUcontext to_context = nullptr, from_context = nullptr;
  CHECK(primary_context(to_device, to_context));
  CHECK(primary_context(from_device, from_context));
  if (bytes == 0) return cudaSuccess;
  return driver().cuMemcpyPeerAsync(address(to), to_context, address(from), from_context, bytes, stream);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* copy) {
  CHECK(prepare());
  CUDA_MEMCPY3D_PEER box;
  CHECK(peer_box(copy, box));
  return driver().cuMemcpy3DPeer(&box);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy, cudaStream_t stream) {
  CHECK(prepare());
  CUDA_MEMCPY3D_PEER box;
  CHECK(peer_box(copy, box));
  return driver().cuMemcpy3DPeerAsync(&box, stream);
}

}  // namespace raddle::cudart::entry
