// Special registers (PTX ISA "Special Registers") as rows, as instructions are.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "isa/type.h"

namespace raddle::isa {

enum class SpecialRegister : std::uint8_t {
#define PTX_SREG(id, name, type, components, scope) id,
#include "isa/special_registers/registers.def"
#undef PTX_SREG
  count
};

/// Which threads read the same value, where an engine makes use of it.
enum class RegisterScope : std::uint8_t {
  thread,  ///< a coordinate of the thread in its CTA: the launch says how it runs along lanes
  number,  ///< the lane's number
  lane,    ///< differs by lane, without a pattern
  warp,
  cta,
  reserved,  ///< as cta; a kernel that names one has the reserved part of shared memory
  extent,    ///< as grid; the CTA's extents, whose multiples of a warp are known
  grid,
  moment,  ///< differs at each read
};

struct SpecialRegisterRow {
  std::string_view name;  ///< without % and number
  Type type;
  unsigned components;  ///< 1, 4 for .x to .w, more for a numbered family
  RegisterScope scope;
};
inline constexpr std::array<SpecialRegisterRow, static_cast<std::size_t>(SpecialRegister::count)>
    kSpecialRegisters = {{
#define PTX_SREG(id, name, type, components, scope) {name, Type::type, components, RegisterScope::scope},
#include "isa/special_registers/registers.def"
#undef PTX_SREG
    }};
constexpr const SpecialRegisterRow& row_of(SpecialRegister which) {
  return kSpecialRegisters[static_cast<std::size_t>(which)];
}

/// The unit in which SMs grant shared memory from sm_80 on: %total_smem_size is a multiple of it.
inline constexpr std::uint32_t kSharedUnit = 128;

/// As PTX spells a component: "%tid.x", "%laneid", "%envreg3", "%pm0_64".
std::string spelling(SpecialRegister which, unsigned component);

}  // namespace raddle::isa
