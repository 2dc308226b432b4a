#include "serve/push_buffer_reader.h"

#include <cstring>

namespace raddle::serve {

Result<std::size_t> PushBufferReader::take(std::span<std::byte> copy) {
  using proxy::PushBuffer;
  if (buffer_.put.load(std::memory_order_acquire) - got_ > PushBuffer::kPieces)
    return Error::invalid("a push buffer holds more than it can");
  const volatile proxy::StreamPiece& shared = buffer_.pieces[got_ % PushBuffer::kPieces];
  const std::uint32_t offset = shared.offset, bytes = shared.bytes;  // read once
  if (bytes > copy.size() || offset > PushBuffer::kStreamBytes || bytes > PushBuffer::kStreamBytes - offset)
    return Error::invalid("{} bytes at {} are no piece of a command stream", bytes, offset);
  std::memcpy(copy.data(), buffer_.streams.data() + offset, bytes);
  buffer_.got.store(++got_, std::memory_order_release);
  return std::size_t{bytes};
}

}  // namespace raddle::serve
