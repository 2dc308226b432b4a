// See output.h.
#include "machine/services/output.h"

#include <cstdio>

namespace raddle::machine {

void Output::append(std::string_view text) {
  constexpr std::size_t kLong = 1 << 20;  // CUDA's buffer has this size, and overwrites
  std::lock_guard lock(mutex_);
  buffer_.append(text);
  if (buffer_.size() >= kLong) {
    write(buffer_);
    buffer_.clear();
  }
}

void Output::flush() {
  std::lock_guard lock(mutex_);
  if (buffer_.empty()) return;
  write(buffer_);
  buffer_.clear();
}

void Output::write(std::string_view text) {
  if (sink_) {
    sink_(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace raddle::machine
