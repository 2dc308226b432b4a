#include "jit/baseline/generator.h"

#include <llvm/MC/MCSubtargetInfo.h>

#include "jit/baseline/avx2.h"
#include "jit/baseline/near_uses.h"
#include "jit/baseline/object.h"
#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {
namespace {

Form form_of(const HostTarget& target, const llvm::TargetMachine& machine) {
  if (!target.simd.mask_registers) return {.bytes = 32, .registers = 16, .mask_registers = false};
  const llvm::MCSubtargetInfo& host = *machine.getMCSubtargetInfo();
  return {.population_counts = host.checkFeatures("+avx512vpopcntdq"),
          .byte_permutations = host.checkFeatures("+avx512vbmi")};
}

}  // namespace

bool writes_for(const HostTarget& target) { return target.simd.mask_registers || target.vector_bits == 256; }

std::unique_ptr<llvm::MemoryBuffer> generate(llvm::Module& module, const HostTarget& target,
                                             llvm::TargetMachine& machine, std::string& unknown) {
  if (!writes_for(target)) {
    unknown = "a host without AVX2";
    return nullptr;
  }
  const Form form = form_of(target, machine);
  Code code(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    move_near_uses(function);
    const auto selector = form.mask_registers ? std::make_unique<Selector>(function, code, form)
                                              : std::make_unique<Avx2Selector>(function, code, form);
    if (selector->write()) continue;
    unknown = function.getName().str() + ": " + selector->unknown();
    return nullptr;
  }
  if (!code.finish()) {
    unknown = code.error.message;
    return nullptr;
  }
  return write_object(code, machine);
}

}  // namespace raddle::jit::baseline
