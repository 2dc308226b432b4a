// Writes down what a live machine launches: a load, and its decisions. Programs get one where the environment
// asks for it, which `raddle record` and `raddle run --record` arrange:
//   RADDLE_RECORD=FILE     the load, written when the machine goes or the process exits
//   RADDLE_DECISIONS=FILE  decisions, as they are made
// A second machine of the process writes to FILE.2, and so on.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "distribute/history.h"
#include "distribute/load.h"
#include "machine/launch/recorder.h"

namespace raddle::distribute {

/// Writes decisions into a file as they come.
class DecisionWriter final : public StepLog {
 public:
  /// @errors io
  static Result<std::unique_ptr<DecisionWriter>> open(const std::string& path, const Layout& layout,
                                                      std::string_view policy);
  void arrived(const GridInfo& grid) override;
  void record(const machine::Decision& decision) override;

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  explicit DecisionWriter(File file) : file_(std::move(file)) {}
  void write();
  File file_;
  std::string line_;
};

class LiveRecorder final : public machine::LaunchRecorder {
 public:
  /// Null if the environment asks for nothing. @errors io
  static Result<std::unique_ptr<LiveRecorder>> from_environment(const machine::MachineShape& shape,
                                                                const std::string& policy);
  /// @param load_path, decisions_path  empty: not wanted
  /// @errors io
  static Result<std::unique_ptr<LiveRecorder>> open(const machine::MachineShape& shape,
                                                    const std::string& policy, const std::string& load_path,
                                                    const std::string& decisions_path);
  ~LiveRecorder() override;

  void added(const machine::Grid& grid, const std::uint32_t* extent, std::string_view kernel,
             std::uint64_t now) override;
  void ended(const machine::Grid& grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t start,
             std::uint64_t end) override;
  machine::DecisionLog* decisions() override { return decisions_.get(); }

  /// Larger grids keep the mean and deviation of their durations instead of each duration.
  static constexpr std::uint64_t kMostListed = 1u << 20;
  /// Writes the load, without CTAs that end later. Called by the destructor and when the process exits.
  void finish();

 private:
  struct Recorded {
    LoadGrid grid;
    std::vector<std::uint64_t> durations;  // by launch index; 0: not ended. Empty: see kMostListed
    double sum = 0, squares = 0;
    std::uint64_t ended = 0;
  };
  LiveRecorder(const machine::MachineShape& shape, std::string load_path,
               std::unique_ptr<DecisionWriter> decisions);
  static LoadGrid with_durations(const Recorded& recorded);

  const machine::SmLimits sm_;
  const std::string load_path_;
  const std::unique_ptr<DecisionWriter> decisions_;
  std::mutex mutex_;
  std::map<std::uint64_t, Recorded> grids_;  // by id
  std::uint64_t begin_ = 0;                  // arrival of the first grid
  bool finished_ = false;
};

}  // namespace raddle::distribute
