// The function's registers: where they live, operands read as values of the warp, results written under guard
// and mask. A register's shape in the plan says whether it is held as scalars or as vectors.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "jit/masks.h"
#include "jit/special_registers.h"
#include "jit/warp_values.h"

namespace raddle::jit {

class Registers {
 public:
  /// @param first  of the first of the warps that run together, which has what is equal for all; null:
  /// this is it
  Registers(FunctionBuilder& code, const Cursor& cursor, WarpValues& values, Masks& masks,
            StateSpaces& spaces, SpecialRegisters& specials, Registers* first = nullptr);

  WarpValue read(const ptx::Operand& operand);
  WarpValue read(unsigned k) { return read(cursor_.operand(k)); }
  /// Value of operand k in the first lane of `bits`: barrier numbers and counts are the same for a group.
  llvm::Value* read_in_first(unsigned k, llvm::Value* bits);

  /// Writes a destination under the instruction's guard, keeping lanes that others still need.
  using LateParts = std::function<std::vector<llvm::Value*>()>;
  /// @param late  computes the vectors of a checked value, where they are needed
  void write(const ptx::Operand& destination, const WarpValue& value, const LateParts& late = {});
  void write_parts(const ptx::Operand& destination, Type type, std::vector<llvm::Value*> parts);
  void write_uniform(const ptx::Operand& destination, Type type, llvm::Value* value);

  // ---- guards ----
  /// Lanes of the block that execute the instruction: those that its guard admits.
  Mask executing();
  Mask guard_mask(const ptx::Instruction& i);
  llvm::Value* guard_scalar(const ptx::Instruction& i);  ///< i1, null where lanes differ or none guards
  /// If the instruction at hand writes its own guard, the old value of the guard counts for every
  /// destination.
  void keep_guard();

  /// A variable of the function.
  struct Variable {
    llvm::Value* at = nullptr;
    llvm::Type* type = nullptr;
    friend bool operator<(const Variable& a, const Variable& b) { return a.at < b.at; }
  };
  /// Where a register lives in the function.
  struct Slot {
    llvm::Type* lane = nullptr;  // of a lane's value
    std::vector<Variable> bases, parts;
    std::optional<Variable> ok;
  };
  Slot& slot(ptx::RegisterId r);
  /// Where the registers of a fragment lie, one behind the other, each as its lanes' words. Null if they do
  /// not, as one of them is also another's, or is not 32 bits wide.
  llvm::Value* fragment(const std::vector<ptx::Operand>& registers);
  /// A place in memory for the registers of a matrix, or of one after the other (fragment_places.h).
  struct Fragment {
    std::vector<ptx::RegisterId> registers;
    std::size_t size = 0;                // registers that lie there at a time
    llvm::Instruction* words = nullptr;  ///< null until the first of them is used
    std::uint32_t bytes() const;
  };
  /// The one that a register belongs to, or null.
  Fragment* fragment_of(ptx::RegisterId r);
  /// A register of it may be read before it is written: it must begin as zero.
  bool is_read_first(const Fragment& fragment) const;
  /// Where a register lies that is shared with the machine.
  llvm::Value* place(ptx::RegisterId r) {
    slot(r);
    return part_of_fragment(r, 0);
  }

 private:
  WarpValue read_whole(const ptx::Operand& operand);
  WarpValue read_register(ptx::RegisterId r);
  WarpValue of_thread(const WarpValue& value);
  void resize(WarpValue& value, Type want);
  void store_parts(const Slot& slot, const WarpValue& value, const Mask& keep, const WarpValue* old);
  WarpValue guard_value(const ptx::Instruction& i);
  void find_fragments();
  void join_fragment(const ptx::Operand& matrix);
  void share_places();
  bool may_join_fragment(ptx::RegisterId r) const;
  llvm::Value* part_of_fragment(ptx::RegisterId r, unsigned part);

  FunctionBuilder& code_;
  Builder& ir_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  StateSpaces& spaces_;
  SpecialRegisters& specials_;
  Registers* const first_;
  std::vector<Slot> slots_;
  std::vector<Fragment> fragments_;
  std::map<ptx::RegisterId, std::pair<std::size_t, unsigned>> in_fragment_;  // which, and its place there
  WarpValue kept_guard_;  // of this instruction, where it writes its own guard:
  const ptx::Instruction* kept_guard_of_ = nullptr;
};

}  // namespace raddle::jit
