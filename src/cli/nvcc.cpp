// `raddle nvcc`: NVIDIA's compiler with Raddle's runtime instead of NVIDIA's, and PTX in its output.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/cc/process.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/nvcc_options.h"
#include "cli/nvcc_removed.h"
#include "cli/program.h"
#include "fatbin/cubin.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace raddle::cli {
namespace {

Result<std::string> find_nvcc() {
  if (const char* wanted = std::getenv("RADDLE_NVCC")) return find_command(wanted);
  if (Result<std::string> found = find_command("nvcc")) return found;
  constexpr const char* kUsual = "/usr/local/cuda";
  for (const char* root : {static_cast<const char*>(std::getenv("CUDA_HOME")),
                           static_cast<const char*>(std::getenv("CUDA_PATH")), kUsual}) {
    const std::string path = std::string(root == nullptr ? "" : root) + "/bin/nvcc";
    if (root != nullptr && access(path.c_str(), X_OK) == 0) return path;
  }
  return Error::make(
      ErrorCode::not_found,
      "no nvcc in PATH, CUDA_HOME or /usr/local/cuda; `raddle cc` compiles CUDA C++ without it");
}

/// @returns its exit status; its messages go on as they come, and after them a line for each thing in them
/// that toolkit 13 no longer has
int run(const Words& words) {
  std::string messages;
  const Result<int> status = run_program(words, false, &messages);
  if (!status) return report(status.error());
  if (*status != 0)
    for (const std::string& line : removed_things(messages)) fmt::print(stderr, "{}\n", line);
  return *status;
}

/// Makes a file of PTX a cubin that carries it (fatbin/cubin.h).
int wrap(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return report(text.error());
  const auto module = ptx::parse(*text, path);
  if (!module) return report(module.error());
  const fatbin::NamedText texts[] = {{path, std::move(*text)}};
  std::ofstream file(path, std::ios::binary);
  file << fatbin::write_cubin(texts, ptx::target_capability(*module));
  return file.flush() ? kSuccess : report(Error::make(ErrorCode::io, "cannot write {}", path));
}

}  // namespace

int nvcc(const std::vector<std::string>& words) {
  const Result<std::string> command = find_nvcc();
  if (!command) return report(command.error());
  const Result<std::string> directory = library_directory();
  if (!directory) return report(directory.error());
  const NvccOptions options = with_ptx(words);
  for (const std::string& warning : options.warnings) fmt::print(stderr, "raddle: warning: {}\n", warning);
  Words all{*command, "-L" + *directory, "-Xlinker", "-rpath=" + *directory};
  all.insert(all.end(), options.words.begin(), options.words.end());
  const int status = run(all);
  return status == 0 && !options.cubin.empty() ? wrap(options.cubin) : status;
}

}  // namespace raddle::cli
