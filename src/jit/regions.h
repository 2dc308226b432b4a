// Where a kernel's function returns before its end, and is entered again. At barriers that all threads reach
// together: behind one when all warps have come. Where lanes that ran together part (together.h): each
// warp goes on in the form by lanes. The warp's frame keeps what is needed then (frame.h), as the form by
// lanes holds it. And where warps that run together pause within their prelude (prelude.h), and go on so.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "jit/frame.h"
#include "jit/stream.h"

namespace raddle::jit {

class Regions {
 public:
  Regions(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, const Stream& stream,
          WarpValues& values);

  /// The function is `i32(ptr warp, ptr frame, i32 state)`: goes on where the state says.
  void begin();
  bool is_used() const { return resume_ != nullptr; }
  /// Gives each register that some state holds its place in the frame.
  void lay_out();
  /// State 0. @param prepare  writes what a warp does first
  void enter_at(llvm::BasicBlock* begin, const std::function<void()>& prepare);
  /// At the barrier at hand: returns, and goes on behind it when the function is entered again.
  void suspend();
  /// Together: the warps' lanes part at the branch at hand; returns. @param taken  i32 by warp: lanes that
  /// take it
  void part(const std::vector<llvm::Value*>& taken);
  /// Together: on the way to a block, returns if the warps are to pause there and asked to.
  /// @param arrive  where they go on
  void pause_before(BlockId to, llvm::BasicBlock* arrive);
  /// Writes how warps go on that have paused. All blocks are written.
  void go_on_paused();
  /// By lanes: writes code from here on for a warp that has parted at the branch at hand, if any does there.
  /// @returns its lanes that take the branch, i32; null if none does
  llvm::Value* go_on_parted();

 private:
  enum class Transfer { save, load };
  using Holding = std::map<ptx::RegisterId, std::vector<std::uint32_t>>;  // register -> barriers
  using Places = std::map<ptx::RegisterId, std::vector<std::uint32_t>>;   // offsets of its variables
  /// What a branch at which warps part leaves in the frame.
  struct Parting {
    std::uint32_t state;
    std::vector<ptx::RegisterId> held;
    Places places;
  };
  /// Between a variable of a warp and its place in the frame.
  struct Move {
    unsigned warp;  // whose frame
    Registers::Variable variable;
    std::uint32_t offset;
  };
  struct Moves {
    std::vector<Move> always;
    std::vector<Move> wrapped, flags;  // of checked registers: their vectors, and whether these do not count
  };
  /// What warps that pause on their way to a block leave in their frames.
  struct Pause {
    std::uint32_t state;
    llvm::BasicBlock* arrive = nullptr;  // null: nobody comes
    Moves turns, before;                 // what a turn may change; what was there before the first
  };
  void add_moves(unsigned warp, const Registers::Slot& slot, const std::vector<std::uint32_t>& places,
                 Moves& moves);
  void move(const Move& m, Transfer direction);
  void move(const Moves& moves, Transfer direction);
  void lay_out_pauses();
  void tell_first();
  std::vector<ptx::RegisterId> read_to_prefetch(BlockId b, const ptx::Instruction& i) const;
  void transfer(unsigned warp, const std::vector<ptx::RegisterId>& registers, const Places& places,
                Transfer direction);
  void save_by_lanes(unsigned warp, const std::vector<ptx::RegisterId>& registers, const Places& places);
  void save(unsigned warp, const std::vector<ptx::RegisterId>& registers, const Places& places);
  void lay_out_fragments(Holding& holding, FrameLayout& frame);
  void lay_out_partings(std::uint32_t end);
  std::vector<llvm::Type*> variables_of(ptx::RegisterId r);
  std::uint32_t stored_size(llvm::Type* type) const;
  bool may_resume(const FrameUse& use) const;
  void leave_if_wrapped(const std::vector<ptx::RegisterId>& registers, std::uint32_t state);
  unsigned bases_of(const Shape& affine) const { return affine.per_part ? code_.parts() : 1; }
  llvm::Value* frame_of(unsigned warp, std::uint32_t offset = 0);
  llvm::BasicBlock* resume_at(std::uint32_t state);

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const FunctionPlan& by_lanes_;  // form in which frames hold registers
  const ptx::Function& f_;
  const Prelude* const prelude_;  // null: no warp pauses in this form
  const Stream& stream_;
  WarpValues& values_;
  llvm::Value* frame_ = nullptr;  // of the first warp; those of the others lie behind it
  llvm::SwitchInst* resume_ = nullptr;
  llvm::Value *state_ = nullptr, *pausing_ = nullptr;  // i32 entered at; i1
  llvm::Value* is_first_ = nullptr;                    // i1: the warp has come to no barrier yet
  std::map<std::uint32_t, FrameUse> uses_;             // by barrier instruction
  std::map<std::uint32_t, std::uint32_t> states_;      // likewise
  std::map<BlockId, Parting> partings_;                // by block that ends with the branch
  std::map<BlockId, Pause> pauses_;                    // by block that comes next
  Places places_;                                      // of registers that barriers hold
  std::set<ptx::RegisterId> in_frame_;                 // that live there all the time
};

}  // namespace raddle::jit
