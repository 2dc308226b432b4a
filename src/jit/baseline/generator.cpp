#include "jit/baseline/generator.h"

#include <llvm/MC/MCSubtargetInfo.h>

#include "jit/baseline/object.h"
#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

std::unique_ptr<llvm::MemoryBuffer> generate(const llvm::Module& module, const HostTarget& target,
                                             llvm::TargetMachine& machine, std::string& unknown) {
  if (!target.simd.mask_registers) {
    unknown = "a host without mask registers";
    return nullptr;
  }
  const llvm::MCSubtargetInfo& host = *machine.getMCSubtargetInfo();
  const HostFeatures features{.population_counts = host.checkFeatures("+avx512vpopcntdq"),
                              .byte_permutations = host.checkFeatures("+avx512vbmi")};
  Code code(module);
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    Selector selector(function, code, features);
    if (selector.write()) continue;
    unknown = function.getName().str() + ": " + selector.unknown();
    return nullptr;
  }
  if (!code.finish()) {
    unknown = code.error.message;
    return nullptr;
  }
  return write_object(code, machine);
}

}  // namespace raddle::jit::baseline
