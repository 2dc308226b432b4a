// The modelled machine as data, for who describes it before a device is open: shapes by name, and the checks
// of what users ask for.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "exec/abi.h"
#include "exec/matrix_arithmetic.h"
#include "machine/context/context_mode.h"
#include "machine/distributor/placement_mode.h"
#include "machine/memory/bounds.h"
#include "machine/memory/translation.h"
#include "machine/mmu/mmu_spec.h"
#include "machine/shape/host.h"
#include "machine/shape/machine_shape.h"
#include "machine/tma/asynchrony.h"
#include "raddle/distributor.h"

namespace raddle {

using exec::kReservedShared;
using exec::kSharedUnit;
using exec::kWarpSize;
using machine::bytes_for_devices;
using machine::MachineShape;
using machine::SmLimits;

/// A preset, or a file if the name ends in `.json`. @errors not_found: names the presets; io, invalid
Result<MachineShape> find_shape(const std::string& name);
/// @errors not_found: names the policies
Result<void> check_policy(std::string_view name);
/// Options of the distributor as users write them. @errors invalid: not options, or not of this shape
Result<DistributorOptions> distributor_options(std::string_view text, const MachineShape& shape);
using exec::parse_matrix_arithmetic;
using machine::parse_asynchrony;
using machine::parse_bounds;
using machine::parse_contexts;
using machine::parse_mmu_spec;
using machine::parse_placement;
using machine::parse_translation;

}  // namespace raddle
