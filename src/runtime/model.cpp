#include "runtime/model.h"

#include "machine/distributor/options.h"
#include "machine/distributor/policy.h"
#include "machine/shape/shape_file.h"

namespace raddle {

Result<MachineShape> find_shape(const std::string& name) { return machine::find_shape(name); }

Result<void> check_policy(std::string_view name) {
  TRY(machine::make_policy(name));
  return {};
}

Result<DistributorOptions> distributor_options(std::string_view text, const MachineShape& shape) {
  TRY_ASSIGN(DistributorOptions options, machine::parse_distributor_options(text));
  TRY(machine::check(options, shape));
  return options;
}

}  // namespace raddle
