// Streams, events, functions of the host in streams.
#include <utility>

#include "cudart/entry.h"

namespace raddle::cudart::entry {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return entry::cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return entry::cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  CHECK(prepare());
  return driver().cuStreamCreateWithPriority(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuStreamDestroy(stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  CHECK(prepare());
  return driver().cuStreamGetPriority(stream, priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  CHECK(prepare());
  return driver().cuStreamGetFlags(stream, flags);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  CHECK(prepare());
  return driver().cuStreamGetId(stream, id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  CHECK(prepare());
  return driver().cuStreamGetDevice(stream, device);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  CHECK(prepare());
  return driver().cuStreamCopyAttributes(to, from);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  CHECK(prepare());
  return driver().cuStreamGetAttribute(stream, attribute, value);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  CHECK(prepare());
  return driver().cuStreamSetAttribute(stream, attribute, value);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  CHECK(prepare());
  return driver().cuStreamWaitEvent(stream, event, flags);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  CHECK(prepare());
  return driver().cuStreamAddCallback(stream, callback, data, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  CHECK(prepare());
  return driver().cuLaunchHostFunc(stream, function, data);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuStreamSynchronize(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuStreamQuery(stream);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return entry::cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  CHECK(prepare());
  return driver().cuEventCreate(event, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return entry::cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  CHECK(prepare());
  return driver().cuEventRecordWithFlags(event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuEventQuery(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuEventSynchronize(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuEventDestroy(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  CHECK(prepare());
  return driver().cuEventElapsedTime(milliseconds, start, end);
}

}  // namespace raddle::cudart::entry
