// What the probes share. A probe prints a line for each question it asks the device: "question: answer".
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define NEEDED(call)                                                                        \
  do {                                                                                      \
    if (const cudaError_t error = (call); error != cudaSuccess) {                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

/// Draws that are the same on every machine (splitmix64).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t end) { return word() % end; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }

 private:
  std::uint64_t state_;
};

inline void print_hex(const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) std::printf("%02x", static_cast<const unsigned char*>(data)[i]);
  std::printf("\n");
}
