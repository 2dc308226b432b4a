// Regions between barriers that all threads reach together: the function returns at a barrier, and is entered
// again behind it when all warps have come. The warp's frame keeps what is needed then (frame.h).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "jit/frame.h"
#include "jit/registers.h"

namespace raddle::jit {

class Regions {
 public:
  Regions(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, Masks& masks, Context& context,
          Registers& registers);

  /// The function is `i32(ptr warp, ptr frame, i32 state)`: goes on where the state says.
  void begin();
  bool is_used() const { return resume_ != nullptr; }
  /// Gives each register that some barrier holds its place in the frame.
  void lay_out();
  void enter_at(llvm::BasicBlock* begin);  ///< state 0
  /// At the barrier at hand: returns, and goes on behind it when the function is entered again.
  void suspend();

 private:
  enum class Transfer { save, load };
  void transfer(const std::vector<ptx::RegisterId>& registers, Transfer direction);
  using Holding = std::map<ptx::RegisterId, std::vector<std::uint32_t>>;  // register -> barriers
  void lay_out_fragments(Holding& holding, FrameLayout& frame);
  std::vector<Registers::Variable> variables_of(ptx::RegisterId r);
  std::uint32_t stored_size(const Registers::Variable& variable) const;

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  Masks& masks_;
  Context& context_;
  Registers& registers_;
  llvm::Value* frame_ = nullptr;
  llvm::SwitchInst* resume_ = nullptr;
  std::map<std::uint32_t, FrameUse> uses_;                // by barrier instruction
  std::map<Registers::Variable, std::uint32_t> offsets_;  // of registers that barriers hold
  std::set<ptx::RegisterId> in_frame_;                    // that live there all the time
};

}  // namespace raddle::jit
