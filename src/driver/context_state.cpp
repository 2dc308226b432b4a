// What a context is set to: limits, flags, cache preferences, peers.
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

constexpr std::size_t kDefaultPrintBytes = 8'650'752;  // an H200's

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

/// Those that the header knows are of other devices.
Status unknown_limit(CUlimit limit) {
  constexpr int kLast = 9;
  return limit < 0 || limit > kLast ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

Status check_peer(Here context, In<Context> peer) {
  return peer == context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

Status cuCtxGetLimit(Here context, std::size_t* value, CUlimit limit) {
  if (Limit of; device_limit(limit, of)) {
    *value = context->device.limit(of);
    // What was never limited loses nothing; programs expect CUDA's number.
    if (limit == LIMIT_PRINTF_FIFO_SIZE && *value == 0) *value = kDefaultPrintBytes;
    return CUDA_SUCCESS;
  }
  if (limit == LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
    return *value = context->pending_launches, CUDA_SUCCESS;
  if (limit == LIMIT_MAX_L2_FETCH_GRANULARITY) return *value = context->fetch_granularity, CUDA_SUCCESS;
  if (limit == LIMIT_PERSISTING_L2_CACHE_SIZE) return *value = context->persisting_l2, CUDA_SUCCESS;
  return unknown_limit(limit);
}

Status cuCtxSetLimit(Here context, CUlimit limit, std::size_t value) {
  constexpr std::size_t kLargestFetch = 128;
  if (Limit of; device_limit(limit, of)) {
    return context->device.set_limit(of, value);
  }
  if (limit == LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) return context->pending_launches = value, CUDA_SUCCESS;
  if (limit == LIMIT_MAX_L2_FETCH_GRANULARITY) {
    if (value > kLargestFetch) return CUDA_ERROR_INVALID_VALUE;
    return context->fetch_granularity = value, CUDA_SUCCESS;
  }
  if (limit == LIMIT_PERSISTING_L2_CACHE_SIZE) return context->persisting_l2 = value, CUDA_SUCCESS;
  return unknown_limit(limit);
}

// Remembered preferences; there is no cache to share between two purposes.
Status cuCtxGetCacheConfig(Here context, int* config) {
  *config = context->cache_config;
  return CUDA_SUCCESS;
}
Status cuCtxSetCacheConfig(Here context, int config) {
  TRY(check_cache_config(config));
  context->cache_config = config;
  return CUDA_SUCCESS;
}
Status cuCtxGetSharedMemConfig(Here context, int* config) {
  *config = context->shared_config;
  return CUDA_SUCCESS;
}
Status cuCtxSetSharedMemConfig(Here context, int config) {
  constexpr int kLast = 2;
  if (config < 0 || config > kLast) return CUDA_ERROR_INVALID_VALUE;
  context->shared_config = config;
  return CUDA_SUCCESS;
}

Status cuCtxResetPersistingL2Cache(Here) { return CUDA_SUCCESS; }  // nothing persists

// How threads wait is Raddle's own affair; the rest is remembered.
Status cuCtxSetFlags(Here context, unsigned flags) {
  constexpr unsigned kKnown = 0xff;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}

Status cuCtxGetId(OrCurrent<Context> context, unsigned long long* id) {
  *id = context->id;
  return CUDA_SUCCESS;
}

Status cuCtxGetDevice_v2(CUdevice* device, OrCurrent<Context> context) {
  *device = context->gpu.number;
  return CUDA_SUCCESS;
}

Status cuCtxSynchronize_v2(OrCurrent<Context> context) {
  (void)context->device.synchronize();
  release_pools();
  return result_after_wait(*context);
}

Status cuCtxGetExecAffinity(Here context, CUexecAffinityParam* affinity, CUexecAffinityType type) {
  if (type != EXEC_AFFINITY_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  *affinity = {type, context->device.properties().sm_count};
  return CUDA_SUCCESS;
}

Status cuCtxEnablePeerAccess(Here context, In<Context> peer, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!are_peers(context->gpu, peer->gpu)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const std::lock_guard lock(context->mutex);
  if (!context->peers.insert(peer->id).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  context->device.admit_peer(peer->device);
  return CUDA_SUCCESS;
}
Status cuCtxDisablePeerAccess(Here context, In<Context> peer) {
  TRY(check_peer(context, peer));
  const std::lock_guard lock(context->mutex);
  if (context->peers.erase(peer->id) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  context->device.dismiss_peer(peer->device);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
