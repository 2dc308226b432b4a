// Calls: direct, indirect, and to device services.
#pragma once

#include <functional>
#include <vector>

#include "jit/lane_loops.h"
#include "jit/parameters.h"
#include "ptx/device_services.h"

namespace raddle::jit {

class Calls {
 public:
  Calls(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values, Masks& masks,
        Context& context, StateSpaces& spaces, Registers& registers, LaneLoops& loops,
        Parameters& parameters);

  /// The instruction at hand.
  void emit();

 private:
  /// The parameters and results of a callee.
  struct Formals {
    std::vector<const ptx::Variable*> parameters, returns;
  };
  /// The caller's side of a call: blocks of arguments and results, and what is done with the results.
  struct Blocks {
    llvm::Value *parameters = nullptr, *returns = nullptr, *frame = nullptr;
    std::vector<std::function<void()>> after;
  };
  Formals formals_of(const ptx::Call& call);
  Blocks blocks_of(const ptx::Call& call);
  llvm::Value* argument_block(const std::vector<ptx::Operand>& operands,
                              const std::vector<const ptx::Variable*>& formals, bool copy_in,
                              std::vector<std::function<void()>>& after);
  void pass_variable(ptx::VariableId id, llvm::Value* at, bool copy_in,
                     std::vector<std::function<void()>>& after);
  void pass_value(const ptx::Operand& o, unsigned bits, llvm::Value* at);
  void receive_value(const ptx::Operand& to, unsigned bits, llvm::Value* at);
  std::vector<std::pair<llvm::Value*, llvm::Type*>> argument_words(const ptx::Call& call);
  void call_service(const ptx::Call& call, const ptx::Function& callee, ptx::DeviceService service);
  void call_function(llvm::Function* function, llvm::Value* lanes_called, const Blocks& blocks);
  void call_indirect(const ptx::Call& call);
  void call_chosen(const ptx::Call& call, llvm::Value* chosen, llvm::Value* group, llvm::Value* lane,
                   const Blocks& blocks);
  llvm::Function* declare(ptx::FunctionId id);
  void remove_exited();

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const KernelPlan& kernel_;
  const Cursor& cursor_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  Context& context_;
  StateSpaces& spaces_;
  Registers& registers_;
  LaneLoops& loops_;
  Parameters& parameters_;
};

}  // namespace raddle::jit
