// The problems of the kernel benchmark: inputs, launches, work, and one reference that judges every system's
// results. workloads/ has them, by kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch.h"
#include "machine_limits.h"
#include "parameters.h"

namespace bench {

using raddle::Error;
using raddle::Result;

/// Page-aligned host memory, zeroed.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(other.data_),
        bytes_(other.bytes_),
        mapped_(std::exchange(other.mapped_, nullptr)),
        mapped_bytes_(other.mapped_bytes_) {}
  Buffer& operator=(Buffer&&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
  void* mapped_;
  std::size_t mapped_bytes_;
};

/// What one run does, in the unit of the table and in the unit of the limit that it cannot beat.
struct Work {
  std::string_view unit;  ///< of work per second, e.g. "GB/s"
  double amount = 0;      ///< of that unit's work; value = amount / seconds
  Limit limit = Limit::copy;
  double limit_amount = 0;  ///< e.g. GB to be copied, where the unit is keys
};

/// One problem. `buffers` follow the order of the CUDA kernel's pointer parameters.
class Workload {
 public:
  virtual ~Workload() = default;

  Kernel kernel;
  std::string_view name;
  bool headline = true;         ///< counts in the geometric means
  long size = 0;                ///< elements, rows, or the side of a square problem
  Work work;                    ///< of one run
  bool reset_each_run = false;  ///< results depend on what an earlier run left in the buffers
  std::vector<Buffer> buffers;

  /// The launches that make one run, in order.
  virtual std::vector<Launch> launches() const = 0;
  /// Puts every buffer into its state before the first run.
  virtual void reset() = 0;
  /// Judges the buffers after one run from the reset state.
  /// @errors names the first element that is wrong, and the tolerance
  virtual Result<void> verify() const = 0;
};

/// @param quick a quarter or less of the work, for smoke tests; figures are not comparable
std::unique_ptr<Workload> make_workload(Kernel kernel, bool quick);

}  // namespace bench
