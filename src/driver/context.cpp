// Contexts, and the calling thread's stack of them.
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {

Stream& Context::legacy_stream() {
  const std::lock_guard lock(mutex);
  if (legacy_ == nullptr) {
    Result<raddle::Stream> stream = device.stream();
    legacy_ = std::make_unique<Stream>(this, std::move(*stream), 0, 0, true);
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
  }
  return *stream;
}

namespace entry {
namespace {

CUresult find_context(CUcontext handle, std::shared_ptr<Context>& context) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  context = Process::instance().contexts.find(handle);
  return context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult create(CUcontext* handle, unsigned flags, CUdevice device) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  Result<std::shared_ptr<Context>> context = Process::instance().create_context(flags);
  if (!context) return result_of(context.error());
  *handle = (*context)->handle;
  context_stack().push_back(std::move(*context));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  const auto primary = Process::instance().retain_primary();
  if (!primary) return result_of(primary.error());
  *context = (*primary)->handle;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const CUresult result = check_device(device);
  return result != CUDA_SUCCESS ? result : Process::instance().release_primary();
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  Process::instance().reset_primary();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  Process::instance().primary_flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  *flags = Process::instance().primary_flags;
  *active = Process::instance().primary_active() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, const CUexecAffinityParam* parameters, int count, unsigned flags,
                        CUdevice device) {
  if (count < 0 || (count != 0 && parameters == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return count != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, const CUctxCreateParams* parameters, unsigned flags,
                        CUdevice device) {
  // Execution affinity and graphics contexts, which is what there are parameters for, are features of other
  // devices.
  const bool asks = parameters && (parameters->numExecAffinityParams != 0 || parameters->cigParams);
  return asks ? CUDA_ERROR_NOT_SUPPORTED : create(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (const CUresult result = find_context(handle, context); result != CUDA_SUCCESS) return result;
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  Process::instance().destroy_context(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (const CUresult result = find_context(handle, context); result != CUDA_SUCCESS) return result;
  context_stack().push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = stack.back()->handle;
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (handle != nullptr)
    if (const CUresult result = find_context(handle, context); result != CUDA_SUCCESS) return result;
  auto& stack = context_stack();
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(std::move(context));
  return check_device(0);
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = context_stack();
  *handle = stack.empty() ? nullptr : stack.back()->handle;
  return check_device(0);
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  const CUresult result = handle != nullptr ? find_context(handle, context) : current_context(context);
  if (result == CUDA_SUCCESS) *version = kDriverVersion;
  return result;
}

CUresult cuCtxSynchronize() {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  (void)context->device.synchronize();
  release_pools();
  return result_after_wait(*context);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
