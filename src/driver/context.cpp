// Contexts, and the calling thread's stack of them.
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {

Stream& Context::legacy_stream() {
  if (Stream* const known = known_legacy_.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(mutex);
  if (legacy_ == nullptr) {
    Result<raddle::Stream> stream = device.stream();
    legacy_ = std::make_unique<Stream>(this, std::move(*stream), 0, 0, true);
    known_legacy_.store(legacy_.get(), std::memory_order_release);
  }
  return *legacy_;
}

Stream& Context::per_thread_stream() {
  thread_local const std::uint64_t thread = [] {
    static std::atomic<std::uint64_t> threads{0};
    return ++threads;
  }();
  const std::lock_guard lock(mutex);
  std::shared_ptr<Stream>& stream = per_thread_[thread];
  if (stream == nullptr) {
    Result<raddle::Stream> opened = device.stream();
    stream = std::make_shared<Stream>(this, std::move(*opened));
    blocking.push_back(stream);
    has_blocking.store(true, std::memory_order_release);
  }
  return *stream;
}

namespace entry {
namespace {

Status create(CUcontext* handle, unsigned flags, Gpu& gpu) {
  TRY_ASSIGN(std::shared_ptr<Context> context, Process::instance().create_context(gpu, flags));
  *handle = context->handle;
  context_stack().push_back(std::move(context));
  return CUDA_SUCCESS;
}

}  // namespace

Status cuDevicePrimaryCtxRetain(CUcontext* context, In<CUdevice> device) {
  TRY_ASSIGN(const auto primary, device.retain_primary());
  *context = primary->handle;
  return CUDA_SUCCESS;
}

Status cuDevicePrimaryCtxRelease_v2(In<CUdevice> device) { return device.release_primary(); }

Status cuDevicePrimaryCtxReset_v2(In<CUdevice> device) {
  device.reset_primary();
  return CUDA_SUCCESS;
}

Status cuDevicePrimaryCtxSetFlags_v2(In<CUdevice> device, unsigned flags) {
  device.primary_flags = flags;
  return CUDA_SUCCESS;
}

Status cuDevicePrimaryCtxGetState(In<CUdevice> device, unsigned* flags, int* active) {
  *flags = device.primary_flags;
  *active = device.primary_active() ? 1 : 0;
  return CUDA_SUCCESS;
}

Status cuCtxCreate_v2(CUcontext* context, unsigned flags, In<CUdevice> device) {
  return create(context, flags, device);
}

Status cuCtxCreate_v3(CUcontext* context, const CUexecAffinityParam* parameters, int count, unsigned flags,
                      In<CUdevice> device) {
  if (count < 0 || (count != 0 && parameters == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(context, flags, device);
}

Status cuCtxCreate_v4(CUcontext* context, const CUctxCreateParams* parameters, unsigned flags,
                      In<CUdevice> device) {
  // The parameters are for execution affinity and graphics contexts, which are features of other
  // devices.
  const bool asks = parameters && (parameters->numExecAffinityParams != 0 || parameters->cigParams);
  if (asks) return CUDA_ERROR_NOT_SUPPORTED;
  return create(context, flags, device);
}

Status cuCtxDestroy_v2(In<Context> context) {
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  Process::instance().destroy_context(context);
  return CUDA_SUCCESS;
}

Status cuCtxPushCurrent_v2(In<Context> context) {
  context_stack().push_back(context);
  return CUDA_SUCCESS;
}

Status cuCtxPopCurrent_v2(CUcontext* handle) {
  auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = stack.back()->handle;
  stack.pop_back();
  return CUDA_SUCCESS;
}

Status cuCtxSetCurrent(CUcontext handle) {
  std::shared_ptr<Context> context;  // null: none is current any more
  if (handle != nullptr) {
    TRY_ASSIGN(context, find<Context>(handle));
  }
  auto& stack = context_stack();
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(std::move(context));
  return CUDA_SUCCESS;
}

Status cuCtxGetCurrent(CUcontext* context) {
  const auto& stack = context_stack();
  *context = stack.empty() ? nullptr : stack.back()->handle;
  return CUDA_SUCCESS;
}

Status cuCtxGetDevice(Here context, CUdevice* device) {
  *device = context->gpu.number;
  return CUDA_SUCCESS;
}

Status cuCtxGetFlags(Here context, unsigned* flags) {
  *flags = context->flags;
  return CUDA_SUCCESS;
}

Status cuCtxGetApiVersion(OrCurrent<Context>, unsigned* version) {
  constexpr unsigned kVersion = 3020;  // since their second form contexts are the same
  *version = kVersion;
  return CUDA_SUCCESS;
}

Status cuCtxSynchronize(Here context) {
  TRY(check_unsafe_call());
  (void)context->device.synchronize();
  release_pools();
  return result_after_wait(*context);
}

Status cuCtxGetStreamPriorityRange(Here, int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
