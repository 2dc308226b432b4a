// Text of printf and assert in kernels. Reads kernel memory, which may fault and abandon the caller: so no
// heap, no lock and no destructor here; the text is collected in a buffer on the fiber's stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "exec/abi.h"

namespace raddle::machine {

/// Text of bounded length; what does not fit is cut.
class FormattedText {
 public:
  void push(char c) {
    if (size_ < kCapacity) data_[size_++] = c;
  }
  void push(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) push(text[i]);
  }
  void pad(std::size_t spaces) {
    for (std::size_t i = 0; i < spaces; ++i) push(' ');
  }
  bool full() const { return size_ == kCapacity; }
  /// The text ends because the kernel may not read a string that it names.
  void forbid(std::uint64_t address) { forbidden_ = address; }
  std::uint64_t forbidden() const { return forbidden_; }  ///< its address; 0: none
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

  static constexpr std::size_t kCapacity = 16 << 10;
  /// A width or a precision beyond counts as this. CUDA's manual names no bound; without one a message could
  /// take the host's memory.
  static constexpr int kMostPadding = 4096;

 private:
  std::size_t size_ = 0;
  std::uint64_t forbidden_ = 0;
  char data_[kCapacity];
};

/// printf as CUDA has it: flags, width, precision, `*`, sizes h hh l ll z j t, conversions d i u o x X c s p
/// and the floating ones. Anything else, `%n` included, is printed as written. The text ends where the buffer
/// is full.
/// @param cta        that prints; it must be allowed to read what the addresses name
/// @param format     address of the NUL-terminated format
/// @param arguments  address of the packed arguments, each at its natural alignment
/// @returns number of arguments used, as CUDA's printf does
/// @source CUDA C++ Programming Guide, "Formatted Output"
std::int32_t format_device_text(FormattedText& out, const exec::CtaContext& cta, std::uint64_t format,
                                std::uint64_t arguments);

/// "file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `text` failed."
void format_assertion(FormattedText& out, const exec::CtaContext& cta, std::uint64_t message,
                      std::uint64_t file, std::uint32_t line, std::uint64_t function,
                      const std::array<std::uint32_t, 3>& thread);

}  // namespace raddle::machine
