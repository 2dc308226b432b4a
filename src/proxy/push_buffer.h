// The program's end of a push buffer.
#pragma once

#include <cstdint>
#include <span>

#include "proxy/channel.h"

namespace raddle::proxy {

/// Not thread-safe. Command streams lie behind one another in the buffer's memory, which comes round as the
/// server takes them.
class PushBufferWriter {
 public:
  explicit PushBufferWriter(PushBuffer& buffer) : buffer_(buffer) {}
  /// Appends one command, and its data. @returns false: there is no room until the server has taken more
  bool write(std::span<const std::byte> command, std::span<const std::byte> data);

 private:
  /// Where so many bytes are free; kStreamBytes: nowhere.
  std::uint32_t room_for(std::uint32_t bytes);

  PushBuffer& buffer_;
  std::uint32_t put_ = 0;              // pieces written
  std::uint32_t seen_ = 0;             // of these, known to have been taken
  std::uint32_t begin_ = 0, end_ = 0;  // of the streams in use; equal: none, where seen_ is put_
};

}  // namespace raddle::proxy
