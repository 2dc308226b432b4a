// What streams are: numbers, devices, attributes.
#include <cstring>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

/// CUDA_ERROR_INVALID_VALUE for what is no attribute of streams, or no value of one.
Status check_attribute(int attribute, const CUstreamAttrValue* value) {
  constexpr int kPolicyLast = 4;  // auto, spin, yield, blocking
  switch (attribute) {
    case STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:  // a hint about a cache that there is not
      return value == nullptr || value->window.num_bytes <= kLargestWindow ? CUDA_SUCCESS
                                                                           : CUDA_ERROR_INVALID_VALUE;
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

}  // namespace

Status cuStreamGetId(Here, In<Stream> stream, unsigned long long* id) {
  *id = stream->id;
  return CUDA_SUCCESS;
}

Status cuStreamGetDevice(Here context, In<Stream>, CUdevice* device) {
  *device = context->gpu.number;
  return CUDA_SUCCESS;
}

Status cuStreamGetCtx_v2(Here here, In<Stream> stream, CUcontext* context, CUgreenCtx* green) {
  *green = nullptr;  // streams of parts of devices are not there
  return cuStreamGetCtx(here, stream, context);
}

Status cuStreamGetGreenCtx(Here, In<Stream>, CUgreenCtx* green) {
  *green = nullptr;
  return CUDA_SUCCESS;
}

Status cuStreamGetAttribute(Here, In<Stream> stream, int attribute, CUstreamAttrValue* value) {
  TRY(check_attribute(attribute, nullptr));
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

Status cuStreamSetAttribute(Here, In<Stream> stream, int attribute, const CUstreamAttrValue* value) {
  TRY(check_attribute(attribute, value));
  const std::lock_guard lock(stream->mutex);
  if (attribute == STREAM_ATTRIBUTE_PRIORITY) {
    stream->set_priority(value->number);
  } else {
    stream->attributes[attribute] = *value;
  }
  return CUDA_SUCCESS;
}

Status cuStreamCopyAttributes(Here, In<Stream> to, In<Stream> from) {
  if (to == from) return CUDA_SUCCESS;
  const std::scoped_lock lock(to->mutex, from->mutex);
  to->attributes = from->attributes;
  to->set_priority(from->priority);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
