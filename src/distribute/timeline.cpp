// Trace events in the JSON form that Perfetto and chrome://tracing read. Times in the file are microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "distribute/replay.h"
#include "distribute/views.h"

namespace raddle::distribute {
namespace {

using machine::Decision;
constexpr std::uint32_t kPerHistory = 10000;  // process ids of one history

class Timeline {
 public:
  Timeline(const History& history, std::uint32_t number, bool alone, std::string& text)
      : history_(history),
        first_process_(1 + number * kPerHistory),
        prefix_(alone ? "" : history.policy + " "),
        text_(text) {}

  void write() {
    name_machine();
    Replay replay(history_);
    std::vector<Cell> changed;
    std::uint64_t resident = 0;
    for (const Step& step : history_.steps) {
      replay.apply(step, changed);
      last_ = std::max(last_, step.decision.time);
      const bool launched = fills(step.decision.kind);
      resident += launched ? changed.size() : -changed.size();
      for (const Cell& cell : changed) launched ? started(cell) : slice(cell, step.decision.time);
      if (!changed.empty()) counter(step.decision.time, resident);
      const auto is = [&](Decision::Kind kind) { return step.decision.kind == kind; };
      if (is(Decision::Kind::fail) || is(Decision::Kind::stall) || is(Decision::Kind::evict))
        refusal(step.decision);
    }
    for (const auto& rows : replay.sms())
      for (const Cell& cell : rows)
        if (cell.used) slice(cell, last_);
    arrows();
  }

 private:
  /// The unit of the file is a microsecond; a load's time unit other than ns is shown as microseconds.
  std::string time_text(std::uint64_t time) const {
    return history_.unit == "ns" ? fmt::format("{}.{:03}", time / 1000, time % 1000)
                                 : fmt::format("{}", time);
  }
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += text_.ends_with('[') ? "\n{" : ",\n{";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '}';
  }

  void name_machine() {
    const auto& gpcs = history_.layout.sms[static_cast<unsigned>(machine::Level::gpc)];
    event("\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}", first_process_,
          json_string(prefix_ + "work distributor"));
    event("\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}",
          first_process_, first_process_);
    for (std::uint32_t gpc = 0; gpc < gpcs.size(); ++gpc) {
      process_of_.insert(process_of_.end(), gpcs[gpc], first_process_ + 1 + gpc);
      event("\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}",
            first_process_ + 1 + gpc, json_string(fmt::format("{}GPC {}", prefix_, gpc)));
      event("\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}",
            first_process_ + 1 + gpc, first_process_ + 1 + gpc);
    }
    for (std::uint32_t sm = 0; sm < history_.layout.sm_count(); ++sm) name_track(sm, 0);
  }
  /// Slices of one track may not overlap: the first row of an SM is its track, others stand below.
  static std::uint64_t track_of(std::uint32_t sm, std::uint32_t row) {
    return 1 + (std::uint64_t{sm} << 12) + row;
  }
  void name_track(std::uint32_t sm, std::uint32_t row) {
    if (rows_.size() <= sm) rows_.resize(sm + 1);
    for (; rows_[sm] <= row; ++rows_[sm]) {
      const std::uint64_t track = track_of(sm, rows_[sm]);
      const std::string suffix = rows_[sm] == 0 ? "" : fmt::format(" row {}", rows_[sm]);
      event("\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"SM {}{}\"}}",
            process_of_[sm], track, sm, suffix);
      event(
          "\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}",
          process_of_[sm], track, track);
    }
  }

  std::string name_of(std::uint64_t id) const {
    Decision decision;
    decision.grid = id;
    const GridInfo* grid = history_.grid_of(decision);
    return grid == nullptr || grid->name.empty() ? fmt::format("grid {}", id) : grid->name;
  }
  bool is_plain(std::uint64_t id) const {
    Decision decision;
    decision.grid = id;
    const GridInfo* grid = history_.grid_of(decision);
    return grid == nullptr || grid->kind.is_plain();
  }
  void started(const Cell& cell) {
    name_track(cell.sm, cell.row);
    if (!is_plain(cell.grid)) clusters_[{cell.grid, cell.cluster}].push_back(cell);
  }
  void slice(const Cell& cell, std::uint64_t end) {
    const std::string cluster = is_plain(cell.grid) ? "" : fmt::format(",\"cluster\":{}", cell.cluster);
    event(
        "\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"cta\",\"args\":{{"
        "\"grid\":{},\"cta\":{}{}}}",
        process_of_[cell.sm], track_of(cell.sm, cell.row), time_text(cell.since),
        time_text(std::max(end, cell.since) - cell.since),
        json_string(fmt::format("{} {}", name_of(cell.grid), cell.cta)), cell.grid, cell.cta, cluster);
  }
  void counter(std::uint64_t time, std::uint64_t resident) {
    event("\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"resident CTAs\",\"args\":{{\"CTAs\":{}}}",
          first_process_, time_text(time), resident);
  }
  void refusal(const Decision& decision) {
    event("\"ph\":\"i\",\"s\":\"p\",\"pid\":{},\"tid\":0,\"ts\":{},\"name\":{},\"cat\":\"{}\"",
          first_process_, time_text(decision.time),
          json_string(fmt::format("{}: {} cluster {}", kind_name(decision.kind), name_of(decision.grid),
                                  decision.cluster)),
          kind_name(decision.kind));
  }
  /// Flow events bind to the slices that begin where they do.
  void arrows() {
    std::uint64_t id = std::uint64_t{first_process_} << 32;
    for (const auto& [key, cells] : clusters_) {
      ++id;
      if (cells.size() < 2) continue;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const char* phase = i == 0 ? "s" : i + 1 == cells.size() ? "f" : "t";
        event(
            "\"ph\":\"{}\",\"bp\":\"e\",\"id\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"name\":\"cluster\","
            "\"cat\":\"cluster\"",
            phase, id, process_of_[cells[i].sm], track_of(cells[i].sm, cells[i].row),
            time_text(cells[i].since));
      }
    }
  }

  const History& history_;
  const std::uint32_t first_process_;
  const std::string prefix_;
  std::string& text_;
  std::vector<std::uint32_t> process_of_, rows_;  // by SM
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Cell>> clusters_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::string timeline_text(std::span<const History> histories) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (std::uint32_t i = 0; i < histories.size(); ++i)
    Timeline(histories[i], i, histories.size() == 1, text).write();
  return text + "\n]}\n";
}

}  // namespace raddle::distribute
