// See device_copy.h. Only the device's side of a copy is aligned and atomic; the host's side is plain bytes.
#include "machine/memory/device_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace raddle::machine {
namespace {

/// Calls access(device, word{}) for the largest naturally aligned words that make up [device, device +
/// bytes).
template <class Access>
void for_each_word(std::byte* device, std::uint64_t bytes, Access&& access) {
  std::byte* const end = device + bytes;
  auto one = [&]<class Word>(Word word) {
    access(device, word);
    device += sizeof word;
  };
  auto is_odd = [&](std::uint64_t size) { return (reinterpret_cast<std::uint64_t>(device) & size) != 0; };
  auto left = [&] { return static_cast<std::uint64_t>(end - device); };
  if (is_odd(1) && left() >= 1) one(std::uint8_t{});
  if (is_odd(2) && left() >= 2) one(std::uint16_t{});
  if (is_odd(4) && left() >= 4) one(std::uint32_t{});
#pragma GCC unroll 8
  for (std::uint64_t words = left() / 8; words != 0; --words) one(std::uint64_t{});
  if (left() >= 4) one(std::uint32_t{});
  if (left() >= 2) one(std::uint16_t{});
  if (left() >= 1) one(std::uint8_t{});
}

template <class Word>
std::atomic_ref<Word> word_at(std::byte* device) {
  return std::atomic_ref<Word>(*reinterpret_cast<Word*>(device));
}

/// Both sides have their words at the same places, and none is written before it is read.
void copy_words(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  auto* source = const_cast<std::byte*>(from);  // an atomic_ref wants a mutable object even to load from it
  for_each_word(to, bytes, [&]<class Word>(std::byte* device, Word word) {
    word = word_at<Word>(source).load(std::memory_order_acquire);
    source += sizeof word;
    word_at<Word>(device).store(word, std::memory_order_release);
  });
}

}  // namespace

void copy_to_device(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes > kWordwiseBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto* source = static_cast<const std::byte*>(from);
  for_each_word(to, bytes, [&]<class Word>(std::byte* device, Word word) {
    std::memcpy(&word, source, sizeof word);
    source += sizeof word;
    word_at<Word>(device).store(word, std::memory_order_release);
  });
}

void copy_from_device(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > kWordwiseBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto* target = static_cast<std::byte*>(to);
  // An atomic_ref wants a mutable object even to load from it.
  for_each_word(const_cast<std::byte*>(from), bytes, [&]<class Word>(std::byte* device, Word word) {
    word = word_at<Word>(device).load(std::memory_order_acquire);
    std::memcpy(target, &word, sizeof word);
    target += sizeof word;
  });
}

void copy_on_device(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > kWordwiseBytes) {
    std::memmove(to, from, bytes);
    return;
  }
  const auto distance = reinterpret_cast<std::uint64_t>(to) - reinterpret_cast<std::uint64_t>(from);
  if (distance % sizeof(std::uint64_t) == 0 && distance >= bytes) return copy_words(to, from, bytes);
  std::byte between[kWordwiseBytes];  // the two may overlap
  copy_from_device(between, from, bytes);
  copy_to_device(to, between, bytes);
}

void fill_device(std::byte* to, std::uint8_t value, std::uint64_t bytes) {
  if (bytes > kWordwiseBytes) {
    std::memset(to, value, bytes);
    return;
  }
  for_each_word(to, bytes, [&]<class Word>(std::byte* device, Word word) {
    std::memset(&word, value, sizeof word);
    word_at<Word>(device).store(word, std::memory_order_release);
  });
}

namespace {
// A page of words, then that page again and again: memcpy's speed for any word.
void fill_repeatedly(std::byte* to, std::uint64_t word, unsigned word_bytes, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < kWordwiseBytes; i += word_bytes) std::memcpy(to + i, &word, word_bytes);
  for (std::uint64_t done = kWordwiseBytes; done < bytes; done += kWordwiseBytes)
    std::memcpy(to + done, to, std::min(kWordwiseBytes, bytes - done));
}
}  // namespace

void fill_device_words(std::byte* to, std::uint64_t word, unsigned word_bytes, std::uint64_t count) {
  if (word_bytes == 1) return fill_device(to, static_cast<std::uint8_t>(word), count);
  if (count * word_bytes > kWordwiseBytes) return fill_repeatedly(to, word, word_bytes, count * word_bytes);
  for (std::uint64_t i = 0; i < count; ++i, to += word_bytes) {
    if (word_bytes == 2)
      word_at<std::uint16_t>(to).store(static_cast<std::uint16_t>(word), std::memory_order_release);
    else if (word_bytes == 4)
      word_at<std::uint32_t>(to).store(static_cast<std::uint32_t>(word), std::memory_order_release);
    else
      word_at<std::uint64_t>(to).store(word, std::memory_order_release);
  }
}

namespace {
void copy_row(std::byte* to, const std::byte* from, std::uint64_t bytes, bool to_watched, bool from_watched) {
  if (to_watched && from_watched)
    copy_on_device(to, from, bytes);
  else if (to_watched)
    copy_to_device(to, from, bytes);
  else if (from_watched)
    copy_from_device(to, from, bytes);
  else
    std::memmove(to, from, bytes);
}
}  // namespace

void copy_box(const BoxSide& to, const BoxSide& from, std::uint64_t width, std::uint64_t height,
              std::uint64_t depth) {
  if (width == 0) return;                          // of nothing, which may lie nowhere
  if (to.pitch == width && from.pitch == width) {  // whole slices in one piece
    width *= height;
    height = 1;
    if (to.slice_pitch == width && from.slice_pitch == width) {
      width *= depth;
      depth = 1;
    }
  }
  for (std::uint64_t slice = 0; slice < depth; ++slice)
    for (std::uint64_t row = 0; row < height; ++row)
      copy_row(to.memory + slice * to.slice_pitch + row * to.pitch,
               from.memory + slice * from.slice_pitch + row * from.pitch, width, to.watched, from.watched);
}

}  // namespace raddle::machine
