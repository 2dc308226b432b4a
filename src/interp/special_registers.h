// What a lane reads from special registers: one function per row of isa/special_registers/registers.def,
// defined in its reference.cpp. Written independently of the JIT's lowering on purpose: the two are compared.
#pragma once

#include "isa/special_registers/special_registers.h"

namespace raddle::interp {

class Lane;

/// @param component  0 to 3 for .x to .w, the number in a family, 0 of a scalar
template <isa::SpecialRegister>
std::uint64_t special_register(const Lane&, unsigned component) = delete;

#define PTX_SREG(id, ...) \
  template <>             \
  std::uint64_t special_register<isa::SpecialRegister::id>(const Lane&, unsigned component);
#include "isa/special_registers/registers.def"
#undef PTX_SREG

}  // namespace raddle::interp
