// What a warp reads from special registers. registers.def lists them, and isa/special_registers/lowering.cpp
// reads each.
#pragma once

#include "jit/state_spaces.h"
#include "jit/warp_values.h"

namespace raddle::jit {

struct SpecialRegisters {
  SpecialRegisters(FunctionBuilder& c, const KernelPlan& k, Context& x, StateSpaces& s)
      : code(c), ir(c.ir), kernel(k), context(x), spaces(s) {}

  WarpValue read(const ptx::Operand& operand);
  WarpValue thread_coordinate(unsigned component);  ///< 0 to 2 for x to z; 3: zero

  FunctionBuilder& code;
  Builder& ir;
  const KernelPlan& kernel;
  Context& context;
  StateSpaces& spaces;

 private:
  struct Divided {
    llvm::Value *quotient = nullptr, *rest = nullptr;
  };
  Divided divide(llvm::Value* number, unsigned axis);
  WarpValue coordinate_in_short_rows(unsigned component);
  std::vector<llvm::Value*> coordinates_by_part(unsigned component, llvm::Value* first, llvm::Value* nx,
                                                llvm::Value* ny);
  llvm::Value* coordinate_by_lane(unsigned component, unsigned p, llvm::Value* first, llvm::Value* nx,
                                  llvm::Value* ny);
};

/// @param component  0 to 3 for .x to .w, the number in a family, 0 of a scalar
template <isa::SpecialRegister>
WarpValue special_register(SpecialRegisters&, unsigned component) = delete;
#define PTX_SREG(id, ...) \
  template <>             \
  WarpValue special_register<isa::SpecialRegister::id>(SpecialRegisters&, unsigned component);
#include "isa/special_registers/registers.def"
#undef PTX_SREG

}  // namespace raddle::jit
