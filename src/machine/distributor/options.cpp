// One entry per option: a new one is a field of DistributorOptions and a line here.
#include "machine/distributor/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/count.h"
#include "machine/distributor/policy.h"

namespace raddle::machine {
namespace {

constexpr std::string_view kCap = "cap_per_sm", kPolicyCap = "cap_per_sm.", kGridCap = "grid_cap_per_sm",
                           kPatience = "patience", kCredits = "credits", kOrder = "sm_order", kTies = "ties",
                           kSlots = "task_slots", kTurn = "turn", kPreemptive = "preemptive",
                           kKinds = "work_kinds", kEvery = "share_every", kActive = "active_pool",
                           kPending = "pending_pool";
constexpr std::string_view kTieNames[] = {"load", "waiting", "priority"};  // in the order of TieBreak
constexpr std::uint32_t kMostSms = 1u << 16;                               // of an order
constexpr std::uint32_t kMostKinds = 64;

template <class Number>
Result<void> read(std::string_view option, std::string_view text, Number& to,
                  Number most = std::numeric_limits<Number>::max()) {
  const Result<std::uint64_t> count = parse_count(text, 0, most);
  if (!count) return Error::invalid("option {}: {}", option, count.error().message);
  to = static_cast<Number>(*count);
  return {};
}

/// The part of a text before a mark, which it loses.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Result<void> read_order(std::string_view text, std::vector<std::uint32_t>& order) {
  order.clear();
  while (!text.empty()) {
    std::string_view last = cut(text, ':');
    const bool is_range = last.find('-') != std::string_view::npos;
    const std::string_view first = is_range ? cut(last, '-') : last;
    std::uint32_t from = 0, to = 0;
    TRY(read(kOrder, first, from, kMostSms - 1));
    TRY(read(kOrder, last, to, kMostSms - 1));
    for (; from != to; from < to ? ++from : --from) order.push_back(from);
    order.push_back(to);
    if (order.size() > kMostSms) return Error::invalid("option {}: more than {} SMs", kOrder, kMostSms);
  }
  return {};
}

Result<void> read_ties(std::string_view text, TieBreak& ties) {
  const auto* const found = std::ranges::find(kTieNames, text);
  if (found == std::end(kTieNames))
    return Error::invalid("option {}: '{}' is none of {}", kTies, text, fmt::join(kTieNames, ", "));
  ties = TieBreak(found - kTieNames);
  return {};
}

Result<void> read_option(std::string_view name, std::string_view value, DistributorOptions& options) {
  if (name == kCap) return read(name, value, options.cap_per_sm);
  if (name == kGridCap) return read(name, value, options.grid_cap_per_sm);
  if (name == kPatience) return read(name, value, options.patience);
  if (name == kCredits) return read(name, value, options.credits);
  if (name == kSlots) return read(name, value, options.task_slots);
  if (name == kTurn) return read(name, value, options.turn);
  if (name == kActive) return read(name, value, options.active_pool);
  if (name == kPending) return read(name, value, options.pending_pool);
  if (name == kPreemptive) return read(name, value, options.preemptive);
  if (name == kKinds) return read(name, value, options.work_kinds, kMostKinds);
  if (name == kEvery) return read(name, value, options.share_every);
  if (name == kOrder) return read_order(value, options.sm_order);
  if (name == kTies) return read_ties(value, options.ties);
  if (name.starts_with(kPolicyCap))
    return read(name, value, options.policy_cap_per_sm[std::string(name.substr(kPolicyCap.size()))]);
  return Error::invalid("the distributor has no option '{}'; there are {}, {}POLICY, {}", name, kCap,
                        kPolicyCap,
                        fmt::join({kGridCap, kPatience, kCredits, kOrder, kTies, kSlots, kTurn, kPreemptive,
                                   kKinds, kEvery, kActive, kPending},
                                  ", "));
}

Result<void> check_sms(std::string_view what, const std::vector<std::uint32_t>& sms,
                       const MachineShape& shape) {
  std::vector<bool> seen(shape.sm_count(), false);
  for (const std::uint32_t sm : sms) {
    if (sm >= seen.size())
      return Error::invalid("{}: '{}' has no SM {}, but {} SMs", what, shape.name, sm, seen.size());
    if (seen[sm]) return Error::invalid("{}: SM {} stands there twice", what, sm);
    seen[sm] = true;
  }
  return {};
}

Result<void> check_order(const std::vector<std::uint32_t>& order, const MachineShape& shape) {
  if (order.empty()) return {};
  TRY(check_sms(fmt::format("option {}", kOrder), order, shape));
  if (order.size() != shape.sm_count())
    return Error::invalid("option {}: names {} of the {} SMs of '{}', must name all", kOrder, order.size(),
                          shape.sm_count(), shape.name);
  return {};
}

}  // namespace

Result<DistributorOptions> parse_distributor_options(std::string_view text) {
  DistributorOptions options;
  while (!text.empty()) {
    std::string_view value = cut(text, ',');
    const bool has_value = value.find('=') != std::string_view::npos;
    const std::string_view name = cut(value, '=');
    if (!has_value) return Error::invalid("option {}: has no value: write {}=VALUE", name, name);
    TRY(read_option(name, value, options));
  }
  return options;
}

Result<void> check(const DistributorOptions& options, const MachineShape& shape) {
  for (const auto& [policy, cap] : options.policy_cap_per_sm)
    if (const auto known = make_policy(policy); !known)
      return Error::invalid("option {}{}: {}", kPolicyCap, policy, known.error().message);
  if (static_cast<std::size_t>(options.ties) >= std::size(kTieNames))
    return Error::invalid("option {}: {} is no tie-break", kTies, static_cast<unsigned>(options.ties));
  if (options.work_kinds > kMostKinds)
    return Error::invalid("option {}: more than {} kinds of work", kKinds, kMostKinds);
  if (options.pending_pool != 0 && options.active_pool >= options.pending_pool)
    return Error::invalid("option {}: {} is not less than the {} of {}", kActive, options.active_pool,
                          options.pending_pool, kPending);
  return check_order(options.sm_order, shape);
}

Result<void> check(const SmLimit& limit, const MachineShape& shape) {
  return check_sms("limit of SMs", limit.sms, shape);
}

std::uint32_t cap_per_sm(const DistributorOptions& options, std::string_view policy) {
  const auto own = options.policy_cap_per_sm.find(std::string(policy));
  if (own == options.policy_cap_per_sm.end() || own->second == 0) return options.cap_per_sm;
  return options.cap_per_sm == 0 ? own->second : std::min(options.cap_per_sm, own->second);
}

}  // namespace raddle::machine
