// The program's end of a push buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "proxy/channel.h"

namespace raddle::proxy {

/// Not thread-safe. Command streams lie behind one another in their memory, which comes round as the server
/// takes them.
class PushBufferWriter {
 public:
  /// @param streams  PushBuffer::kStreamBytes of device memory for the streams, which the server has, too,
  /// and which outlives this; null: they lie in the buffer's own
  explicit PushBufferWriter(PushBuffer& buffer, std::byte* streams = nullptr)
      : buffer_(buffer),
        streams_(streams != nullptr ? streams : buffer.streams.data()),
        base_(reinterpret_cast<std::uint64_t>(streams)),
        memory_(streams != nullptr ? StreamPiece::kDevice : StreamPiece::kHost) {}
  /// Appends one command, and its data. @returns false: there is no room until the server has taken more
  bool write(std::span<const std::byte> command, std::span<const std::byte> data);

 private:
  /// Where so many bytes are free; kStreamBytes: nowhere.
  std::uint32_t room_for(std::uint32_t bytes);

  PushBuffer& buffer_;
  std::byte* const streams_;
  const std::uint64_t base_;           // what pieces count from
  const std::uint32_t memory_;         // which memory, as pieces say it
  std::uint32_t put_ = 0;              // pieces written
  std::uint32_t seen_ = 0;             // of these, known to have been taken
  std::uint32_t begin_ = 0, end_ = 0;  // of the streams in use; equal: none, where seen_ is put_
};

}  // namespace raddle::proxy
