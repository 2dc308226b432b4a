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
#include <utility>

#include "base/file.h"
#include "distribute/figures.h"
#include "machine/mmu/mmu.h"

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

/// @param figures  get those of modelled spaces; of caches, where they were asked
void add_misses(std::vector<RunFigure>& figures, const TranslationCounts& counts) {
  const auto add = [&](const char* name, const Hits& hits) {
    figures.push_back({name, static_cast<double>(hits.misses)});
  };
  const auto is_asked = [](const Hits& hits) { return hits.hits + hits.misses != 0; };
  add("TLB misses", counts.sm_tlbs);
  if (is_asked(counts.virtual_caches)) add("virtual cache misses", counts.virtual_caches);
  if (is_asked(counts.physical_cache)) add("physical cache misses", counts.physical_cache);
  if (counts.managed_faults != 0)
    figures.push_back({"managed memory faults", static_cast<double>(counts.managed_faults)});
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
  const auto files = [](unsigned device) -> RecordFiles {
    return {path_in("RADDLE_RECORD", device), path_in("RADDLE_DECISIONS", device),
            path_in("RADDLE_FIGURES", device)};
  };
  const RecordFiles wanted = files(1);
  if (wanted.load.empty() && wanted.decisions.empty() && wanted.figures.empty())
    return std::unique_ptr<LiveRecorder>();
  return open(shape, policy, files(++devices));
}

Result<std::unique_ptr<LiveRecorder>> LiveRecorder::open(const machine::MachineShape& shape,
                                                         const std::string& policy, RecordFiles files) {
  std::unique_ptr<DecisionWriter> decisions;
  if (!files.decisions.empty()) {
    TRY_ASSIGN(decisions, DecisionWriter::open(files.decisions, layout_of(shape), policy));
  }
  for (const std::string& file : {files.load, files.figures})
    if (!file.empty()) TRY(write_file(file, ""));  // one that cannot be written is said now, not at the end
  return std::unique_ptr<LiveRecorder>(new LiveRecorder(shape, std::move(files), std::move(decisions)));
}

LiveRecorder::LiveRecorder(const machine::MachineShape& shape, RecordFiles files,
                           std::unique_ptr<DecisionWriter> decisions)
    : sm_(shape.sm), files_(std::move(files)), decisions_(std::move(decisions)), sharing_(shape.sm_count()) {
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
  if (grid.open) info.extent = {static_cast<std::uint32_t>(grid.ctas), 1, 1};  // so far
  if (decisions_) decisions_->arrived(info);
  if (files_.load.empty()) return;
  const std::lock_guard lock(mutex_);
  if (grids_.empty()) begin_ = now;
  Recorded& recorded = grids_[grid.id];
  recorded.grid = {info.name,  now - begin_,  info.extent,     grid.needs,
                   grid.kind,  grid.priority, grid.cap_per_sm, grid.cluster_memory,
                   grid.space, grid.mode,     grid.work_kind,  {}};
  if (grid.ctas <= kMostListed) recorded.durations.resize(grid.ctas);
}

/// One that comes empty arrives with its first CTAs.
void LiveRecorder::grew(const machine::Grid& grid, std::uint64_t ctas, std::uint64_t now) {
  if (files_.load.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto found = grids_.find(grid.id);
  if (found == grids_.end()) return;
  Recorded& recorded = found->second;
  if (recorded.grid.ctas() == 0) {
    recorded.grid.arrival = now - begin_;
    recorded.grid.extent[0] = static_cast<std::uint32_t>(ctas);
  } else {
    recorded.grid.grows.push_back({now - begin_, ctas});
  }
  const std::uint64_t all = grid.ctas + ctas;
  if (grid.ctas <= kMostListed) recorded.durations.resize(all <= kMostListed ? all : 0);
}

void LiveRecorder::ended(const machine::Grid& grid, std::uint64_t cta, std::uint32_t sm,
                         const machine::CtaTime& time) {
  if (files_.load.empty() && files_.figures.empty()) return;
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  sharing_.started(sm, grid.space);
  ++ctas_;
  first_start_ = std::min(first_start_, time.start), last_end_ = std::max(last_end_, time.end);
  if (const auto found = grids_.find(grid.id); found != grids_.end())
    note_duration(found->second, cta, std::max<std::uint64_t>(1, time.duration()));
}

void LiveRecorder::translates(std::shared_ptr<const machine::Mmu> mmu) {
  const std::lock_guard lock(mutex_);
  mmu_ = std::move(mmu);
}

void LiveRecorder::note_duration(Recorded& recorded, std::uint64_t cta, std::uint64_t duration) {
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

std::string LiveRecorder::load() const {
  Load load;
  for (const auto& [id, recorded] : grids_)
    if (recorded.grid.ctas() != 0) load.grids.push_back(with_durations(recorded));
  return load_text(load);
}

std::string LiveRecorder::figures() const {
  const std::uint64_t makespan = ctas_ == 0 ? 0 : last_end_ - first_start_;
  std::vector<RunFigure> figures = {{"CTAs", static_cast<double>(ctas_)},
                                    {"makespan, ns", static_cast<double>(makespan)},
                                    {"SMs that had a CTA", static_cast<double>(sharing_.sms_used())},
                                    {"spaces on an SM, mean", sharing_.mean_spaces()},
                                    {"spaces on an SM, most", static_cast<double>(sharing_.most_spaces())}};
  if (mmu_) add_misses(figures, mmu_->counts());
  return figures_text(figures);
}

void LiveRecorder::finish() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(finished_, true)) return;
  const auto write = [](const std::string& path, const std::string& text) {
    if (const Result<void> written = write_file(path, text); !written)
      fmt::print(stderr, "raddle: {}\n", written.error().to_string());
  };
  if (!files_.load.empty()) write(files_.load, load());
  if (!files_.figures.empty()) write(files_.figures, figures());
}

}  // namespace raddle::distribute
