// A place outside the engines where a test kernel runs: a device behind a libcuda, or answers that one gave
// earlier.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace raddle::testing {

/// A kernel of PTX text, run by one block, or one cluster.
struct DeviceRun {
  struct Argument {
    void* data =
        nullptr;  ///< a buffer: copied to the device, its address is the argument; or the value itself
    std::size_t bytes = 0;
    bool is_buffer = false, is_output = false;  ///< outputs are copied back
  };
  template <class Values>
  static Argument buffer(Values& values, bool is_output = false) {
    return {values.data(), values.size() * sizeof values[0], true, is_output};
  }
  const std::string& ptx;
  std::string kernel;
  unsigned threads = 32;
  std::vector<Argument> arguments;
  std::string what;     ///< "chapter/row: spelling, ...", for files that people read
  unsigned blocks = 1;  ///< the kernel says that they are a cluster (.reqnctapercluster)
};

class Device {
 public:
  virtual ~Device() = default;
  /// @returns "" or why it did not run to its end
  virtual std::string run(const DeviceRun& run) = 0;
};

}  // namespace raddle::testing
