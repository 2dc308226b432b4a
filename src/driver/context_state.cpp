// What a context is set to: limits, flags, cache preferences, peers.
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

constexpr std::size_t kDefaultPrintBytes = 1 << 20;

/// A limit that the device itself keeps.
bool device_limit(CUlimit limit, Limit& of) {
  switch (limit) {
    case LIMIT_STACK_SIZE:
      return of = Limit::stack_bytes, true;
    case LIMIT_PRINTF_FIFO_SIZE:
      return of = Limit::print_bytes, true;
    case LIMIT_MALLOC_HEAP_SIZE:
      return of = Limit::heap_bytes, true;
    default:
      return false;
  }
}

/// The context of a handle, or the current one for none.
CUresult chosen_context(CUcontext handle, std::shared_ptr<Context>& context) {
  if (handle == nullptr) return current_context(context);
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  context = Process::instance().contexts.find(handle);
  return context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/// Remembered preferences; there is no cache to share between two purposes.
CUresult get_preference(std::atomic<int> Context::* preference, int* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *value = (*context).*preference;
  return CUDA_SUCCESS;
}
CUresult set_preference(std::atomic<int> Context::* preference, int value, int last) {
  if (value < 0 || value > last) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  (*context).*preference = value;
  return CUDA_SUCCESS;
}

CUresult check_peer(CUcontext peer) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return peer == context->handle || Process::instance().contexts.find(peer) == nullptr
             ? CUDA_ERROR_INVALID_CONTEXT
             : CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (Limit of; device_limit(limit, of)) {
    *value = context->device.limit(of);
    // What was never limited loses nothing; programs expect CUDA's number.
    if (limit == LIMIT_PRINTF_FIFO_SIZE && *value == 0) *value = kDefaultPrintBytes;
    return CUDA_SUCCESS;
  }
  if (limit == LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
    return *value = context->pending_launches, CUDA_SUCCESS;
  if (limit == LIMIT_MAX_L2_FETCH_GRANULARITY) return *value = context->fetch_granularity, CUDA_SUCCESS;
  return CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  constexpr std::size_t kLargestFetch = 128;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (Limit of; device_limit(limit, of)) {
    const Result<void> set = context->device.set_limit(of, value);
    return set ? CUDA_SUCCESS : result_of(set.error());
  }
  if (limit == LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) return context->pending_launches = value, CUDA_SUCCESS;
  if (limit == LIMIT_MAX_L2_FETCH_GRANULARITY) {
    if (value > kLargestFetch) return CUDA_ERROR_INVALID_VALUE;
    return context->fetch_granularity = value, CUDA_SUCCESS;
  }
  return CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult cuCtxGetCacheConfig(int* config) { return get_preference(&Context::cache_config, config); }
CUresult cuCtxSetCacheConfig(int config) { return set_preference(&Context::cache_config, config, 3); }
CUresult cuCtxGetSharedMemConfig(int* config) { return get_preference(&Context::shared_config, config); }
CUresult cuCtxSetSharedMemConfig(int config) { return set_preference(&Context::shared_config, config, 2); }

CUresult cuCtxResetPersistingL2Cache() {  // nothing persists
  std::shared_ptr<Context> context;
  return current_context(context);
}

// How threads wait is Raddle's own affair; the rest is remembered.
CUresult cuCtxSetFlags(unsigned flags) {
  constexpr unsigned kKnown = 0xff;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  const CUresult result = chosen_context(handle, context);
  if (result == CUDA_SUCCESS) *id = context->id;
  return result;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  const CUresult result = chosen_context(handle, context);
  if (result == CUDA_SUCCESS) *device = 0;
  return result;
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (const CUresult result = chosen_context(handle, context); result != CUDA_SUCCESS) return result;
  (void)context->device.synchronize();
  release_pools();
  return result_after_wait(*context);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  if (affinity == nullptr || type != EXEC_AFFINITY_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *affinity = {type, context->device.properties().sm_count};
  return CUDA_SUCCESS;
}

// One device has no peers, though its contexts reach one another's memory.
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_peer(peer);
  return result != CUDA_SUCCESS ? result : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  const CUresult result = check_peer(peer);
  return result != CUDA_SUCCESS ? result : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace raddle::driver::entry
