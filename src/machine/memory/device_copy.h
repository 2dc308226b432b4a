// Copies into and out of device memory while kernels run: the one place where the host touches memory that a
// kernel may poll. Used by every write, read, copy and fill of the runtime.
//
// A host program signals a running kernel by writing a flag that it polls, and watches one by reading a word
// that it stores. The kernel's side is a single access; the host's has to be one too, or the kernel could see
// half a word. memcpy promises nothing of the kind (and is a data race in C++), so copies of up to
// kWordwiseBytes are made of atomic accesses: naturally aligned words of 8 bytes, and of 4, 2 and 1 where the
// ends are less aligned. Longer ones are memcpy: a kernel may see any mixture of old and new bytes, until a
// word written afterwards tells it that they are complete.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::machine {

inline constexpr std::uint64_t kWordwiseBytes = 4096;  ///< longest copy made of single-copy atomic words

/// All sizes in bytes. Stores are release, loads acquire: a kernel that sees the last word of one copy sees
/// all of the copies made before it.
void copy_to_device(std::byte* to, const void* from, std::uint64_t bytes);
void copy_from_device(void* to, const std::byte* from, std::uint64_t bytes);
void copy_on_device(std::byte* to, const std::byte* from, std::uint64_t bytes);  ///< may overlap
void fill_device(std::byte* to, std::uint8_t value, std::uint64_t bytes);
/// Words of 1, 2, 4 or 8 bytes, aligned to their size.
void fill_device_words(std::byte* to, std::uint64_t word, unsigned word_bytes, std::uint64_t count);

/// Rows of `width` bytes, `height` of them to a slice. A side that kernels may see is `watched`.
struct BoxSide {
  std::byte* memory = nullptr;
  std::uint64_t pitch = 0, slice_pitch = 0;
  bool watched = false;
};
/// Rows that follow each other on both sides are copied at once; there is no buffer in between, so sides that
/// overlap must do so within a row.
void copy_box(const BoxSide& to, const BoxSide& from, std::uint64_t width, std::uint64_t height,
              std::uint64_t depth);

}  // namespace raddle::machine
