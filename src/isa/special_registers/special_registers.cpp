// Names of special registers.
#include "isa/special_registers/special_registers.h"

#include <fmt/format.h>

namespace raddle::isa {

std::string spelling(SpecialRegister which, unsigned component) {
  const SpecialRegisterRow& row = row_of(which);
  if (row.components == 1) return fmt::format("%{}", row.name);
  if (row.components == 4) return fmt::format("%{}.{}", row.name, "xyzw"[component & 3]);
  if (row.name.ends_with("64"))
    return fmt::format("%{}{}_64", row.name.substr(0, row.name.size() - 2), component);
  return fmt::format("%{}{}", row.name, component);
}

}  // namespace raddle::isa
