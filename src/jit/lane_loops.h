// Code for one lane at a time.
#pragma once

#include <functional>
#include <vector>

#include "jit/context.h"

namespace raddle::jit {

class LaneLoops {
 public:
  using Body = std::function<void(llvm::Value* lane)>;  ///< @param lane  its number, i32
  /// A body in two halves: reads what the lane's access needs, and returns what makes it.
  using Access = std::function<std::function<void()>(llvm::Value* lane)>;

  LaneLoops(FunctionBuilder& code, Context& context) : code_(code), ir_(code.ir), context_(context) {}

  /// Emits the body for each lane in the i32 mask, lowest first.
  void for_each(llvm::Value* bits, const Body& body);
  /// The same for what may fault: the fault names the lane.
  void for_each_marked(llvm::Value* bits, const Body& body);
  /// Emits the body once, for one lane, which a fault names.
  void for_one_marked(llvm::Value* lane, const std::function<void()>& body);
  /// The same for short accesses that run often: without a test per lane where all 32 are in the mask.
  void for_each_unrolled(llvm::Value* bits, const Body& body);
  /// The same for an access and those that have joined it.
  /// @param safe  i1: no lane's access can fault, so that none is marked where all lanes run; null: not known
  void for_each_joined(llvm::Value* bits, const Access& access, llvm::Value* safe = nullptr);
  /// The access of the instruction at hand joins the next one, of the same lanes: each lane makes it before
  /// that.
  void join_next(Access access, llvm::Value* safe = nullptr);
  /// The body for each of all 32 lanes, one behind the other: a single access, which a fault names.
  void for_all_marked(const std::function<void(unsigned lane)>& body);

 private:
  struct Joined {
    std::uint32_t line;
    Access access;
    llvm::Value* safe;
  };
  void emit(const std::vector<Joined>& all, llvm::Value* first, unsigned lanes);

  FunctionBuilder& code_;
  Builder& ir_;
  Context& context_;
  std::vector<Joined> joined_;  // for the next unrolled loop
};

}  // namespace raddle::jit
