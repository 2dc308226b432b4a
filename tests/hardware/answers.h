// Answers of a device, kept in a file: what went in and what came out of every kernel that the instruction
// tests ran on it, and the results of the API's calls. Recorded on real hardware, they judge the interpreter
// where no GPU is.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "isa/harness/device.h"

namespace raddle::testing {

/// Lines of text, in a file that may be compressed by zstd: "head NAME: VALUE"; "api CALL = RESULT"; "ptx
/// TEXT" with escaped line ends; and for each run "answer KEY WHAT", "run KERNEL THREADS BLOCKS", a line for
/// each argument ("value", "in" or "before" with HEX: a value, a buffer, an output before the run) and the
/// "out HEX" of each output, or "failed WHY". A run is of the "ptx" above it.
struct Answers {
  struct Answer {
    std::size_t text = 0;  ///< of texts
    std::string what, kernel;
    unsigned threads = 0, blocks = 0;
    struct Argument {
      std::string bytes;
      bool is_buffer = false, is_output = false;
    };
    std::vector<Argument> arguments;
    std::string problem;               ///< why it did not run to its end
    std::vector<std::string> outputs;  ///< bytes
  };
  std::map<std::string, std::string> head;  ///< device, driver, date
  std::vector<std::string> texts;           ///< PTX
  std::map<std::string, Answer> kernels;    ///< by key_of
  std::map<std::string, int> api;

  /// @errors io, invalid
  static Result<Answers> read(const std::string& path);
};

/// Names a run by its text and its inputs.
std::string key_of(const DeviceRun& run);

/// Runs on another device and writes down what it answers.
class RecordingDevice final : public Device {
 public:
  RecordingDevice(std::shared_ptr<Device> device, std::ostream& file)
      : device_(std::move(device)), file_(file) {}
  std::string run(const DeviceRun& run) override;

 private:
  std::shared_ptr<Device> device_;
  std::ostream& file_;
  std::string written_;  ///< the last PTX
};

}  // namespace raddle::testing
