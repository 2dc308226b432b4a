// The logs of compiling and linking that a program asks for among a call's options (CU_JIT_INFO_LOG_BUFFER
// and its like). The other options tune NVIDIA's compiler.
#pragma once

#include <cstddef>
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
};

}  // namespace raddle::driver
