#include "cli/program.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "fatbin/elf_file.h"
#include "fatbin/image.h"
#include "fatbin/nvidia_runtime.h"

namespace raddle::cli {
namespace {

bool is_cuda_name(std::string_view name) { return name.starts_with("cu") || name.starts_with("__cuda"); }

/// nvcc's code registers itself with the runtime as the program starts. If that call does not leave the file,
/// the runtime is in it: Raddle's, which carries a note, or NVIDIA's.
Runtime runtime_of(const fatbin::ElfFile& file, const fatbin::ElfFile::Dynamic& dynamic) {
  if (file.has_section(".note.raddle")) return Runtime::raddle;
  for (const fatbin::ElfFile::Symbol& symbol : dynamic.symbols)
    if (symbol.section.empty() && symbol.name == "__cudaRegisterFatBinary") return Runtime::shared;
  for (const std::string_view library : dynamic.needed)
    if (library.starts_with("libcudart.so")) return Runtime::shared;
  const bool is_linked = !dynamic.needed.empty() || !dynamic.symbols.empty();
  const bool registers_code = is_linked && file.has_section(".nvFatBinSegment");
  return registers_code || fatbin::holds_nvidia_runtime(file) ? Runtime::nvidia : Runtime::none;
}

}  // namespace

Result<Program> read_program(const std::string& path) {
  Program program;
  TRY_ASSIGN(program.bytes, read_file(path));
  TRY_ASSIGN(const fatbin::ElfFile file, fatbin::ElfFile::open(program.bytes));
  TRY_ASSIGN(program.containers, fatbin::read_host_binary(program.bytes));
  const fatbin::ElfFile::Dynamic dynamic = file.dynamic();
  program.runtime = runtime_of(file, dynamic);
  program.needed.assign(dynamic.needed.begin(), dynamic.needed.end());
  program.rpath = dynamic.rpath;
  for (const fatbin::ElfFile::Symbol& symbol : dynamic.symbols)
    if (symbol.section.empty() && is_cuda_name(symbol.name)) program.imports.emplace_back(symbol.name);
  return program;
}

std::string nvidia_runtime_advice(const std::string& path) {
  return fmt::format(
      "{} contains NVIDIA's CUDA runtime (libcudart_static.a), which runs on NVIDIA's driver only. Two "
      "ways:\n"
      "  compile it with `nvcc -cudart shared`: Raddle's libcudart.so.13 is found when it runs, or\n"
      "  link it again by `raddle nvcc ...` in the place of `nvcc ...`: Raddle's libcudart_static.a goes in",
      path);
}

Result<std::string> library_directory() {
  std::error_code error;
  const char* wanted = std::getenv("RADDLE_LIBRARY_PATH");
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path directory =
      wanted != nullptr ? std::filesystem::path(wanted) : here.parent_path() / "lib";
  if (!std::filesystem::exists(directory / "libcuda.so.1", error))
    return Error::make(ErrorCode::not_found,
                       "no libcuda.so.1 in {}: build Raddle's libraries, or set RADDLE_LIBRARY_PATH",
                       directory.string());
  return directory.string();
}

/// The raddle command under another's name (build/libexec/raddle/nvcc) would call itself.
bool is_this_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::equivalent(path, "/proc/self/exe", error);
}

Result<std::string> find_command(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (access(candidate.c_str(), X_OK) == 0 && !is_this_program(candidate)) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error::make(ErrorCode::not_found, "no command '{}' in PATH", name);
}

}  // namespace raddle::cli
