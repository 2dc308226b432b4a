#include "driver/jit_log.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace raddle::driver {

JitLog::JitLog(unsigned count, const int* options, void** values) {
  constexpr int kMaxRegisters = 0, kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6;
  for (unsigned i = 0; i < count; ++i) {
    // A number of 32 bits, in the place of a pointer; so are sizes.
    const auto number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values[i]));
    if (options[i] == kMaxRegisters) max_registers_ = number;
    Buffer& buffer = options[i] == kInfoLog || options[i] == kInfoLogBytes ? info_ : error_;
    if (options[i] == kInfoLog || options[i] == kErrorLog) buffer.text = static_cast<char*>(values[i]);
    if (options[i] == kInfoLogBytes || options[i] == kErrorLogBytes) {
      buffer.bytes = number;
      buffer.used_out = &values[i];
    }
  }
  info_.open();
  error_.open();
}

void JitLog::Buffer::open() {
  if (text == nullptr) bytes = 0;
  if (bytes != 0) *text = '\0';
  if (used_out != nullptr) *used_out = nullptr;
}

void JitLog::Buffer::append(std::string_view line) {
  if (used + 2 > bytes) return;  // a line's end and the zero
  const std::size_t length = std::min(line.size(), bytes - used - 2);
  std::memcpy(text + used, line.data(), length);
  used += length;
  text[used++] = '\n';
  text[used] = '\0';
  if (used_out != nullptr) *used_out = reinterpret_cast<void*>(used + 1);
}

}  // namespace raddle::driver
