#include "jit/codegen.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/assert.h"

namespace raddle::jit {
namespace {

/// Registers out of memory, and the least that makes the result fit to emit: linear in the size of the
/// kernel.
llvm::ModulePassManager quick_passes() {
  llvm::FunctionPassManager function;
  function.addPass(llvm::SimplifyCFGPass());  // first: SROA takes quadratic time over chains of blocks
  function.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  function.addPass(llvm::EarlyCSEPass());
  function.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager module;
  module.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(function)));
  return module;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, Tier tier) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;  // the code is vectors already
  tuning.LoopInterleaving = false;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  auto pipeline = tier == Tier::quick ? quick_passes()
                                      : passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  pipeline.run(module, modules);
}

/// Instruction selection looks at a block at a time and takes more than linear time: no block is longer than
/// this.
void split_long_blocks(llvm::Module& module) {
  constexpr unsigned kLongest = 200;
  std::vector<llvm::Instruction*> cuts;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) {
      unsigned count = 0;
      for (llvm::Instruction& i : block)
        if (!llvm::isa<llvm::PHINode>(i) && !i.isTerminator() && ++count % kLongest == 0) cuts.push_back(&i);
    }
  // From the back: what a cut moves is then never longer than the limit.
  for (auto i = cuts.rbegin(); i != cuts.rend(); ++i) (*i)->getParent()->splitBasicBlock((*i)->getIterator());
}

}  // namespace

std::unique_ptr<llvm::MemoryBuffer> generate_object(llvm::Module& module, const HostTarget& target,
                                                    Tier tier) {
  auto machine = make_target_machine(target, tier);  // one per call: a TargetMachine is for one thread
  optimise(module, *machine, tier);
  if (tier == Tier::quick) split_long_blocks(module);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  bool cannot = machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  RADDLE_ASSERT(!cannot, "the host's LLVM target emits no object files");
  emission.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernel", false);
}

}  // namespace raddle::jit
