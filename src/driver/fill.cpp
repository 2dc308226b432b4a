// Fills of words of one, two and four bytes, in one and two dimensions. They are the stream's work, also
// those without Async in their names but of memory that the host sees (synchronisation.h).
#include "driver/fill.h"

#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/synchronisation.h"

namespace raddle::driver {
namespace {

/// Checks a fill, and says whose memory it fills; of one that fills nothing only how its address is aligned.
Status resolve(const std::shared_ptr<Context>& context, RowFill& wanted, AddressInfo& info) {
  if (wanted.to.value % wanted.word_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (wanted.width == 0 || wanted.height == 0) return CUDA_SUCCESS;
  if (!find_address(context, wanted.to.value, info)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t span = (wanted.height - 1) * wanted.pitch + wanted.width * wanted.word_bytes;
  if (info.shared != nullptr && !Process::instance().memory.allows(wanted.to.value, span, ACCESS_READ_WRITE))
    return CUDA_ERROR_INVALID_VALUE;
  if (info.context != nullptr) wanted.device = &info.context->device;
  return CUDA_SUCCESS;
}

Status fill(const std::shared_ptr<Context>& context, Stream& stream, CallForm form, RowFill wanted) {
  AddressInfo info;
  TRY(resolve(context, wanted, info));
  if (wanted.width == 0 || wanted.height == 0) return CUDA_SUCCESS;
  if (stream.is_capturing() && form != CallForm::synchronous) {
    const auto word = static_cast<unsigned>(wanted.word);
    return capture(
        stream,
        FillNode{context,
                 {{wanted.to.value, wanted.pitch, word, wanted.word_bytes, wanted.width, wanted.height},
                  context->handle}});
  }
  TRY(stream.order());
  TRY(stream.stream.fill(wanted));
  const bool waits = form == CallForm::synchronous && syncs_memops(*context, info);
  if (!waits && fill_returns(form, place_of(info)) == Returns::at_once) return CUDA_SUCCESS;
  (void)stream.stream.synchronize();
  return result_after_wait(*context);
}

/// Fills for a call that names no stream.
Status fill(const std::shared_ptr<Context>& context, const RowFill& wanted) {
  return fill(context, default_stream(context), CallForm::synchronous, wanted);
}
Status fill(const std::shared_ptr<Context>& context, Stream& stream, const RowFill& wanted) {
  return fill(context, stream, CallForm::asynchronous, wanted);
}

}  // namespace

Answer<RowFill> fill_of(const std::shared_ptr<Context>& context, const CUDA_MEMSET_NODE_PARAMS& params) {
  const bool is_word = params.elementSize == 1 || params.elementSize == 2 || params.elementSize == 4;
  if (!is_word || params.width == 0 || params.height == 0 ||
      (params.height > 1 &&
       (params.pitch < params.width * params.elementSize || params.pitch % params.elementSize != 0)))
    return CUDA_ERROR_INVALID_VALUE;
  RowFill fill{{params.dst}, params.value,  params.elementSize,
               params.width, params.height, params.height > 1 ? params.pitch : 0};
  AddressInfo info;
  TRY(resolve(context, fill, info));
  return fill;
}

namespace entry {

Status cuMemsetD8_v2(Here context, CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill(context, {{to}, value, 1, count});
}
Status cuMemsetD16_v2(Here context, CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill(context, {{to}, value, 2, count});
}
Status cuMemsetD32_v2(Here context, CUdeviceptr to, unsigned value, std::size_t count) {
  return fill(context, {{to}, value, 4, count});
}
Status cuMemsetD8Async(Here context, CUdeviceptr to, unsigned char value, std::size_t count,
                       In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 1, count});
}
Status cuMemsetD16Async(Here context, CUdeviceptr to, unsigned short value, std::size_t count,
                        In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 2, count});
}
Status cuMemsetD32Async(Here context, CUdeviceptr to, unsigned value, std::size_t count, In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 4, count});
}

Status cuMemsetD2D8_v2(Here context, CUdeviceptr to, std::size_t pitch, unsigned char value,
                       std::size_t width, std::size_t height) {
  return fill(context, {{to}, value, 1, width, height, pitch});
}
Status cuMemsetD2D16_v2(Here context, CUdeviceptr to, std::size_t pitch, unsigned short value,
                        std::size_t width, std::size_t height) {
  return fill(context, {{to}, value, 2, width, height, pitch});
}
Status cuMemsetD2D32_v2(Here context, CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                        std::size_t height) {
  return fill(context, {{to}, value, 4, width, height, pitch});
}
Status cuMemsetD2D8Async(Here context, CUdeviceptr to, std::size_t pitch, unsigned char value,
                         std::size_t width, std::size_t height, In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 1, width, height, pitch});
}
Status cuMemsetD2D16Async(Here context, CUdeviceptr to, std::size_t pitch, unsigned short value,
                          std::size_t width, std::size_t height, In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 2, width, height, pitch});
}
Status cuMemsetD2D32Async(Here context, CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                          std::size_t height, In<Stream> stream) {
  return fill(context, *stream, {{to}, value, 4, width, height, pitch});
}

}  // namespace entry
}  // namespace raddle::driver
