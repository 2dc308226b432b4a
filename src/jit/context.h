// How kernel code reads the contexts of launch, CTA, warp and cluster (exec/abi.h), and calls back into the
// machine: services and faults.
#pragma once

#include <map>

#include "exec/services.h"
#include "jit/cursor.h"
#include "jit/masks.h"

namespace raddle::jit {

class Context {
 public:
  /// @param first  context of the first of the warps that run together; null: this is it
  /// @param number  of this one among them
  Context(FunctionBuilder& code, const Cursor& cursor, Masks& masks, Context* first = nullptr,
          unsigned number = 0);

  // ---- fields ----
  llvm::Value* warp() const { return warp_; }
  llvm::Value* cta() const { return cta_; }
  /// @param constant  the field does not change while the function runs: read once
  llvm::Value* warp_field(std::size_t offset, llvm::Type* type, const char* name, bool constant = true);
  llvm::Value* cta_field(std::size_t offset, llvm::Type* type, const char* name, bool constant = true);
  llvm::Value* launch_field(std::size_t offset, llvm::Type* type, const char* name);
  llvm::Value* cluster_field(std::size_t offset, const char* name);
  llvm::Value* barrier_field(llvm::Value* barrier, std::size_t offset, const char* name);
  llvm::Value* address_of_warp_field(std::size_t offset);

  // ---- services ----
  /// Calls a service of the machine. @param arguments  behind the warp, of the types in services.def
  llvm::Value* call_service(exec::Service service, std::initializer_list<llvm::Value*> arguments);
  void note_line();  ///< before code that may wait or fault outside this function: faults name this line
  void poll();  ///< asks the machine whether to go on, at the end of a loop's turn or the start of a call

  // ---- faults ----
  /// Around accesses of one lane at a time: names the lane should memory fault; null afterwards, where the
  /// code is not one thread's anyway.
  void mark_lane(llvm::Value* lane);
  void fault(exec::FaultKind kind, llvm::Value* address, llvm::Value* lane);
  void fault_lanes(exec::FaultKind kind, const Mask& lanes);  ///< at run time, if there is one; no address

 private:
  FunctionBuilder& code_;
  Builder& ir_;
  const Cursor& cursor_;
  Masks& masks_;
  llvm::Value* warp_id();

  Context* const first_;
  const unsigned number_;
  llvm::Value* warp_;
  std::map<std::pair<std::size_t, int>, llvm::Value*> fields_;
  llvm::Value* cta_;
};

}  // namespace raddle::jit
