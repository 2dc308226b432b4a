// Lays out what the stages of a draw pass on, one array after another.
#pragma once

#include "raddle/shader.h"

namespace raddle::graphics {

class Workspace {
 public:
  /// @param base  0: to learn the size
  explicit Workspace(std::uint64_t base) : base_(base) {}

  template <class T>
  Array<T> take(std::uint64_t count) {
    const Array<T> array{base_ + bytes_};
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return array;
  }
  Vertices vertices(std::uint64_t count, unsigned varyings) {
    const auto stride = static_cast<std::uint32_t>((count + 31) / 32 * 32);
    return {take<float>(std::uint64_t{stride} * (4 + varyings)), stride, varyings};
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kAlignment = 256;
  std::uint64_t base_, bytes_ = 0;
};

}  // namespace raddle::graphics
