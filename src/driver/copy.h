// Copies over endpoints: where rows of bytes are, whatever kind of memory they are in.
#pragma once

#include <optional>

#include "driver/process.h"
#include "driver/synchronisation.h"

namespace raddle::driver {

/// One side of a copy. Arrays, pitched memory and plain bytes are all this.
struct Endpoint {
  CUdeviceptr address = 0;
  std::size_t pitch = 0, slice_pitch = 0;  ///< bytes; of no meaning for one row, one slice
  bool is_device = false;                  ///< CUDA has to know the memory; else it may be the program's own
};

struct Extent {
  std::size_t width = 0, height = 1, depth = 1;  ///< bytes, rows, slices
};

/// The call that a copy is for.
struct CopyCall {
  const std::shared_ptr<Context>& context;  ///< the current one
  Stream& stream;                           ///< of that context
  CallForm form;
};

/// Copies in the order of the stream. copy_returns() says what has happened when this returns.
Status copy(const CopyCall& call, const Endpoint& to, const Endpoint& from, const Extent& extent);

/// The copy that endpoints describe, for who makes it later; the same checks. CUDA_ERROR_INVALID_VALUE
Answer<BoxCopy> box_between(const std::shared_ptr<Context>& context, const Endpoint& to, const Endpoint& from,
                            const Extent& extent);
/// Likewise of the public structure; also CUDA_ERROR_INVALID_HANDLE: an array that is not there
Answer<BoxCopy> box_of(const std::shared_ptr<Context>& context, const CUDA_MEMCPY3D& copy);

/// A call that names no stream.
inline CopyCall synchronous_call(const std::shared_ptr<Context>& context) {
  return {context, default_stream(context), CallForm::synchronous};
}
inline CopyCall asynchronous_call(const std::shared_ptr<Context>& context, Stream& stream) {
  return {context, stream, CallForm::asynchronous};
}

}  // namespace raddle::driver
