// A report as JSON, a row a line, so that results can be compared by eye and by `git diff` too.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/json.h"
#include "report.h"

namespace bench {
namespace {

using raddle::json_string;

const char* state_name(State state) {
  switch (state) {
    case State::measured:
      return "measured";
    case State::missing:
      return "missing";
    case State::wrong:
      return "wrong";
    case State::estimated:
      return "estimated";
    case State::none:
      return "none";
  }
  return "?";
}

/// What has no figure is null.
std::string figure(double value) { return value > 0 ? fmt::format("{:.6g}", value) : "null"; }

std::string header_json(const Report& report) {
  const Limits& limits = report.limits;
  return fmt::format(
      "{{\"machine\": {}, \"commit\": {}, \"cores\": {}, \"quick\": {}, \"other_cores\": {:.2f},\n"
      " \"limits\": {{\"copy_gb_per_second\": {}, \"update_gb_per_second\": {}, \"read_gb_per_second\": {}, "
      "\"random_gread_per_second\": {}, \"gincrement_per_second\": {}, \"fma_gflop_per_second\": {}}},\n",
      json_string(report.machine), json_string(report.commit), report.cores, report.quick, report.other_cores,
      figure(limits.copy_gb_per_second), figure(limits.update_gb_per_second),
      figure(limits.read_gb_per_second), figure(limits.random_gread_per_second),
      figure(limits.gincrement_per_second), figure(limits.fma_gflop_per_second));
}

std::string row_json(const Report& report, const Row& row) {
  const bool has_value = row.state == State::measured || row.state == State::estimated;
  return fmt::format(
      "  {{\"kernel\": {}, \"system\": {}, \"value\": {}, \"unit\": {}, \"ratio\": {}, \"limit\": {}, "
      "\"share\": {}, \"state\": \"{}\", \"headline\": {}, \"spread\": {:.4f}, \"runs\": {}, \"remark\": "
      "{}}}",
      json_string(row.kernel), json_string(row.system), has_value ? figure(row.value) : "null",
      json_string(row.unit), figure(report.ratio(row)), json_string(limit_name(row.limit)),
      figure(report.share(row)), state_name(row.state), row.headline, row.spread, row.runs,
      json_string(row.remark));
}

}  // namespace

raddle::Result<void> Report::write_json(const std::string& path) const {
  std::error_code error;  // fopen below reports it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file) return raddle::Error::make(raddle::ErrorCode::io, "cannot write {}", path);
  fmt::print(file.get(), "{} \"rows\": [\n", header_json(*this));
  for (const Row& row : rows)
    fmt::print(file.get(), "{}{}\n", row_json(*this, row), &row == &rows.back() ? "" : ",");
  fmt::print(file.get(), "]}}\n");
  return {};
}

}  // namespace bench
