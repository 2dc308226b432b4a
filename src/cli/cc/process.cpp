// Running another program, and temporary files for it.
#include "cli/cc/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace raddle::cli {

namespace {

/// The end of a pipe that becomes the other program's standard error; what comes out is shown and kept.
class ErrorPipe {
 public:
  bool open() { return pipe2(ends_, O_CLOEXEC) == 0; }
  ~ErrorPipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  int write_end() const { return ends_[1]; }
  void drain(std::string& kept) {
    close(ends_[1]);
    ends_[1] = -1;
    char buffer[4096];
    for (ssize_t bytes = 1; bytes != 0;) {
      bytes = read(ends_[0], buffer, sizeof buffer);
      if (bytes < 0 && errno != EINTR) return;
      if (bytes <= 0) continue;
      kept.append(buffer, static_cast<std::size_t>(bytes));
      std::fwrite(buffer, 1, static_cast<std::size_t>(bytes), stderr);
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

Result<int> run_program(const Words& words, bool show_command, std::string* errors) {
  if (show_command) {
    for (const std::string& word : words) std::fprintf(stderr, "%s ", word.c_str());
    std::fputc('\n', stderr);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ErrorPipe pipe;
  if (errors && !pipe.open()) errors = nullptr;  // then it is shown alone
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (errors) posix_spawn_file_actions_adddup2(&actions, pipe.write_end(), STDERR_FILENO);
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    return Error::make(ErrorCode::not_found, "{}: no such program (tools/setup.sh installs it)", words[0]);
  if (error != 0) return Error::make(ErrorCode::io, "{}: {}", words[0], std::strerror(error));
  if (errors) pipe.drain(*errors);
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
