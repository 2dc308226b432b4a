// Where variables lie: the one place that both engines and the machine ask.
#pragma once

#include <vector>

#include "base/round_up.h"
#include "ptx/module.h"

namespace raddle::ptx {

/// First bytes of a CTA's shared window stay free (equals exec::kReservedShared); dynamic memory starts
/// aligned to this.
inline constexpr std::uint32_t kSharedStart = 1024;
inline constexpr std::uint32_t kDynamicSharedAlign = 1024;

/// Shared memory of one kernel: its own static variables, those of its callees and every module-scope one
/// they name.
struct SharedLayout {
  std::vector<std::uint32_t>
      offset;  ///< by VariableId: offset in the CTA's window; kNone: not part of this kernel
  std::uint32_t static_bytes = 0;    ///< from kSharedStart to the end of the last static variable
  std::uint32_t dynamic_offset = 0;  ///< of every `extern .shared` variable
  bool has_dynamic = false;
  /// The kernel reads %reserved_smem_offset_*. Cooperative groups keep barriers in the reserved bytes, which
  /// are zero when a CTA starts.
  bool uses_reserved = false;
};
SharedLayout shared_layout(const Module& module, FunctionId kernel);

/// Sizes of a function's frames. Variable::offset counts in the frame of its kind.
struct FrameLayout {
  std::uint32_t local_bytes = 0, local_align = 1;    ///< .local variables
  std::uint32_t formal_bytes = 0, formal_align = 1;  ///< .param parameters, then .param return values
  std::uint32_t call_bytes = 0, call_align = 1;      ///< .param variables declared in the body
};
FrameLayout frame_layout(const Module& module, FunctionId function);

/// Bytes of stack that a function's frame takes; the frame of its callee begins behind it.
constexpr std::uint64_t frame_bytes(std::uint64_t local_bytes) { return round_up(local_bytes, 16); }

/// The function and all it may call, each once, itself first; aliases replaced by what they name. An indirect
/// call may reach every function whose address the module takes.
std::vector<FunctionId> call_closure(const Module& module, FunctionId function);

/// Who calls whom.
class CallGraph {
 public:
  explicit CallGraph(const Module& module) : module_(module) {}
  /// The functions it calls itself, aliases replaced; for an indirect call without a list, all whose address
  /// is taken.
  std::vector<FunctionId> callees(FunctionId function);

 private:
  const Module& module_;
  bool scanned_ = false;
  std::vector<FunctionId> address_taken_;
};

}  // namespace raddle::ptx
