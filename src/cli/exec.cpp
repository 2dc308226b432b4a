// `raddle exec`: runs a program on Raddle's libraries, in this process' place.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

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

constexpr const char* kLibraries[] = {"libnvJitLink.so.13", "libnvvm.so.4", "libnvrtc.so.13",
                                      "libcudart.so.13", "libcuda.so.1"};
constexpr std::string_view kDriver = "libcuda.so.1";

/// All that programs may ask for is there: a loader that does not find ours would take NVIDIA's.
Result<std::string> complete_library_directory() {
  TRY_ASSIGN(std::string directory, library_directory());
  for (const char* library : kLibraries)
    if (access((directory + "/" + library).c_str(), R_OK) != 0)
      return Error::make(ErrorCode::not_found, "no {} in {}: build Raddle's libraries (ninja programs)",
                         library, directory);
  return directory;
}

/// What is loaded already goes before what a DT_RPATH finds, of the program or of a library that it loads,
/// and before what Python packages look for in folders of their own: LD_LIBRARY_PATH does not. The driver
/// lies in no such folder, and takes a while to load into every program that this one starts.
void preload(const std::string& directory, bool with_driver) {
  for (const char* library : kLibraries)
    if (with_driver || library != kDriver) prepend("LD_PRELOAD", directory + "/" + library);
}

/// Programs that call nvcc get ours, and compilers that call an assembler beside them are told of ours,
/// unless the user names one: Triton, by a second name for devices since Hopper.
void name_compilers(const std::string& directory) {
  const std::filesystem::path folder = std::filesystem::path(directory).parent_path() / "libexec/raddle";
  std::error_code error;
  if (!std::filesystem::exists(folder / "ptxas", error)) return;
  prepend("PATH", folder);
  for (const char* variable : {"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"})
    setenv(variable, (folder / "ptxas").c_str(), 0);
}

/// What Python runs when it starts: NVIDIA's bindings hold a runtime library of their own (decision 98).
void prepare_python(const std::string& directory) {
  const std::filesystem::path folder =
      std::filesystem::path(directory).parent_path() / "libexec/raddle/python";
  std::error_code error;
  if (std::filesystem::exists(folder / "sitecustomize.py", error)) prepend("PYTHONPATH", folder);
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
    // A program with Raddle's runtime in it needs no second one.
    if (program->runtime != Runtime::raddle) preload(*directory, !program->rpath.empty());
  } else {
    preload(*directory, false);
  }
  name_compilers(*directory);
  prepare_python(*directory);
  prepend("LD_LIBRARY_PATH", *directory);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(command->c_str(), arguments.data());
  return report(Error::make(ErrorCode::io, "cannot run {}: {}", *command, std::strerror(errno)));
}

}  // namespace raddle::cli
