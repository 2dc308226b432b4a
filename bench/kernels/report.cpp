// Ratios are Raddle's value over the other system's: above 1, Raddle is faster. Means are geometric and taken
// over the headline kernels that both systems ran; kernels a system did not run are counted and named.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

namespace bench {
namespace {

constexpr const char* kRaddle = "raddle-jit";

std::string cell(const Row* row) {
  if (!row || row->state == State::missing) return "missing";
  if (row->state == State::wrong) return "WRONG";
  if (row->state == State::estimated) return fmt::format("~{:.3g}", row->value);
  return fmt::format("{:.4g} ±{:.0f}%", row->value, 50 * row->spread);
}

std::string ratio_cell(double ratio) { return ratio > 0 ? fmt::format("{:.2f}x", ratio) : "-"; }

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

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
  }
  return "?";
}

/// Each remark once, with the kernels that it is about.
void print_remarks(const Report& report) {
  std::vector<std::pair<std::string, std::string>> remarks;  // "system: remark", kernels
  for (const Row& row : report.rows) {
    if (row.remark.empty()) continue;
    const std::string key = row.system + ": " + row.remark;
    auto found =
        std::find_if(remarks.begin(), remarks.end(), [&](const auto& known) { return known.first == key; });
    if (found == remarks.end()) found = remarks.insert(remarks.end(), {key, ""});
    found->second += " " + row.kernel;
  }
  for (const auto& [text, kernels] : remarks) fmt::print("{} --{}\n", text, kernels);
}

void print_summary(const Report& report, const std::string& system) {
  double log_sum = 0, worst = 0;
  int compared = 0, at_least = 0, missing = 0, kernels = 0;
  std::string worst_kernel, missing_names;
  for (const Row& row : report.rows) {
    if (row.system != system || !row.headline) continue;
    ++kernels;
    const double ratio = report.ratio(row);
    if (ratio <= 0) {
      ++missing;
      missing_names += " " + row.kernel;
      continue;
    }
    ++compared;
    at_least += ratio >= 1;
    log_sum += std::log(ratio);
    if (worst_kernel.empty() || ratio < worst) worst = ratio, worst_kernel = row.kernel;
  }
  if (compared > 0) {
    fmt::print(
        "raddle-jit / {}: geometric mean {:.2f}x over {} kernels, at least as fast on {} of {}, worst "
        "{:.2f}x ({})\n",
        system, std::exp(log_sum / compared), compared, at_least, kernels, worst, worst_kernel);
  }
  if (missing > 0)
    fmt::print("raddle-jit / {}: {} of {} not compared:{}\n", system, missing, kernels, missing_names);
}

}  // namespace

const Row* Report::find(const std::string& kernel, const std::string& system) const {
  for (const Row& row : rows) {
    if (row.kernel == kernel && row.system == system) return &row;
  }
  return nullptr;
}

double Report::ratio(const Row& row) const {
  const Row* raddle = find(row.kernel, kRaddle);
  if (!raddle || raddle->state != State::measured || row.value <= 0) return 0;
  return raddle->value / row.value;
}

void Report::print() const {
  fmt::print("{}; {} cores used{}\n", machine, cores,
             quick ? "; quick sizes, not comparable with full ones" : "");
  if (other_cores > 0.1)
    fmt::print("busy machine: other programs took {:.2f} cores meanwhile\n", other_cores);
  fmt::print("limits: copy {:.1f} GB/s, update {:.1f} GB/s, read {:.1f} GB/s, fp32 FMA {:.0f} GFLOP/s\n\n",
             limits.copy_gb_per_second, limits.update_gb_per_second, limits.read_gb_per_second,
             limits.fma_gflop_per_second);
  fmt::print("{:<15} {:<15}", "kernel", "unit");
  for (const std::string& system : systems) fmt::print(" {:>15}", system);
  for (const std::string& system : systems) {
    if (system != kRaddle) fmt::print(" {:>15}", "/ " + system);
  }
  fmt::print("\n");
  for (const Row& first : rows) {
    if (first.system != systems.front()) continue;
    fmt::print("{:<15} {:<15}", first.kernel + (first.headline ? "" : " *"), first.unit);
    for (const std::string& system : systems) fmt::print(" {:>15}", cell(find(first.kernel, system)));
    for (const std::string& system : systems) {
      const Row* row = find(first.kernel, system);
      if (system != kRaddle) fmt::print(" {:>15}", ratio_cell(row ? ratio(*row) : 0));
    }
    fmt::print("\n");
  }
  fmt::print("* not counted below\n\n");
  for (const std::string& system : systems) {
    if (system != kRaddle) print_summary(*this, system);
  }
  print_remarks(*this);
}

bool Report::any_wrong() const {
  for (const Row& row : rows) {
    if (row.state == State::wrong) return true;
  }
  return false;
}

raddle::Result<void> Report::write_json(const std::string& path) const {
  std::error_code error;  // fopen below reports it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file) return raddle::Error::make(raddle::ErrorCode::io, "cannot write {}", path);
  fmt::print(file.get(),
             "{{\"machine\": {}, \"commit\": {}, \"cores\": {}, \"quick\": {}, \"other_cores\": {:.2f},\n",
             quoted(machine), quoted(commit), cores, quick, other_cores);
  fmt::print(file.get(),
             " \"limits\": {{\"copy_gb_per_second\": {:.3f}, \"update_gb_per_second\": {:.3f}, "
             "\"read_gb_per_second\": {:.3f}, ",
             limits.copy_gb_per_second, limits.update_gb_per_second, limits.read_gb_per_second);
  fmt::print(file.get(), "\"fma_gflop_per_second\": {:.2f}}},\n \"rows\": [\n", limits.fma_gflop_per_second);
  for (const Row& row : rows) {
    const bool has_value = row.state == State::measured || row.state == State::estimated;
    const double times = ratio(row);
    fmt::print(file.get(), "  {{\"kernel\": {}, \"system\": {}, \"value\": {}, \"unit\": {}, \"ratio\": {}, ",
               quoted(row.kernel), quoted(row.system), has_value ? fmt::format("{:.6g}", row.value) : "null",
               quoted(row.unit), times > 0 ? fmt::format("{:.4f}", times) : "null");
    fmt::print(file.get(),
               "\"state\": \"{}\", \"headline\": {}, \"spread\": {:.4f}, \"runs\": {}, \"remark\": {}}}{}\n",
               state_name(row.state), row.headline, row.spread, row.runs, quoted(row.remark),
               &row == &rows.back() ? "" : ",");
  }
  fmt::print(file.get(), "]}}\n");
  return {};
}

}  // namespace bench
