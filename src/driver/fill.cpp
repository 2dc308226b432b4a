// Fills of words of one, two and four bytes, in one and two dimensions. They are the stream's work, also
// those without Async in their names but of memory that the host sees (synchronisation.h).
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/synchronisation.h"

namespace raddle::driver {
namespace {

CUresult fill(RowFill wanted, CUstream handle, CallForm form = CallForm::asynchronous) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  AddressInfo info;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (wanted.to.value % wanted.word_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (wanted.width == 0 || wanted.height == 0) return CUDA_SUCCESS;
  if (!find_address(context, wanted.to.value, info)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t span = (wanted.height - 1) * wanted.pitch + wanted.width * wanted.word_bytes;
  if (info.shared != nullptr && !Process::instance().memory.allows(wanted.to.value, span, ACCESS_READ_WRITE))
    return CUDA_ERROR_INVALID_VALUE;
  if (info.context != nullptr) wanted.device = &info.context->device;
  stream->order();
  const Result<void> done = stream->stream.fill(wanted);
  if (!done) return result_of(done.error());
  const bool waits = form == CallForm::synchronous && syncs_memops(*context, info);
  if (!waits && fill_returns(form, place_of(info)) == Returns::at_once) return CUDA_SUCCESS;
  (void)stream->stream.synchronize();
  return result_after_wait(*context);
}

}  // namespace

namespace entry {

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill({{to}, value, 1, count}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill({{to}, value, 2, count}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return fill({{to}, value, 4, count}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill({{to}, value, 1, count}, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return fill({{to}, value, 2, count}, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill({{to}, value, 4, count}, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                         std::size_t height) {
  return fill({{to}, value, 1, width, height, pitch}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                          std::size_t height) {
  return fill({{to}, value, 2, width, height, pitch}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height) {
  return fill({{to}, value, 4, width, height, pitch}, nullptr, CallForm::synchronous);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                           std::size_t height, CUstream stream) {
  return fill({{to}, value, 1, width, height, pitch}, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return fill({{to}, value, 2, width, height, pitch}, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return fill({{to}, value, 4, width, height, pitch}, stream);
}

}  // namespace entry
}  // namespace raddle::driver
