// The server's end of a push buffer. It believes nothing that it reads: a piece is copied, then looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "proxy/channel.h"

namespace raddle::serve {

class PushBufferReader {
 public:
  explicit PushBufferReader(proxy::PushBuffer& buffer) : buffer_(buffer) {}
  bool has_more() const { return buffer_.put.load(std::memory_order_seq_cst) != got_; }
  /// Pieces that nobody has taken, as the memory says; any thread.
  std::uint32_t waiting() const { return std::min(buffer_.put - buffer_.got, proxy::PushBuffer::kPieces); }
  /// Copies the next piece of a command stream out; there is one.
  /// @param copy  receives it
  /// @returns its bytes. @errors invalid: it lies outside of the buffer, or is too long
  Result<std::size_t> take(std::span<std::byte> copy);

 private:
  proxy::PushBuffer& buffer_;
  std::uint32_t got_ = 0;
};

}  // namespace raddle::serve
