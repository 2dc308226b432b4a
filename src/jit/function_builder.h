// The LLVM function that one PTX function becomes: its blocks, its variables, branches within an instruction,
// the PTX line of what is written. It knows how wide the host's vectors are, but not what PTX means.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/module_builder.h"
#include "jit/value.h"

namespace raddle::jit {

/// A mask over the warp, one <lanes x i1> per part.
using Mask = std::vector<llvm::Value*>;

/// How the names of functions begin in which warps run together.
inline constexpr const char* kTogetherName = "together.";

/// Of a device function: `void(ptr warp, i32 lanes, ptr parameters, ptr returns, i32 local_frame)`.
llvm::FunctionType* device_function_type(llvm::LLVMContext& context);

/// Keeps LLVM from holding the variable in registers: loads from it stay loads, where shuffles would be
/// slower.
void keep_in_memory(Builder& ir, llvm::Value* variable);

class FunctionBuilder {
 public:
  /// Kernel: `void(ptr warp)`, or `i32(ptr warp, ptr frame, i32 state)` (KernelPlan::has_states).
  FunctionBuilder(ModuleBuilder& module, const FunctionPlan& plan);

  Builder ir;
  bool calls_services = false;  ///< besides those that only fault
  llvm::Function* function() const { return function_; }
  llvm::Value* argument(unsigned n) const { return function_->getArg(n); }

  // ---- blocks ----
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, function_);
  }
  llvm::BasicBlock* entry() const { return entry_; }  ///< variables, and loads of the context
  llvm::BasicBlock* body() const { return body_; }    ///< what comes before the first PTX block
  llvm::BasicBlock* exit() const { return exit_; }
  /// Values that do not change in the function are computed before this.
  llvm::Instruction* entry_end() const { return entry_->getTerminator(); }
  /// The body goes on in the block that is written now: the code before it may have left the function.
  void body_begins_here() { body_ = ir.GetInsertBlock(); }

  /// Emits `then` only where the condition holds.
  void if_then(llvm::Value* condition, const std::function<void()>& then, llvm::MDNode* weights = nullptr);
  void if_else(llvm::Value* condition, const std::function<void()>& then,
               const std::function<void()>& otherwise);
  /// As if_then where it hardly ever holds: what else is computed shall not pay for it.
  void if_seldom(llvm::Value* condition, const std::function<void()>& then);
  /// Emits `likely` for where the condition holds and `otherwise` for where it does not.
  void two_ways(llvm::Value* condition, const std::function<void()>& likely,
                const std::function<void()>& otherwise);
  /// The same for the instruction at hand of one of the warps that run together: the likely way is one for
  /// all of them, the other is gone by all if one has to. Written when all have written the instruction.
  void two_ways_together(llvm::Value* condition, std::function<void()> likely,
                         std::function<void()> otherwise);
  void write_ways();
  /// Where instructions are written twice (check_groups.h): now the likely ways alone. A condition that does
  /// not hold leaves the instruction, which has done nothing yet, for this block.
  /// @param leave  made when needed
  void write_likely(llvm::BasicBlock** leave) { written_ = Written::likely, leave_ = leave; }
  /// The others alone: conditions may hold or not.
  void write_otherwise() { written_ = Written::otherwise; }
  void write_both() { written_ = Written::both; }
  bool writes_likely() const { return written_ == Written::likely; }
  bool writes_otherwise() const { return written_ == Written::otherwise; }
  /// Values of `make` where the i1 holds, zeros of the same types elsewhere.
  std::vector<llvm::Value*> conditional(llvm::Value* condition, const std::vector<llvm::Type*>& types,
                                        const std::function<std::vector<llvm::Value*>()>& make);

  // ---- variables ----
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name, unsigned align = 0);
  /// The function's one variable of this name: for what lasts no longer than an instruction.
  llvm::AllocaInst* shared_alloca(llvm::Type* type, const std::string& name, unsigned align);
  /// So many bytes into it, wherever it is used.
  llvm::Value* place_in(llvm::Instruction* variable, unsigned bytes);
  /// Zero when the body begins.
  void begin_as_zero(llvm::Value* variable, llvm::Type* type);

  // ---- lines ----
  /// The following code belongs to this PTX line (0: to none); elements of its vectors are these lanes.
  void at_line(std::uint32_t line, LaneRun lanes = {});
  std::uint32_t line() const { return line_; }
  void at_lanes(LaneRun lanes) { at_line(line_, lanes); }
  /// The following code is of one thread, whose lane is this (one_by_one.h); null: of all.
  void of_thread(llvm::Value* lane) { thread_ = lane; }
  llvm::Value* thread() const { return thread_; }
  /// The following code is of this one of the warps that run together.
  void at_warp(unsigned warp) { warp_ = warp; }
  /// `make` makes one vector access by these lanes.
  template <class Make>
  auto for_lanes(LaneRun lanes, Make make) {
    at_lanes(lanes);
    auto* made = make();
    at_lanes({});
    return made;
  }

  // ---- vectors ----
  unsigned parts() const { return simd_.parts(); }
  unsigned lanes() const { return simd_.lanes; }
  const SimdForm& simd() const { return simd_; }
  bool has_mask_registers() const { return simd_.mask_registers; }
  llvm::Type* lane_type(Type t) { return ir.getIntNTy(isa::bit_size(t)); }
  llvm::FixedVectorType* vector_of(llvm::Type* element) {
    return llvm::FixedVectorType::get(element, lanes());
  }
  llvm::Value* splat(llvm::Value* scalar) { return ir.CreateVectorSplat(lanes(), scalar); }
  /// Constant vector: first lane of part p, the next, ...
  llvm::Value* lane_numbers(unsigned bits, unsigned p);
  llvm::Value* pointer(llvm::Value* address) { return ir.CreateIntToPtr(address, ir.getPtrTy()); }

 private:
  const SimdForm simd_;
  llvm::Function* function_;
  llvm::DISubprogram* subprogram_;
  llvm::BasicBlock *entry_, *body_, *exit_;
  std::uint32_t line_ = 0;
  unsigned warp_ = 0;
  enum class Written : std::uint8_t { both, likely, otherwise } written_ = Written::both;
  llvm::BasicBlock** leave_ = nullptr;
  llvm::Value* thread_ = nullptr;
  struct Ways {
    unsigned warp;
    llvm::Value* condition;
    std::function<void()> likely, otherwise;
  };
  std::vector<Ways> ways_;  // of the instruction at hand
  std::map<std::string, llvm::AllocaInst*> shared_;
};

}  // namespace raddle::jit
