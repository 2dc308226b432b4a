// Ratios are Raddle's value over the other system's: above 1, Raddle is faster. Means are geometric and taken
// over the headline kernels that both systems ran; kernels a system did not run are counted and named.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bench {
namespace {

constexpr const char* kRaddle = "raddle-jit";

/// Raddle as the system is compared with it: at the same width of vectors.
std::string raddle_beside(const std::string& system) {
  for (const char* width : {"-avx512", "-avx2", "-sse42"}) {
    if (system.ends_with(width)) return std::string("raddle") + width;
  }
  return kRaddle;
}

bool has_value(const Row& row) { return row.state == State::measured || row.state == State::estimated; }

std::string cell(const Row* row) {
  if (!row || row->state == State::none) return "-";
  if (row->state == State::missing) return "missing";
  if (row->state == State::wrong) return "WRONG";
  if (row->state == State::estimated) return fmt::format("~{:.3g}", row->value);
  return fmt::format("{:.4g} ±{:.0f}%", row->value, 50 * row->spread);
}

std::string ratio_cell(double ratio) { return ratio > 0 ? fmt::format("{:.2f}x", ratio) : "-"; }

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

/// What a system's ratios say together.
struct Summary {
  double log_sum = 0, worst = 0;
  int compared = 0, at_least = 0;
  std::string worst_kernel, missing;

  void add(const std::string& kernel, double ratio) {
    if (ratio <= 0) {
      missing += " " + kernel;
      return;
    }
    ++compared;
    at_least += ratio >= 1;
    log_sum += std::log(ratio);
    if (worst_kernel.empty() || ratio < worst) worst = ratio, worst_kernel = kernel;
  }
  void print(const std::string& title) const {
    if (compared > 0) {
      fmt::print("{}: geometric mean {:.2f}x, at least as fast on {} of {}, worst {:.2f}x ({})\n", title,
                 std::exp(log_sum / compared), at_least, compared, worst, worst_kernel);
    }
    if (!missing.empty()) fmt::print("{}: not compared:{}\n", title, missing);
  }
};

void print_summary(const Report& report, const std::string& system) {
  Summary headline, all;
  for (const Row& row : report.rows) {
    if (row.system != system || row.state == State::none) continue;
    if (row.headline) headline.add(row.kernel, report.ratio(row));
    all.add(row.kernel, report.ratio(row));
  }
  const std::string title = raddle_beside(system) + " / " + system;
  headline.print(title);
  if (all.compared > headline.compared) all.print(title + ", * too");
}

void print_table(const Report& report) {
  std::vector<std::string> shown, compared;
  for (const std::string& system : report.systems) {
    const bool has_cells = std::any_of(report.rows.begin(), report.rows.end(), [&](const Row& row) {
      return row.system == system && row.state != State::estimated;
    });
    if (!has_cells) continue;  // estimates are in the summary and in the JSON
    shown.push_back(system);
    if (system != raddle_beside(system)) compared.push_back(system);
  }
  fmt::print("{:<15} {:<14} {:<12} {:>5}", "kernel", "unit", "limit", "share");
  for (const std::string& system : shown) fmt::print(" {:>14}", system);
  for (const std::string& system : compared)
    fmt::print(" {:>{}}", "/ " + system, std::max<int>(9, system.size() + 2));
  fmt::print("\n");
  for (const Row& first : report.rows) {
    if (first.system != report.systems.front()) continue;
    const double share = report.share(first);
    fmt::print("{:<15} {:<14} {:<12} {:>5}", first.kernel + (first.headline ? "" : " *"), first.unit,
               limit_name(first.limit), share > 0 ? fmt::format("{:.2f}", share) : "-");
    for (const std::string& system : shown) fmt::print(" {:>14}", cell(report.find(first.kernel, system)));
    for (const std::string& system : compared) {
      const Row* row = report.find(first.kernel, system);
      fmt::print(" {:>{}}", ratio_cell(row ? report.ratio(*row) : 0), std::max<int>(9, system.size() + 2));
    }
    fmt::print("\n");
  }
}

/// The bar of ten thousand launches: 1.3 times one.
void print_storm(const Report& report) {
  const Row *one = report.find("one_launch", kRaddle), *storm = report.find("launch_storm", kRaddle);
  if (!one || !storm || one->state != State::measured || storm->state != State::measured) return;
  fmt::print("launch_storm: {} launches take {:.2f} times as long as one of as many blocks\n",
             report.quick ? 1000 : 10000, one->value / storm->value);
}

}  // namespace

Row row_of(const Workload& workload, const std::string& system) {
  Row row{std::string(workload.name), system, std::string(workload.work.unit), workload.headline};
  row.limit = workload.work.limit;
  row.limit_work = workload.work.limit_amount / workload.work.amount;
  return row;
}

const Row* Report::find(const std::string& kernel, const std::string& system) const {
  for (const Row& row : rows) {
    if (row.kernel == kernel && row.system == system) return &row;
  }
  return nullptr;
}

double Report::ratio(const Row& row) const {
  const Row* raddle = find(row.kernel, raddle_beside(row.system));
  if (!raddle || raddle->state != State::measured || row.value <= 0) return 0;
  return raddle->value / row.value;
}

double Report::share(const Row& row) const {
  return has_value(row) ? row.value * row.limit_work / limits.of(row.limit) : 0;
}

Shares Report::shares() const {
  Shares all{quick, cores, {}};
  for (const Row& row : rows) {
    if (row.system == kRaddle) all.by_kernel[row.kernel] = share(row);
  }
  return all;
}

void Report::print() const {
  fmt::print("{}; {} cores used{}\n", machine, cores,
             quick ? "; quick sizes, not comparable with full ones" : "");
  if (other_cores > 0.1)
    fmt::print("busy machine: other programs took {:.2f} cores meanwhile\n", other_cores);
  fmt::print(
      "limits: copy {:.1f} GB/s, update {:.1f} GB/s, read {:.1f} GB/s, random reads {:.2f} G/s, increments "
      "{:.2f} G/s, fp32 FMA {:.0f} GFLOP/s\n\n",
      limits.copy_gb_per_second, limits.update_gb_per_second, limits.read_gb_per_second,
      limits.random_gread_per_second, limits.gincrement_per_second, limits.fma_gflop_per_second);
  print_table(*this);
  fmt::print("share: of the limit, that {} reached; *: not in the geometric means of the nine\n\n",
             systems.front());
  for (const std::string& system : systems) {
    if (system != raddle_beside(system)) print_summary(*this, system);
  }
  print_storm(*this);
  print_remarks(*this);
}

bool Report::any_wrong() const {
  for (const Row& row : rows) {
    if (row.state == State::wrong) return true;
  }
  return false;
}

}  // namespace bench
