// Running another program, and temporary files for it.
#include "cli/cc/process.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace raddle::cli {

Result<int> run_program(const Words& words, bool show_command) {
  if (show_command) {
    for (const std::string& word : words) std::fprintf(stderr, "%s ", word.c_str());
    std::fputc('\n', stderr);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (const int error = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ)) {
    if (error == ENOENT)
      return Error::make(ErrorCode::not_found, "{}: no such program (tools/setup.sh installs it)", words[0]);
    return Error::make(ErrorCode::io, "{}: {}", words[0], std::strerror(error));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return Error::make(ErrorCode::io, "{}: {}", words[0], std::strerror(errno));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<TemporaryDirectory> TemporaryDirectory::create(bool keep) {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base && *base ? base : "/tmp") + "/raddle-cc.XXXXXX";
  if (!mkdtemp(path.data())) return Error::make(ErrorCode::io, "{}: {}", path, std::strerror(errno));
  if (keep) std::fprintf(stderr, "raddle cc: intermediate files are in %s\n", path.c_str());
  return TemporaryDirectory(path, keep);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::move(other.path_)), keep_(other.keep_) {
  other.path_.clear();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty() && !keep_) std::filesystem::remove_all(path_, ignored);
}

Result<void> write_file(const std::string& path, std::string_view contents) {
  std::ofstream file(path, std::ios::binary);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file) return Error::make(ErrorCode::io, "{}: cannot be written", path);
  return {};
}

}  // namespace raddle::cli
