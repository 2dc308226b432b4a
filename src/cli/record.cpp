// `raddle record`: a program's launches written down, by the libraries it runs on
// (distribute/live_recorder.h).
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "cli/diagnostics.h"

namespace raddle::cli {
namespace {

/// The program may change its directory before it opens a device.
Result<void> announce(const char* variable, const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) return Error::make(ErrorCode::io, "{}: {}", path, error.message());
  setenv(variable, whole.c_str(), 1);
  return {};
}

}  // namespace

Result<void> record_launches(const std::string& load, const std::string& decisions) {
  TRY(announce("RADDLE_RECORD", load));
  return announce("RADDLE_DECISIONS", decisions);
}

int record(const RecordOptions& options) {
  if (options.words.empty()) {
    fmt::print(stderr, "usage: raddle record [-o LOAD.json] [--decisions FILE] -- PROGRAM [ARGUMENTS]\n");
    return kUsage;
  }
  if (const Result<void> announced = record_launches(options.load, options.decisions); !announced)
    return report(announced.error());
  return exec(options.words);
}

}  // namespace raddle::cli
