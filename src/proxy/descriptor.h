// A descriptor of the system, closed when it is destroyed.
#pragma once

#include <utility>

namespace raddle::proxy {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  int number() const { return number_; }  ///< -1: none
  explicit operator bool() const { return number_ >= 0; }

 private:
  void close();
  int number_ = -1;
};

/// A bell: who sleeps until it is readable wakes up when it is rung. None if the system has no descriptors.
Descriptor make_bell();
void ring(const Descriptor& bell);

}  // namespace raddle::proxy
