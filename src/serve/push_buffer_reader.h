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
  /// Where the next piece of a command stream lies, as the buffer says now; there is one. It may say another
  /// thing later, so this is asked once. @errors invalid: it has more pieces than it can
  Result<proxy::StreamPiece> next() const;
  /// Copies a piece of host memory. @param copy  receives it
  /// @errors invalid: it lies outside of the buffer, or is too long
  Result<void> read(const proxy::StreamPiece& piece, std::span<std::byte> copy) const;
  /// The next piece has been taken: the client may use its memory again.
  void pass() { buffer_.got.store(++got_, std::memory_order_release); }

 private:
  proxy::PushBuffer& buffer_;
  std::uint32_t got_ = 0;
};

}  // namespace raddle::serve
