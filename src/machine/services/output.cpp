// See output.h.
#include "machine/services/output.h"

#include <cstdio>

namespace raddle::machine {

std::uint64_t Output::limit() const {
  std::lock_guard lock(mutex_);
  return limit_;
}

bool Output::set_limit(std::uint64_t limit) {
  std::lock_guard lock(mutex_);
  if (!used_) limit_ = limit;
  return !used_;
}

void Output::append(std::string_view text) {
  constexpr std::size_t kLong = 1 << 20;
  std::lock_guard lock(mutex_);
  used_ = true;
  holds_text_.store(true, std::memory_order_release);
  if (limit_ != 0) return append_to_ring(text);
  buffer_.append(text);
  if (buffer_.size() >= kLong) write();
}

void Output::append_to_ring(std::string_view text) {
  if (text.size() > limit_) return;  // never fits
  while (buffer_.size() - begin_ + text.size() > limit_) {
    begin_ += lengths_.front();
    lengths_.pop_front();
  }
  if (begin_ > limit_) {  // now and then, so that a message costs no more than its copy
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(text);
  lengths_.push_back(text.size());
}

void Output::flush() {
  if (!holds_text_.load(std::memory_order_acquire)) return;  // every wait asks
  std::lock_guard lock(mutex_);
  if (buffer_.size() > begin_) write();
}

void Output::write() {
  const std::string_view text = std::string_view(buffer_).substr(begin_);
  if (sink_) {
    sink_(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  buffer_.clear();
  begin_ = 0;
  lengths_.clear();
  holds_text_.store(false, std::memory_order_relaxed);
}

}  // namespace raddle::machine
