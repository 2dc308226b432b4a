// `raddle compare`: a program run under each placement, and what its runs measured side by side.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "cli/cc/process.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/machine_options.h"
#include "distribute/figures.h"

namespace raddle::cli {
namespace {

/// Its output goes to stderr: the report stands alone. @returns the exit status as shells give it
Result<int> run_program(const std::vector<std::string>& words, const std::string& placement,
                        const std::string& figures) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Error::make(ErrorCode::io, "no process for the program: {}", std::strerror(errno));
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setenv("RADDLE_PLACEMENT", placement.c_str(), 1);
    setenv("RADDLE_FIGURES", figures.c_str(), 1);
    const int failed = exec(words);
    std::fflush(nullptr);
    _exit(failed);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return Error::make(ErrorCode::io, "lost the program: {}", std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> compare_placements(const CompareOptions& options) {
  TRY_ASSIGN(const TemporaryDirectory folder, TemporaryDirectory::create(false));
  std::vector<distribute::MeasuredRun> runs;
  for (const std::string& placement : parts_of(options.placements)) {
    TRY(of_option("--placement", machine::find_placement(placement)));
    const std::string file = folder.file(placement + ".json");
    TRY_ASSIGN(const int status, run_program(options.words, placement, file));
    if (status != kSuccess) {
      fmt::print(stderr, "raddle: {} ended with status {} under {} placement\n", options.words.front(),
                 status, placement);
      return status;
    }
    if (!std::filesystem::exists(file) || std::filesystem::file_size(file) == 0)
      return Error::make(ErrorCode::not_found, "{} ran nothing on a device of Raddle's",
                         options.words.front());
    TRY_ASSIGN(const std::string text, read_file(file));
    TRY_ASSIGN(std::vector<distribute::RunFigure> figures, distribute::parse_figures(text, file));
    runs.push_back({placement, std::move(figures)});
  }
  fmt::print("{}", options.json ? distribute::comparison_json(runs) : distribute::comparison_table(runs));
  return kSuccess;
}

}  // namespace

int compare(const CompareOptions& options) {
  if (options.words.empty()) {
    fmt::print(stderr, "usage: raddle compare [--placement wide,deep] [--json] -- PROGRAM [ARGUMENTS]\n");
    return kUsage;
  }
  const Result<int> status = compare_placements(options);
  return status ? *status : report(status.error());
}

}  // namespace raddle::cli
