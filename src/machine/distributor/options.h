// The distributor's options as text, for command lines and the environment, and whether a machine can follow
// them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "machine/distributor/placement_mode.h"
#include "machine/shape/machine_shape.h"
#include "raddle/distributor.h"

namespace raddle::machine {

using raddle::DistributorOptions;
using raddle::TieBreak;

/// Fields of DistributorOptions by name with commas between them:
/// "cap_per_sm=8,cap_per_sm.lake=4,ties=waiting". An SM order is numbers and ranges: "sm_order=131-66:0-65".
/// @errors invalid: names the option
Result<DistributorOptions> parse_distributor_options(std::string_view text);

/// @errors invalid: names the option that this machine cannot follow
Result<void> check(const DistributorOptions& options, const MachineShape& shape);

/// @errors invalid: names the SM that the machine has not, or that stands there twice
Result<void> check(const SmLimit& limit, const MachineShape& shape);

/// The cap of all CTAs on an SM under a policy; 0: none.
std::uint32_t cap_per_sm(const DistributorOptions& options, std::string_view policy);

}  // namespace raddle::machine
