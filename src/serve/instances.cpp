#include "serve/instances.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/count.h"

namespace raddle::serve {

using machine::Domain;
using machine::Level;
using machine::MachineShape;

namespace {

Result<void> read_part(std::string_view part, InstanceOptions& instance) {
  const std::size_t colon = part.find(':');
  const std::string_view name = part.substr(0, colon);
  const std::string_view value = colon == part.npos ? std::string_view() : part.substr(colon + 1);
  TRY_ASSIGN(const std::uint64_t count, parse_count(value, 1, name == "memory" ? ~0ull : 1u << 20));
  if (name == "gpcs")
    instance.gpcs = static_cast<std::uint32_t>(count);
  else if (name == "sms")
    instance.sms = static_cast<std::uint32_t>(count);
  else if (name == "clients")
    instance.clients = static_cast<unsigned>(count);
  else if (name == "memory")
    instance.memory_bytes = count;
  else
    return Error::invalid("an instance has gpcs or sms, memory and clients, no '{}'", name);
  return {};
}

}  // namespace

Result<InstanceOptions> parse_instance(std::string_view text) {
  const std::size_t equals = text.find('=');
  InstanceOptions instance{.name = std::string(text.substr(0, equals))};
  if (equals == text.npos || equals == 0 || instance.name.find_first_of("#@") != std::string::npos)
    return Error::invalid("'{}': an instance is NAME=gpcs:N,memory:SIZE, without # or @ in its name", text);
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    TRY(read_part(text.substr(begin, end - begin), instance));
    begin = end + 1;
  }
  if ((instance.gpcs == 0) == (instance.sms == 0) || instance.memory_bytes == 0)
    return Error::invalid("'{}': an instance has either gpcs or sms, and memory", text);
  return instance;
}

namespace {

/// Takes SMs of a machine, instance by instance.
class Cutter {
 public:
  explicit Cutter(const MachineShape& machine) : machine_(machine), taken_(machine.sm_count(), false) {}

  /// @errors invalid
  Result<std::vector<std::uint32_t>> take(const InstanceOptions& wanted) {
    return wanted.gpcs != 0 ? take_gpcs(wanted) : take_tpcs(wanted);
  }
  std::vector<std::uint32_t> left() const {
    std::vector<std::uint32_t> sms;
    for (std::uint32_t sm = 0; sm < taken_.size(); ++sm)
      if (!taken_[sm]) sms.push_back(sm);
    return sms;
  }

 private:
  bool is_free(const Domain& domain) const {
    const auto first = taken_.begin() + domain.first_sm;
    return std::find(first, first + domain.sm_count, true) == first + domain.sm_count;
  }
  void take(const Domain& domain, std::vector<std::uint32_t>& sms) {
    for (std::uint32_t sm = domain.first_sm; sm < domain.first_sm + domain.sm_count; ++sm)
      taken_[sm] = true, sms.push_back(sm);
  }

  Result<std::vector<std::uint32_t>> take_gpcs(const InstanceOptions& wanted) {
    std::vector<Domain> free;
    std::ranges::copy_if(machine_.domains(Level::gpc), std::back_inserter(free),
                         [this](const Domain& gpc) { return is_free(gpc); });
    if (free.size() < wanted.gpcs)
      return Error::invalid("instance '{}' wants {} GPCs, {} are left", wanted.name, wanted.gpcs,
                            free.size());
    std::vector<std::uint32_t> sms;
    for (std::uint32_t i = 0; i < wanted.gpcs; ++i) take(free[i], sms);
    return sms;
  }

  /// Of the first GPC that has so many.
  Result<std::vector<std::uint32_t>> take_tpcs(const InstanceOptions& wanted) {
    for (const Domain& gpc : machine_.domains(Level::gpc)) {
      std::vector<Domain> chosen;
      std::uint32_t sms_chosen = 0;
      for (const Domain& tpc : machine_.domains(Level::tpc)) {
        const bool is_inside = tpc.first_sm >= gpc.first_sm && tpc.first_sm < gpc.first_sm + gpc.sm_count;
        if (!is_inside || !is_free(tpc) || sms_chosen >= wanted.sms) continue;
        chosen.push_back(tpc);
        sms_chosen += tpc.sm_count;
      }
      if (sms_chosen != wanted.sms) continue;
      std::vector<std::uint32_t> sms;
      for (const Domain& tpc : chosen) take(tpc, sms);
      return sms;
    }
    return Error::invalid("instance '{}' wants {} SMs, and no GPC has whole TPCs of so many left",
                          wanted.name, wanted.sms);
  }

  const MachineShape& machine_;
  std::vector<bool> taken_;
};

}  // namespace

Result<Instances> Instances::cut(const MachineShape& machine, std::uint64_t memory_bytes,
                                 std::span<const InstanceOptions> wanted) {
  Instances made;
  Cutter cutter(machine);
  std::uint64_t left = memory_bytes;
  for (const InstanceOptions& one : wanted) {
    if (made.find(one.name)) return Error::invalid("two instances are called '{}'", one.name);
    TRY_ASSIGN(std::vector<std::uint32_t> sms, cutter.take(one));
    if (one.memory_bytes > left)
      return Error::invalid("instance '{}' wants {} of memory, {} of {} are left", one.name,
                            format_count(one.memory_bytes), format_count(left), format_count(memory_bytes));
    left -= one.memory_bytes;
    MachineShape shape = machine.part(sms);
    shape.name += " instance " + one.name;
    shape.memory_bytes = one.memory_bytes;
    made.instances_.push_back(std::make_unique<Instance>(one.name, std::move(shape), std::move(sms),
                                                         one.memory_bytes, one.clients));
  }
  if (wanted.empty()) {
    made.instances_.push_back(std::make_unique<Instance>("", machine, std::vector<std::uint32_t>{}, left, 0));
  } else if (std::vector<std::uint32_t> sms = cutter.left(); !sms.empty() && left != 0) {
    MachineShape shape = machine.part(sms);
    shape.memory_bytes = left;
    made.instances_.push_back(std::make_unique<Instance>("", std::move(shape), std::move(sms), left, 0));
  }
  return made;
}

Result<Instance*> Instances::find(const std::string& name) const {
  const auto known = std::ranges::find_if(instances_, [&](const auto& one) { return one->name() == name; });
  if (known != instances_.end()) return known->get();
  std::vector<std::string> names;
  for (const auto& one : instances_)
    if (!one->name().empty()) names.push_back(one->name());
  const std::string there =
      names.empty() ? "it has none"
                    : fmt::format("there are {} (RADDLE_SERVER=PATH#NAME)", fmt::join(names, ", "));
  if (name.empty())
    return Error::make(ErrorCode::server, "the server's instances have all its SMs or memory; {}", there);
  return Error::make(ErrorCode::server, "the server has no instance '{}'; {}", name, there);
}

}  // namespace raddle::serve
