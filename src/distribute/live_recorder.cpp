// CUDA programs seldom close their device: open records are written when the process exits.
#include "distribute/live_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/file.h"

namespace raddle::distribute {
namespace {

/// Recorders that are open. Never destroyed, as threads may still use them while the process exits.
struct Open {
  std::mutex mutex;
  std::set<LiveRecorder*> recorders;
};
Open& open_recorders() {
  static Open* open = [] {
    std::atexit([] {
      const std::lock_guard lock(open_recorders().mutex);
      for (LiveRecorder* recorder : open_recorders().recorders) recorder->finish();
    });
    return new Open;
  }();
  return *open;
}

/// The file that a variable names, with a number for all devices of the process but the first.
std::string path_in(const char* variable, unsigned device) {
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return "";
  return device == 1 ? path : fmt::format("{}.{}", path, device);
}

}  // namespace

Result<std::unique_ptr<DecisionWriter>> DecisionWriter::open(const std::string& path, const Layout& layout,
                                                             std::string_view policy) {
  File file(std::fopen(path.c_str(), "we"), std::fclose);
  if (!file) return Error::make(ErrorCode::io, "cannot open {}: {}", path, std::strerror(errno));
  std::unique_ptr<DecisionWriter> writer(new DecisionWriter(std::move(file)));
  writer->line_ = header_line(layout, policy, "ns");
  writer->write();
  return writer;
}

void DecisionWriter::write() {
  std::fwrite(line_.data(), 1, line_.size(), file_.get());
  line_.clear();
}

void DecisionWriter::arrived(const GridInfo& grid) {
  append_line(line_, grid);
  write();
}

void DecisionWriter::record(const machine::Decision& decision) {
  append_line(line_, Step{decision, {}});
  write();
}

Result<std::unique_ptr<LiveRecorder>> LiveRecorder::from_environment(const machine::MachineShape& shape,
                                                                     const std::string& policy) {
  static std::atomic<unsigned> devices{0};
  if (path_in("RADDLE_RECORD", 1).empty() && path_in("RADDLE_DECISIONS", 1).empty())
    return std::unique_ptr<LiveRecorder>();
  const unsigned device = ++devices;
  return open(shape, policy, path_in("RADDLE_RECORD", device), path_in("RADDLE_DECISIONS", device));
}

Result<std::unique_ptr<LiveRecorder>> LiveRecorder::open(const machine::MachineShape& shape,
                                                         const std::string& policy,
                                                         const std::string& load_path,
                                                         const std::string& decisions_path) {
  std::unique_ptr<DecisionWriter> decisions;
  if (!decisions_path.empty()) {
    TRY_ASSIGN(decisions, DecisionWriter::open(decisions_path, layout_of(shape), policy));
  }
  if (!load_path.empty())
    TRY(write_file(load_path, ""));  // a file that cannot be written is said now, not at the end
  return std::unique_ptr<LiveRecorder>(new LiveRecorder(shape, load_path, std::move(decisions)));
}

LiveRecorder::LiveRecorder(const machine::MachineShape& shape, std::string load_path,
                           std::unique_ptr<DecisionWriter> decisions)
    : sm_(shape.sm), load_path_(std::move(load_path)), decisions_(std::move(decisions)) {
  const std::lock_guard lock(open_recorders().mutex);
  open_recorders().recorders.insert(this);
}

LiveRecorder::~LiveRecorder() {
  {
    const std::lock_guard lock(open_recorders().mutex);
    open_recorders().recorders.erase(this);
  }
  finish();
}

void LiveRecorder::added(const machine::Grid& grid, const std::uint32_t* extent, std::string_view kernel,
                         std::uint64_t now) {
  GridInfo info{grid.id, std::string(kernel), now, {}, grid.kind, machine::slots_per_sm(sm_, grid.needs)};
  std::copy_n(extent, 3, info.extent.begin());
  if (decisions_) decisions_->arrived(info);
  if (load_path_.empty()) return;
  const std::lock_guard lock(mutex_);
  if (grids_.empty()) begin_ = now;
  Recorded& recorded = grids_[grid.id];
  recorded.grid = {info.name,     now - begin_,    info.extent,         grid.needs, grid.kind,
                   grid.priority, grid.cap_per_sm, grid.cluster_memory, {}};
  if (grid.ctas <= kMostListed) recorded.durations.resize(grid.ctas);
}

void LiveRecorder::ended(const machine::Grid& grid, std::uint64_t cta, std::uint32_t, std::uint64_t start,
                         std::uint64_t end) {
  if (load_path_.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto found = grids_.find(grid.id);
  if (finished_ || found == grids_.end()) return;
  Recorded& recorded = found->second;
  const std::uint64_t duration = std::max<std::uint64_t>(1, end - start);
  if (cta < recorded.durations.size()) recorded.durations[cta] = duration;
  recorded.sum += static_cast<double>(duration);
  recorded.squares += static_cast<double>(duration) * static_cast<double>(duration);
  ++recorded.ended;
}

/// CTAs that did not end (their grid was stopped, or the process exits) get the mean of those that did.
LoadGrid LiveRecorder::with_durations(const Recorded& recorded) {
  LoadGrid grid = recorded.grid;
  const double count = static_cast<double>(std::max<std::uint64_t>(1, recorded.ended)),
               mean = recorded.sum / count;
  grid.durations.first = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(mean)));
  if (recorded.durations.empty()) {
    grid.durations.kind = Durations::Kind::normal;
    grid.durations.second = static_cast<std::uint64_t>(
        std::llround(std::sqrt(std::max(0.0, recorded.squares / count - mean * mean))));
    return grid;
  }
  auto list = std::make_shared<std::vector<std::uint64_t>>(recorded.durations);
  std::replace(list->begin(), list->end(), std::uint64_t{0}, grid.durations.first);
  grid.durations.kind = Durations::Kind::list;
  grid.durations.list = std::move(list);
  return grid;
}

void LiveRecorder::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_ || load_path_.empty()) return;
  finished_ = true;
  Load load;
  for (const auto& [id, recorded] : grids_) load.grids.push_back(with_durations(recorded));
  if (const Result<void> written = write_file(load_path_, load_text(load)); !written)
    fmt::print(stderr, "raddle: {}\n", written.error().to_string());
}

}  // namespace raddle::distribute
