// Runs the lowerings of Scope::lane rows (emitter.h): over the parts of the warp, or once on scalars, as the
// plan says for the result.
#pragma once

#include <vector>

#include "jit/emitter.h"
#include "jit/registers.h"

namespace raddle::jit {

class LaneLowering {
 public:
  LaneLowering(FunctionBuilder& code, const Cursor& cursor, WarpValues& values, Masks& masks,
               Registers& registers);

  /// The instruction at hand.
  void emit();

 private:
  /// An operand: its value, or those of a vector operand's elements.
  struct Input {
    WarpValue value;
    std::vector<WarpValue> elements;
  };
  using Output = Input;
  using Inputs = std::vector<Input>;    // by operand
  using Outputs = std::vector<Output>;  // by operand
  enum class Form { scalar, vector };

  Inputs read_inputs();
  /// @param index  of the part, or of the base that stands for it
  void run(const Inputs& inputs, Form form, unsigned index, Outputs& outputs);
  void take(const Emitter& e, Form form, Outputs& outputs);
  void write(const Shape& result, Outputs& outputs, const Registers::LateParts& late);
  llvm::Value* widening_ok();
  llvm::Value* carry_place(unsigned index);
  void write_carry(llvm::Value* carry, unsigned index);

  FunctionBuilder& code_;
  Builder& ir_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  Registers& registers_;
  llvm::AllocaInst* carry_ = nullptr;
};

}  // namespace raddle::jit
