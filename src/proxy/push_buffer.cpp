#include "proxy/push_buffer.h"

#include <cstring>

#include "base/round_up.h"

namespace raddle::proxy {

std::uint32_t PushBufferWriter::room_for(std::uint32_t bytes) {
  for (const std::uint32_t got = buffer_.got.load(std::memory_order_acquire);
       seen_ != got && seen_ != put_;) {
    const StreamPiece& taken = buffer_.pieces[seen_++ % PushBuffer::kPieces];
    begin_ = static_cast<std::uint32_t>(taken.start - base_) + taken.bytes;
  }
  if (seen_ == put_) begin_ = end_ = 0;
  if (put_ - seen_ == PushBuffer::kPieces) return PushBuffer::kStreamBytes;
  if (begin_ <= end_) {
    if (bytes <= PushBuffer::kStreamBytes - end_) return end_;
    return bytes < begin_ ? 0 : PushBuffer::kStreamBytes;
  }
  return bytes < begin_ - end_ ? end_ : PushBuffer::kStreamBytes;
}

bool PushBufferWriter::write(std::span<const std::byte> command, std::span<const std::byte> data) {
  const auto bytes = static_cast<std::uint32_t>(round_up(command.size() + data.size(), 16));
  const std::uint32_t at = room_for(bytes);
  if (at == PushBuffer::kStreamBytes) return false;
  std::memcpy(streams_ + at, command.data(), command.size());
  if (!data.empty()) std::memcpy(streams_ + at + command.size(), data.data(), data.size());
  buffer_.pieces[put_ % PushBuffer::kPieces] = {base_ + at, bytes, memory_};
  end_ = at + bytes;
  buffer_.put.store(++put_, std::memory_order_seq_cst);
  return true;
}

}  // namespace raddle::proxy
