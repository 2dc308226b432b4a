// The three worked examples of the lake (machine/distributor/worked_examples.h) as histories: what is
// resident before, then what a policy does with the grid, one step after the other.
#pragma once

#include <string>

#include "distribute/history.h"

namespace raddle::distribute {

/// @param name    lake: 137 CTAs over 32 SMs. cluster: a cluster of 137 that does not fit, a smaller one that
///                does, a plain grid that takes the rest. nested: GPC clusters of CPC clusters over four GPCs
/// @param policy  one of machine::policy_names()
/// @errors not_found
Result<History> example_history(const std::string& name, const std::string& policy);

}  // namespace raddle::distribute
