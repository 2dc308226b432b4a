#include "cudart/thread.h"

#include <atomic>
#include <map>
#include <mutex>
#include <type_traits>

namespace raddle::cudart {
namespace {

std::mutex primary_mutex;
std::atomic<unsigned> resets{0};

std::map<int, CUcontext>& primary_contexts() {
  static auto& contexts = *new std::map<int, CUcontext>;  // kept: calls may come after static destructors
  return contexts;
}

/// A primary context that a reset has ended must not stay current.
void forget_ended_context(Thread& mine) {
  mine.resets = resets.load(std::memory_order_acquire);
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != cudaSuccess || context == nullptr) return;
  int device = 0;
  if (driver().cuCtxGetDevice(&device) != cudaSuccess) (void)driver().cuCtxSetCurrent(nullptr);
}

}  // namespace

Thread& thread() {
  static_assert(std::is_trivially_destructible_v<Thread>);
  constinit thread_local Thread mine;
  return mine;
}

cudaError_t primary_context(int device, CUcontext& context) {
  const std::lock_guard lock(primary_mutex);
  CUcontext& known = primary_contexts()[device];
  if (known == nullptr)
    if (const cudaError_t error = driver().cuDevicePrimaryCtxRetain(&known, device); error != cudaSuccess)
      return error;
  context = known;
  return cudaSuccess;
}

cudaError_t use_device(int device) {
  CUcontext context = nullptr;
  if (const cudaError_t error = primary_context(device, context); error != cudaSuccess) return error;
  return driver().cuCtxSetCurrent(context);
}

cudaError_t prepare(CUcontext& context) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  Thread& mine = thread();
  if (mine.resets != resets.load(std::memory_order_acquire)) forget_ended_context(mine);
  if (const cudaError_t error = driver().cuCtxGetCurrent(&context);
      error != cudaSuccess || context != nullptr)
    return error;
  if (const cudaError_t error = use_device(mine.device); error != cudaSuccess) return error;
  return driver().cuCtxGetCurrent(&context);
}

cudaError_t prepare() {
  CUcontext context = nullptr;
  return prepare(context);
}

cudaError_t current_device(int& device) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) == cudaSuccess && context != nullptr &&
      driver().cuCtxGetDevice(&device) == cudaSuccess)
    return cudaSuccess;
  device = thread().device;
  return cudaSuccess;
}

cudaError_t reset_device(int device) {
  const std::lock_guard lock(primary_mutex);
  if (const cudaError_t error = driver().cuDevicePrimaryCtxReset(device); error != cudaSuccess) return error;
  primary_contexts().erase(device);
  resets.fetch_add(1, std::memory_order_release);
  return cudaSuccess;
}

}  // namespace raddle::cudart
