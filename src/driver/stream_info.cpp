// What streams are: numbers, devices, attributes, and whether they are being captured, which they never are.
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

CUresult find(CUstream handle, std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return find_stream(handle, context, stream);
}

/// CUDA_ERROR_INVALID_VALUE for what is no attribute of streams, or no value of one.
CUresult check_attribute(int attribute, const CUstreamAttrValue* value) {
  constexpr int kPolicyLast = 4;  // auto, spin, yield, blocking
  switch (attribute) {
    case STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:  // no cache has a part that can be set aside: windows are
                                                 // empty
      return value == nullptr || value->window.num_bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return value == nullptr || (value->number >= 1 && value->number <= kPolicyLast)
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    case STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:  // default and remote
      return value == nullptr || value->number == 0 || value->number == 1 ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_INVALID_VALUE;
    case STREAM_ATTRIBUTE_PRIORITY:
    case STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult not_captured(CUstream handle, int* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  *status = kNotCaptured;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  std::shared_ptr<Stream> stream;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  std::shared_ptr<Stream> stream;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (context == nullptr || green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *green = nullptr;  // streams of parts of devices are not there
  return cuStreamGetCtx(handle, context);
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* green) {
  std::shared_ptr<Stream> stream;
  if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  *green = nullptr;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, int attribute, CUstreamAttrValue* value) {
  std::shared_ptr<Stream> stream;
  if (value == nullptr || check_attribute(attribute, nullptr) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(stream->mutex);
  *value = {};
  if (const auto found = stream->attributes.find(attribute); found != stream->attributes.end())
    *value = found->second;
  else if (attribute == STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY)
    value->number = 1;
  else if (attribute == STREAM_ATTRIBUTE_PRIORITY)
    value->number = stream->priority;
  else if (attribute == STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
    value->domains[1] = 1;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, int attribute, const CUstreamAttrValue* value) {
  std::shared_ptr<Stream> stream;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_attribute(attribute, value); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find(handle, stream); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(stream->mutex);
  if (attribute == STREAM_ATTRIBUTE_PRIORITY) {
    stream->set_priority(value->number);
  } else {
    stream->attributes[attribute] = *value;
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) {
  std::shared_ptr<Stream> to, from;
  if (const CUresult result = find(to_handle, to); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find(from_handle, from); result != CUDA_SUCCESS) return result;
  if (to == from) return CUDA_SUCCESS;
  const std::scoped_lock lock(to->mutex, from->mutex);
  to->attributes = from->attributes;
  to->set_priority(from->priority);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, int* status) { return not_captured(stream, status); }

// Numbers, graphs and dependencies are given for streams that are being captured only.
CUresult cuStreamGetCaptureInfo(CUstream stream, int* status, unsigned long long*) {
  return not_captured(stream, status);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int* status, unsigned long long*, void**, const void**,
                                   std::size_t*) {
  return not_captured(stream, status);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int* status, unsigned long long*, void**, const void**,
                                   const void**, std::size_t*) {
  return not_captured(stream, status);
}

CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  constexpr int kRelaxed = 2;
  thread_local int current = 0;  // global
  if (mode == nullptr || *mode < 0 || *mode > kRelaxed) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
