// Code for one lane at a time.
#pragma once

#include <functional>

#include "jit/context.h"

namespace raddle::jit {

class LaneLoops {
 public:
  using Body = std::function<void(llvm::Value* lane)>;  ///< @param lane  its number, i32

  LaneLoops(FunctionBuilder& code, Context& context) : code_(code), ir_(code.ir), context_(context) {}

  /// Emits the body for each lane in the i32 mask, lowest first.
  void for_each(llvm::Value* bits, const Body& body);
  /// The same for what may fault: the fault names the lane.
  void for_each_marked(llvm::Value* bits, const Body& body);
  /// Emits the body once, for one lane, which a fault names.
  void for_one_marked(llvm::Value* lane, const std::function<void()>& body);
  /// The same for short accesses that run often: without a test per lane where all 32 are in the mask.
  void for_each_unrolled(llvm::Value* bits, const Body& body);
  /// The body for each of all 32 lanes, one behind the other: a single access, which a fault names.
  void for_all_marked(const std::function<void(unsigned lane)>& body);

 private:
  FunctionBuilder& code_;
  Builder& ir_;
  Context& context_;
};

}  // namespace raddle::jit
