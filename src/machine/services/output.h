// What kernels print: buffered, written at synchronisation. Without a limit nothing is lost: a long text is
// written early. With one, the oldest messages make room for new ones, as in CUDA's buffer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace raddle::machine {

class Output {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// @param sink   receives the text; none: stdout
  /// @param limit  bytes of text kept between two flushes; 0: no limit
  Output(Sink sink, std::uint64_t limit) : sink_(std::move(sink)), limit_(limit) {}

  std::uint64_t limit() const;
  bool set_limit(std::uint64_t limit);  ///< false once there was a message

  /// One message: kept or overwritten as a whole. Thread-safe.
  void append(std::string_view text);
  void flush();

 private:
  void append_to_ring(std::string_view text);
  void write();

  mutable std::mutex mutex_;
  const Sink sink_;
  std::uint64_t limit_;
  bool used_ = false;
  std::atomic<bool> holds_text_{false};  // changed under the lock; perhaps none, where it was overwritten
  std::string buffer_;
  std::size_t begin_ = 0;            // what was overwritten ends here
  std::deque<std::size_t> lengths_;  // of the messages in a limited buffer
};

}  // namespace raddle::machine
