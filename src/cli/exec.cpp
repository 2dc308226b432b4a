// `raddle exec`: runs a program on Raddle's libraries, in this process' place.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/program.h"

namespace raddle::cli {
namespace {

/// "ours:what is there".
void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  const std::string all = old == nullptr || *old == '\0' ? value : value + ":" + old;
  setenv(variable, all.c_str(), 1);
}

constexpr const char* kLibraries[] = {"libnvrtc.so.13", "libcudart.so.13", "libcuda.so.1"};

/// All that programs may ask for is there: a loader that does not find ours would take NVIDIA's.
Result<std::string> complete_library_directory() {
  TRY_ASSIGN(std::string directory, library_directory());
  for (const char* library : kLibraries)
    if (access((directory + "/" + library).c_str(), R_OK) != 0)
      return Error::make(ErrorCode::not_found, "no {} in {}: build Raddle's libraries (ninja programs)",
                         library, directory);
  return directory;
}

/// A DT_RPATH goes before LD_LIBRARY_PATH, so that what lies there would be taken instead of ours; what is
/// loaded already goes before both.
void preload(const std::string& directory) {
  for (const char* library : kLibraries) prepend("LD_PRELOAD", directory + "/" + library);
}

}  // namespace

int exec(const std::vector<std::string>& words) {
  if (words.empty()) {
    fmt::print(stderr, "usage: raddle exec PROGRAM [ARGUMENTS]\n");
    return kUsage;
  }
  const Result<std::string> directory = complete_library_directory();
  if (!directory) return report(directory.error());
  const Result<std::string> command = find_command(words.front());
  if (!command) return report(command.error());
  // Other files are scripts: their programs find the libraries by the environment.
  if (const Result<Program> program = read_program(*command)) {
    if (program->runtime == Runtime::nvidia)
      return report(Error::unsupported("{}", nvidia_runtime_advice(*command)));
    if (!program->rpath.empty()) preload(*directory);
  }
  prepend("LD_LIBRARY_PATH", *directory);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(command->c_str(), arguments.data());
  return report(Error::make(ErrorCode::io, "cannot run {}: {}", *command, std::strerror(errno)));
}

}  // namespace raddle::cli
