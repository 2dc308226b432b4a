#include "against.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/json.h"

namespace bench {
namespace {

using raddle::Error;
using raddle::JsonValue;
using raddle::Result;

/// Adds the row's share, if the row is Raddle's.
Result<void> read_row(const JsonValue& row, Shares& shares) {
  TRY_ASSIGN(const JsonValue system, row.member("system"));
  TRY_ASSIGN(const std::string name, system.text());
  if (name != "raddle-jit") return {};
  TRY_ASSIGN(const JsonValue kernel, row.member("kernel"));
  TRY_ASSIGN(const std::string kernel_name, kernel.text());
  const std::optional<JsonValue> share = row.find("share");
  if (!share) return row.error("no share of a limit: an older bench/run wrote these results");
  double value = 0;
  if (!share->raw().is_null()) {
    TRY_ASSIGN(value, share->number(0, 1e6));
  }
  shares.by_kernel[kernel_name] = value;
  return {};
}

Result<Shares> read_document(const JsonValue& document) {
  Shares shares;
  TRY_ASSIGN(const JsonValue quick, document.member("quick"));
  TRY_ASSIGN(shares.quick, quick.flag());
  TRY_ASSIGN(const JsonValue cores, document.member("cores"));
  TRY_ASSIGN(const std::uint64_t count, cores.whole(1, 1 << 20));
  shares.cores = static_cast<unsigned>(count);
  TRY_ASSIGN(const JsonValue rows, document.member("rows"));
  TRY_ASSIGN(const std::vector<JsonValue> elements, rows.elements(0, 100000));
  for (const JsonValue& row : elements) TRY(read_row(row, shares));
  return shares;
}

}  // namespace

Result<Shares> read_shares(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!(text << file.rdbuf())) return Error::make(raddle::ErrorCode::io, "cannot read {}", path);
  TRY_ASSIGN(const nlohmann::json document, raddle::parse_json(text.str(), path));
  Result<Shares> shares = read_document(JsonValue(document));
  if (!shares.ok()) return Error::invalid("{}: {}", path, shares.error().message);
  return shares;
}

Result<void> check_comparable(const Shares& before, const Shares& now) {
  const auto size = [](const Shares& shares) { return shares.quick ? "quick" : "full"; };
  if (before.quick != now.quick)
    return Error::invalid("the results are of {} sizes, this run is of {} ones", size(before), size(now));
  if (before.cores != now.cores)
    return Error::invalid("the results are of {} cores, this run is of {}", before.cores, now.cores);
  const bool common = std::any_of(now.by_kernel.begin(), now.by_kernel.end(), [&](const auto& entry) {
    const auto found = before.by_kernel.find(entry.first);
    return found != before.by_kernel.end() && found->second > 0;
  });
  if (!common) return Error::invalid("the results have a figure for none of this run's kernels");
  return {};
}

std::vector<Fall> falls(const Shares& before, const Shares& now, double factor) {
  std::vector<Fall> fallen;
  for (const auto& [kernel, share] : now.by_kernel) {
    const auto found = before.by_kernel.find(kernel);
    if (found == before.by_kernel.end() || !(found->second > 0)) continue;  // nothing to fall from
    if (!(share >= factor * found->second)) fallen.push_back({kernel, found->second, share});
  }
  return fallen;
}

std::vector<Fall> falls_in_all(const Shares& before, const std::vector<Shares>& runs, double factor) {
  std::vector<Fall> fallen;
  for (const Shares& run : runs) {
    std::vector<Fall> again = falls(before, run, factor);
    if (&run != &runs.front()) {
      std::erase_if(again, [&](const Fall& fall) {
        return std::none_of(fallen.begin(), fallen.end(),
                            [&](const Fall& earlier) { return earlier.kernel == fall.kernel; });
      });
    }
    fallen = std::move(again);
  }
  return fallen;
}

std::string describe(const Fall& fall) {
  if (!(fall.now > 0))
    return fmt::format("{}: no figure, where it had {:.3f} of its limit", fall.kernel, fall.before);
  return fmt::format("{}: {:.3f} of its limit, {:.2f} of the {:.3f} before", fall.kernel, fall.now,
                     fall.now / fall.before, fall.before);
}

}  // namespace bench
