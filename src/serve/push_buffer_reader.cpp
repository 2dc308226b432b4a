#include "serve/push_buffer_reader.h"

#include <cstring>

namespace raddle::serve {

using proxy::PushBuffer;
using proxy::StreamPiece;

Result<StreamPiece> PushBufferReader::next() const {
  if (buffer_.put.load(std::memory_order_acquire) - got_ > PushBuffer::kPieces)
    return Error::invalid("a push buffer holds more than it can");
  const volatile StreamPiece& shared = buffer_.pieces[got_ % PushBuffer::kPieces];
  return StreamPiece{.start = shared.start, .bytes = shared.bytes, .memory = shared.memory};
}

Result<void> PushBufferReader::read(const StreamPiece& piece, std::span<std::byte> copy) const {
  if (piece.memory != StreamPiece::kHost || piece.bytes > copy.size() ||
      piece.start > PushBuffer::kStreamBytes || piece.bytes > PushBuffer::kStreamBytes - piece.start)
    return Error::invalid("{} bytes at {:#x} of memory {} are no piece of a command stream", piece.bytes,
                          piece.start, piece.memory);
  std::memcpy(copy.data(), buffer_.streams.data() + piece.start, piece.bytes);
  return {};
}

}  // namespace raddle::serve
