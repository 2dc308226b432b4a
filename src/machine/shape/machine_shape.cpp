// Builds the hierarchy and derives figures from it.
#include "machine/shape/machine_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace raddle::machine {

std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, kLevels> names{"set", "gpu", "ugpu", "gpc", "cpc", "tpc", "sm"};
  return names[static_cast<unsigned>(level)];
}

Result<Level> find_level(std::string_view name) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < kLevels; ++i) {
    if (level_name(Level(i)) == name) return Level(i);
    names.push_back(level_name(Level(i)));
  }
  return Error::make(ErrorCode::not_found, "no level '{}' of a machine; there are {}", name,
                     fmt::join(names, ", "));
}

void MachineShape::open(Level level) {
  const auto index = static_cast<unsigned>(level);
  const auto parent = index == 0 ? 0u : static_cast<std::uint32_t>(levels_[index - 1].size() - 1);
  levels_[index].push_back({sm_count(), 0, parent});
}

void MachineShape::close(Level level) {
  Domain& domain = levels_[static_cast<unsigned>(level)].back();
  domain.sm_count = sm_count() - domain.first_sm;
}

void MachineShape::add_sms(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    open(Level::sm);
    levels_[kLevels - 1].back().sm_count = 1;
    for (unsigned level = 0; level < kLevels; ++level)
      domain_of_[level].push_back(static_cast<std::uint32_t>(levels_[level].size() - 1));
  }
}

MachineShape MachineShape::part(std::span<const std::uint32_t> sms) const {
  constexpr unsigned kSm = kLevels - 1;
  MachineShape made = *this;
  made.levels_ = {};
  made.domain_of_ = {};
  for (std::size_t i = 0; i < sms.size(); ++i) {
    unsigned common = 0;  // levels of which this SM and the one before it are in one domain
    while (i != 0 && common < kSm && domain_of_[common][sms[i]] == domain_of_[common][sms[i - 1]]) ++common;
    for (unsigned level = kSm; i != 0 && level-- > common;) made.close(static_cast<Level>(level));
    for (unsigned level = common; level < kSm; ++level) made.open(static_cast<Level>(level));
    made.add_sms(1);
  }
  for (unsigned level = kSm; !sms.empty() && level-- > 0;) made.close(static_cast<Level>(level));
  return made;
}

namespace {
constexpr std::uint32_t kTpcsForPortable = 4;  // of a GPC
}  // namespace

std::uint32_t MachineShape::largest_portable_cluster() const {
  std::vector<std::uint32_t> tpcs(domains(Level::gpc).size());
  for (const Domain& tpc : domains(Level::tpc)) ++tpcs[domain_of(Level::gpc, tpc.first_sm)];
  std::uint32_t most_sms = 0;
  for (const Domain& gpc : domains(Level::gpc)) most_sms = std::max(most_sms, gpc.sm_count);
  const bool portable = *std::max_element(tpcs.begin(), tpcs.end()) >= kTpcsForPortable;
  return portable ? kPortableClusterSize : std::min(most_sms, kPortableClusterSize);
}

std::string MachineShape::warning() const {
  const std::uint32_t largest = largest_portable_cluster();
  if (largest == kPortableClusterSize) return {};
  return fmt::format(
      "no GPC of '{}' has {} TPCs, so programs that count on clusters of {} CTAs may not run on it: clusters "
      "of {} "
      "always fit, larger ones only if several of their CTAs fit one SM",
      name, kTpcsForPortable, kPortableClusterSize, largest);
}

}  // namespace raddle::machine
