// The policies there are: a new one is a file of its own and a line here.
#include <fmt/ranges.h>

#include "machine/distributor/first_fit.h"
#include "machine/distributor/partitioned.h"
#include "machine/distributor/placement_choice.h"
#include "machine/distributor/round_robin.h"

namespace raddle::machine {
namespace {
template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<PlacementChoice>(std::make_unique<P>());
}

struct Entry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};
constexpr Entry kPolicies[] = {
    {"lake", make<LakeFilling>},   {"round_robin", make<RoundRobin>},
    {"first_fit", make<FirstFit>}, {"partitioned", make<Partitioned>},
    {"deep", make<Deep>},
};
}  // namespace

void Placement::clear() {
  sms.clear();
  masks.clear();
  launched = steps = 0;
  failed = false;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  for (const Entry& entry : kPolicies)
    if (entry.name == name) return entry.make();
  return Error::make(ErrorCode::not_found, "no policy '{}'; there are {}", name,
                     fmt::join(policy_names(), ", "));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kPolicies) names.emplace_back(entry.name);
  return names;
}

}  // namespace raddle::machine
