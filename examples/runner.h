// Runs one example through Raddle's public API and says what happened.
#pragma once

#include <cstdint>
#include <string>

#include "example.h"
#include "raddle/raddle.h"

namespace examples {

struct Outcome {
  CheckResult check;
  std::string error;       ///< why it did not run; empty if it did
  std::string engine;      ///< that ran it
  std::string block_kind;  ///< of the example's first kernel
  std::uint32_t memory_operations = 0, not_vectorised = 0;
  double seconds = 0;  ///< best of the runs, launch to completion, without copies
  double compile_seconds = 0;

  bool ok() const { return error.empty() && check.ok; }
};

/// The device that runs the kernels; values as in raddle::DeviceOptions, "" for the device's own choice.
struct EngineChoice {
  std::string name, simd, tier;
  std::string kernels = RADDLE_EXAMPLES_DIR "/kernels";  ///< directory of the PTX files
};

/// The buffers after one run of all steps, whose kernels are the module's.
raddle::Result<std::vector<Bytes>> results_of(const Example& example, raddle::Device& device,
                                              raddle::Module& module);

/// @param runs   timed runs, each from the initial buffers; the last one's results are checked
Outcome run_example(const Example& example, const EngineChoice& engine, int runs);

}  // namespace examples
