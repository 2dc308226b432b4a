// What kernels print: buffered, written at synchronisation or when it has grown long, never lost.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace raddle::machine {

class Output {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// @param sink  receives the text; none: stdout
  explicit Output(Sink sink) : sink_(std::move(sink)) {}

  void append(std::string_view text);
  void flush();

 private:
  void write(std::string_view text);
  std::mutex mutex_;
  Sink sink_;
  std::string buffer_;
};

}  // namespace raddle::machine
