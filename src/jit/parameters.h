// Parameters and results of device functions. A parameter block keeps every variable as words (of a scalar's
// own size, else of 4 bytes): word w of the warp's 32 threads lies together at w * 32, so that accesses are
// vectors and every width sees the same bytes.
#pragma once

#include <map>
#include <vector>

#include "jit/registers.h"

namespace raddle::jit {

/// Where the next variable of `size` bytes goes in a block of `bytes`, which grows by it: caller and callee
/// place alike.
std::uint64_t place_parameter(std::uint64_t& bytes, std::uint64_t size);
/// Bytes of the words that a parameter variable is kept in.
unsigned word_bytes(const ptx::Variable& v);
/// Bytes of a parameter block that holds one such variable alone.
std::uint64_t block_bytes(const ptx::Variable& v);

class Parameters {
 public:
  Parameters(FunctionBuilder& code, const KernelPlan& kernel, const Cursor& cursor, WarpValues& values,
             Masks& masks, Registers& registers);

  /// The address names a parameter in such a block, not a kernel's parameter.
  bool holds(const ptx::Operand& address, isa::Mod space) const;
  void load(unsigned destination, const ptx::Operand& address);
  void store(const ptx::Operand& address, unsigned value);

  llvm::Value* slot(ptx::VariableId id);
  /// Part p of word w of a parameter variable: its address.
  llvm::Value* word(const ptx::Variable& v, llvm::Value* slot, std::uint64_t w, unsigned p);

  /// Formals declared as registers travel in the same blocks as .param ones: copied in at entry, and out
  /// where lanes return.
  void load_register_formals();
  void store_register_returns(const Mask& lanes);

 private:
  llvm::Value* formal(const std::vector<ptx::VariableId>& list, ptx::VariableId id, unsigned argument);
  llvm::Value* load_part(ptx::VariableId id, std::uint64_t offset, unsigned bytes, unsigned p);
  void store_part(ptx::VariableId id, std::uint64_t offset, llvm::Value* value, unsigned p,
                  llvm::Value* mask);

  FunctionBuilder& code_;
  Builder& ir_;
  const KernelPlan& kernel_;
  const Cursor& cursor_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  Registers& registers_;
  std::map<ptx::VariableId, llvm::Value*> slots_;
};

}  // namespace raddle::jit
