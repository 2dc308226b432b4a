// Shared by the programs of this folder: buffers that host and device see, and a line of TAP per check.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline int checks = 0, failures = 0;

inline void check(bool good, const char* name, const char* detail = "") {
  ++checks;
  if (!good) ++failures;
  std::printf("%s %d - %s%s%s\n", good ? "ok" : "not ok", checks, name, *detail ? ": " : "", detail);
}

inline int finish() {
  std::printf("1..%d\n", checks);
  return failures != 0;
}

inline void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("not ok %d - %s\n", checks + 1, cudaGetErrorString(error));
  std::exit(1);
}

/// Numbers in memory of the device, copied there and back.
template <typename T>
class Buffer {
 public:
  explicit Buffer(const std::vector<T>& contents) : count_(contents.size()) {
    must(cudaMalloc(&pointer_, count_ * sizeof(T)));
    must(cudaMemcpy(pointer_, contents.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  explicit Buffer(size_t count) : Buffer(std::vector<T>(count)) {}
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(pointer_); }
  T* get() const { return pointer_; }
  std::vector<T> contents() const {
    std::vector<T> result(count_);
    must(cudaMemcpy(result.data(), pointer_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  size_t count_;
  T* pointer_ = nullptr;
};

/// Distance of `got` from the exact value in units of the last place of T; huge where one is NaN or infinite
/// and not both.
template <typename T>
double distance(T got, long double exact) {
  const T want = (T)exact;
  if (std::isnan((double)got) || std::isnan((double)want))
    return std::isnan((double)got) == std::isnan((double)want) ? 0 : 1e30;
  if (got == want) return 0;
  if (std::isinf((double)got) || std::isinf((double)want)) return 1e30;
  const int least = sizeof(T) == 4 ? -149 : -1074, digits = sizeof(T) == 4 ? 23 : 52;
  int exponent = want == 0 ? least : std::ilogb(want) - digits;
  if (exponent < least) exponent = least;
  return (double)std::fabs(std::ldexp((long double)got - exact, -exponent));
}
