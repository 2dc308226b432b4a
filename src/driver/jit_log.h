// What a program asks of compiling and linking among a call's options: logs (CU_JIT_INFO_LOG_BUFFER and its
// like) and the most registers that a thread may take. The other options tune NVIDIA's compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace raddle::driver {

class JitLog {
 public:
  JitLog() = default;
  /// Empties the logs that the options name. They must live as long as this object.
  JitLog(unsigned count, const int* options, void** values);

  /// Whether options are there as their count says.
  static bool has_options(unsigned count, const int* options, void** values) {
    return count == 0 || (options != nullptr && values != nullptr);
  }

  std::uint32_t max_registers() const { return max_registers_; }  ///< CU_JIT_MAX_REGISTERS; 0: any number

  /// Appends a line, cut off where the program's buffer ends.
  void info(std::string_view line) { info_.append(line); }
  void error(std::string_view line) { error_.append(line); }

 private:
  struct Buffer {
    char* text = nullptr;
    std::size_t bytes = 0, used = 0;
    void** used_out = nullptr;  ///< the option of its size: bytes filled, the zero at the end included
    void open();
    void append(std::string_view line);
  };
  Buffer info_, error_;
  std::uint32_t max_registers_ = 0;
};

}  // namespace raddle::driver
