// A kernel prepared for interpretation: per function the reference function of each instruction, where
// divergent branches meet again, and where frames keep what has no register. Built once per compile, read by
// all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "exec/access.h"
#include "interp/reference.h"
#include "ptx/device_services.h"
#include "ptx/module.h"
#include "raddle/matrix_arithmetic.h"

namespace raddle::interp {

/// Device services and other functions that the interpreter itself implements (interp/services.cpp).
using BuiltIn = void (*)(Lane& lane, const ptx::Call& call);

struct InstructionCode {
  Reference reference;
  std::uint32_t join = ptx::kNone;  ///< divergent branch: instruction where its sides meet again
  bool control = false;             ///< lanes may go different ways
  bool gathers = false;             ///< warp scope: runs when its members have come, or all, if it names none
  bool cta = false;                 ///< CTA scope: lanes may be left waiting at a barrier
  bool is_join = false;             ///< some branch meets again here
  bool in_waiting_loop = false;     ///< ptx/waits.h
  bool is_awaited = false;          ///< ptx/awaits.h
  bool is_fenced = true;            ///< ptx/fences.h
};

struct FunctionCode {
  const ptx::Function* function = nullptr;
  ptx::FunctionId id = ptx::kNone;
  std::vector<InstructionCode> instructions;  ///< parallel to function->instructions
  std::vector<std::uint8_t> register_bits;    ///< width by RegisterId; 1 for predicates
  std::vector<std::uint32_t> high;  ///< b128 registers: index of the upper half in the frame, else kNone
  std::uint32_t frame_words = 0;    ///< registers and upper halves
  std::uint64_t local_bytes = 0;    ///< .local variables and private parameters, 16-byte multiple
  BuiltIn built_in = nullptr;
};

struct ModuleCode {
  const ptx::Module* module = nullptr;
  ptx::FunctionId kernel = ptx::kNone;
  exec::AccessListener* listener = nullptr;  ///< null: nobody listens
  MatrixArithmetic matrix_arithmetic = MatrixArithmetic::reference;
  std::vector<std::unique_ptr<FunctionCode>>
      functions;                              ///< by FunctionId; null if not reachable from the kernel
  std::vector<std::uint64_t> private_offset;  ///< by VariableId: .param variables that live in the frame
  std::vector<std::uint32_t> shared_offsets;  ///< by VariableId: window offsets (ptx/layout.h)
  std::uint32_t local_bytes = 0;              ///< per thread, call stack included

  static constexpr std::uint64_t kNotPrivate = ~std::uint64_t{0};

  /// Follows aliases; null if the module has no reachable body under this id.
  const FunctionCode* find(ptx::FunctionId id) const;
};

/// @errors unsupported: instructions of the kernel or its callees that nothing executes, or functions without
/// a body
/// @param stack_bytes  local memory beyond the static chain of calls, if recursion, indirect calls or alloca
///                     leave its depth open
Result<std::unique_ptr<ModuleCode>> prepare(const ptx::Module& module, ptx::FunctionId kernel,
                                            std::uint32_t stack_bytes);

/// What the interpreter calls for a service.
BuiltIn built_in(ptx::DeviceService service);

}  // namespace raddle::interp
