// Writes down what a live machine launches: a load, its decisions, figures of the run. Programs get one where
// the environment asks for it, which `raddle record`, `raddle run --record` and `raddle compare` arrange:
//   RADDLE_RECORD=FILE     the load, written when the machine goes or the process exits
//   RADDLE_DECISIONS=FILE  decisions, as they are made
//   RADDLE_FIGURES=FILE    figures (figures.h), written as the load is
// A second machine of the process writes to FILE.2, and so on.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "distribute/history.h"
#include "distribute/load.h"
#include "distribute/sm_sharing.h"
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

/// What is wanted; empty: not wanted.
struct RecordFiles {
  std::string load, decisions, figures;
};

class LiveRecorder final : public machine::LaunchRecorder {
 public:
  /// Null if the environment asks for nothing. @errors io
  static Result<std::unique_ptr<LiveRecorder>> from_environment(const machine::MachineShape& shape,
                                                                const std::string& policy);
  /// @errors io
  static Result<std::unique_ptr<LiveRecorder>> open(const machine::MachineShape& shape,
                                                    const std::string& policy, RecordFiles files);
  ~LiveRecorder() override;

  void added(const machine::Grid& grid, const std::uint32_t* extent, std::string_view kernel,
             std::uint64_t now) override;
  void grew(const machine::Grid& grid, std::uint64_t ctas, std::uint64_t now) override;
  void ended(const machine::Grid& grid, std::uint64_t cta, std::uint32_t sm,
             const machine::CtaTime& time) override;
  machine::DecisionLog* decisions() override { return decisions_.get(); }
  void translates(std::shared_ptr<const machine::Mmu> mmu) override;

  /// Larger grids keep the mean and deviation of their durations instead of each duration.
  static constexpr std::uint64_t kMostListed = 1u << 20;
  /// Writes load and figures, without CTAs that end later. Called by the destructor and when the process
  /// exits.
  void finish();

 private:
  struct Recorded {
    LoadGrid grid;
    std::vector<std::uint64_t> durations;  // by launch index; 0: not ended. Empty: see kMostListed
    double sum = 0, squares = 0;
    std::uint64_t ended = 0;
  };
  LiveRecorder(const machine::MachineShape& shape, RecordFiles files,
               std::unique_ptr<DecisionWriter> decisions);
  void note_duration(Recorded& recorded, std::uint64_t cta, std::uint64_t duration);
  std::string load() const;
  std::string figures() const;
  static LoadGrid with_durations(const Recorded& recorded);

  const machine::SmLimits sm_;
  const RecordFiles files_;
  const std::unique_ptr<DecisionWriter> decisions_;
  std::mutex mutex_;
  std::map<std::uint64_t, Recorded> grids_;  // by id
  std::uint64_t begin_ = 0;                  // arrival of the first grid
  bool finished_ = false;
  std::shared_ptr<const machine::Mmu> mmu_;  // null: no space was modelled
  // Of the CTAs that have ended.
  SmSharing sharing_;
  std::uint64_t ctas_ = 0, first_start_ = ~0ull, last_end_ = 0;
};

}  // namespace raddle::distribute
