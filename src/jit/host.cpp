#include "jit/host.h"

#include <fmt/format.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/assert.h"

namespace raddle::jit {
namespace {

/// Sets an option of LLVM that has no other way in, for all that this process compiles. A version of LLVM
/// that has no such option does without.
void set_llvm_option(llvm::StringRef name, llvm::StringRef value) {
  auto& options = llvm::cl::getRegisteredOptions();
  if (const auto found = options.find(name); found != options.end())
    found->second->addOccurrence(0, name, value);
}

/// Together half of the optimised tier's time on kernels of template libraries, whose loops have hundreds of
/// values alive: the search for regions in which a value could keep its register (LLVM's limit: 10,000 steps
/// a value), and loop strength reduction, which nvcc has done. No kernel of bench/run is slower without. The
/// search for what masks could do in their own registers finds nothing in any example, and took half of
/// attention's time. A constant that is made anew where it is copied to has its range of life
/// computed once, not once for each of up to 100 copies. What reads bitcode would have LLVM check the whole
/// module before it keeps the lines. The first scheduler takes accesses that it must keep in order together
/// from 300 of a block on (LLVM's limit: 1,000), as it compares each with all others, and what it finds with
/// all that it has found: a third of the time of what stores matrices word by word (docs/adr/0155).
void bound_compilation() {
  set_llvm_option("grow-region-complexity-budget", "200");
  set_llvm_option("late-remat-update-threshold", "1");
  set_llvm_option("dag-maps-huge-region", "300");
  set_llvm_option("disable-lsr", "true");
  set_llvm_option("disable-x86-domain-reassignment", "true");
  set_llvm_option("disable-auto-upgrade-debug-info", "true");
}

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetDisassembler();
    bound_compilation();
  });
}

bool host_has(const char* feature) {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto found = features.find(feature);
  return found != features.end() && found->second;
}

SimdLevel widest_of_host() {
  if (host_has("avx512f") && host_has("avx512bw") && host_has("avx512vl") && host_has("avx512dq"))
    return SimdLevel::avx512;
  return host_has("avx2") && host_has("fma") ? SimdLevel::avx2 : SimdLevel::sse42;
}

SimdForm host_form() {
  return {.lanes = 16,
          .mask_registers = true,
          .dots_of_bytes = host_has("avx512vnni"),
          .dots_of_bf16 = host_has("avx512bf16")};
}

std::string host_features() {
  std::string text;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", feature.second ? '+' : '-', feature.first().str());
  return text;
}

}  // namespace

bool host_is_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

HostTarget host_target(SimdLevel level) { return target_of(std::max(level, widest_of_host())); }

HostTarget target_of(SimdLevel level) {
  if (level == SimdLevel::host) level = widest_of_host();
  switch (level) {
    case SimdLevel::avx2:
      // LLVM knows gathers of AVX2, but makes them only where it is told that they are fast.
      return {"x86-64-v3", "+fast-gather", {.lanes = 8, .mask_registers = false}, 256};
    case SimdLevel::sse42:
      return {"x86-64-v2", "", {.lanes = 4, .mask_registers = false, .gathers = false, .fused = false}, 128};
    default:
      if (widest_of_host() != SimdLevel::avx512) return {"x86-64-v4", "", host_form(), 512};
      return {llvm::sys::getHostCPUName().str(), host_features(), host_form(), 512};
  }
}

bool may_use_tiles() {
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool may = host_has("amx-tile") && host_has("amx-int8") && host_has("amx-bf16") &&
                          syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return may;
#else
  return false;
#endif
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const HostTarget& target, Tier tier) {
  initialise_llvm();
  std::string error, triple = llvm::sys::getProcessTriple();
  const auto* registered = llvm::TargetRegistry::lookupTarget(triple, error);
  RADDLE_ASSERT(registered, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EmitStackSizeSection = true;  // for stack_use.h
  return std::unique_ptr<llvm::TargetMachine>(registered->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      tier == Tier::quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default, true));
}

void set_target_attributes(llvm::Module& module, const HostTarget& target) {
  auto bits = std::to_string(target.vector_bits);
  for (auto& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty()) function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
  }
}

void copy_target_attributes(llvm::Function& function, const llvm::Function& from) {
  for (const char* name : {"target-cpu", "target-features", "prefer-vector-width", "min-legal-vector-width"})
    if (from.hasFnAttribute(name)) function.addFnAttr(from.getFnAttribute(name));
}

std::string host_description(SimdLevel level) {
  HostTarget target = host_target(level);
  return fmt::format("{}, {}-bit vectors, {} lanes per part", target.cpu, target.vector_bits,
                     target.simd.lanes);
}

}  // namespace raddle::jit
