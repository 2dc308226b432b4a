#include "jit/codegen.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/assert.h"
#include "jit/baseline/generator.h"
#include "jit/bitcode.h"
#include "jit/combine.h"
#include "jit/constants.h"
#include "jit/deposited_masks.h"
#include "jit/executable.h"
#include "jit/function_builder.h"
#include "jit/fused.h"
#include "jit/halved_stores.h"
#include "jit/interleaved.h"
#include "jit/known_lanes.h"
#include "jit/lane_branches.h"
#include "jit/merge_selects.h"
#include "jit/near_gathers.h"
#include "jit/prefetch.h"
#include "jit/reuse_order.h"
#include "jit/sink_entry.h"
#include "jit/variables.h"
#include "jit/wide_masks.h"

namespace raddle::jit {
namespace {

/// Puts variables into registers where that costs linear time: those with one store that comes before all
/// loads, and those of a single block that begin there with a store; a store before that, at the function's
/// begin, does not count. LLVM's own promotion takes time (and memory) in the product of blocks and
/// variables, minutes for kernels that a template library wrote; and the quick tier's register allocator
/// would put the others back into memory between blocks anyway.
class PromoteSimple : public llvm::PassInfoMixin<PromoteSimple> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    std::vector<llvm::AllocaInst*> simple;
    for (llvm::Instruction& i : function.getEntryBlock())
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
          variable && llvm::isAllocaPromotable(variable) && make_simple(*variable, dominators))
        simple.push_back(variable);
    if (!simple.empty()) llvm::PromoteMemToReg(simple, dominators);
    return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
  }
  static bool isRequired() { return true; }

 private:
  static bool make_simple(llvm::AllocaInst& variable, const llvm::DominatorTree& dominators) {
    std::vector<llvm::StoreInst*> stores;
    std::vector<const llvm::LoadInst*> loads;
    for (llvm::User* user : variable.users()) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user))
        stores.push_back(store);
      else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
        loads.push_back(load);
    }
    if (stores.empty()) return true;  // never written: undefined, or unused
    llvm::StoreInst* initial = nullptr;
    for (llvm::StoreInst* store : stores)
      if (store->getParent() == variable.getParent() && (!initial || store->comesBefore(initial)))
        initial = store;
    if (initial && stores.size() > 1) {
      std::erase(stores, initial);
      if (!is_simple(stores, loads, dominators)) return false;
      initial->eraseFromParent();
      return true;
    }
    return is_simple(stores, loads, dominators);
  }

  static bool is_simple(const std::vector<llvm::StoreInst*>& stores,
                        const std::vector<const llvm::LoadInst*>& loads,
                        const llvm::DominatorTree& dominators) {
    const llvm::StoreInst* first = stores.front();
    for (const llvm::StoreInst* store : stores)
      if (store->getParent() == first->getParent() && store->comesBefore(first)) first = store;
    auto is_near = [&](const llvm::Instruction* i) { return i->getParent() == first->getParent(); };
    bool one_block = std::all_of(stores.begin(), stores.end(), is_near) &&
                     std::all_of(loads.begin(), loads.end(), is_near);
    if (stores.size() > 1 && !one_block) return false;
    return std::all_of(loads.begin(), loads.end(),
                       [&](const llvm::LoadInst* load) { return dominators.dominates(first, load); });
  }
};

/// First in both tiers: without PromoteSimple LLVM's own promotion takes cubic time in the length of a block
/// (a minute and more for 40,000 variables), and without ForwardVariables every pass has more to look at.
llvm::FunctionPassManager promotion() {
  llvm::FunctionPassManager function;
  function.addPass(llvm::SimplifyCFGPass());  // fewer blocks to be simple in
  function.addPass(ForwardVariables());
  function.addPass(PromoteSimple());
  return function;
}

/// The least that makes the result fit to emit: linear in the size of the kernel.
llvm::FunctionPassManager quick_passes() {
  llvm::FunctionPassManager function;
  function.addPass(llvm::EarlyCSEPass());
  function.addPass(llvm::SimplifyCFGPass());
  return function;
}

/// What is left of LLVM's -O2: nvcc has optimised the PTX, so that only what the translation brings in is
/// left to optimise: variables, masks and addresses that are computed over again. What blocks before one
/// another compute is computed once; there is no value numbering, of which MergeSelects does the part that
/// counts here. The last line combines.
constexpr const char* kFirstPasses =
    "always-inline,function<eager-inv>(sroa<modify-cfg>,early-cse,simplifycfg),cgscc(inline),globaldce,"
    "function<eager-inv>(loop-mssa(loop-rotate,licm<allowspeculation>),merge-selects)";
/// LLVM's takes two fifths of all passes' time, for which no launch waits: Combine does what counts most
/// where other code follows.
constexpr const char* kCombinesLess = "function<eager-inv>(combine,early-cse<memssa>,simplifycfg)";
constexpr const char* kCombines =
    "function<eager-inv>(instcombine<no-verify-fixpoint>,early-cse<memssa>,simplifycfg)";

/// Some function has so many blocks and variables that LLVM would spend minutes on which of them depend on
/// which: thousands of instructions around and inside loops that wait for other lanes. Its variables stay in
/// memory, where most would be spilled to anyway. A register is as many variables as a warp has parts.
bool sprawls(const llvm::Module& module, unsigned parts) {
  const std::size_t limit = std::size_t{2'000'000} * parts;
  return std::any_of(module.begin(), module.end(), [limit](const llvm::Function& f) {
    if (f.empty()) return false;
    const auto& entry = f.getEntryBlock();
    auto is_variable = [](const llvm::Instruction& i) { return llvm::isa<llvm::AllocaInst>(i); };
    return f.size() * static_cast<std::size_t>(std::count_if(entry.begin(), entry.end(), is_variable)) >
           limit;
  });
}

/// The quick tier has no form in which warps run together: to write the kernel twice, and the one of several
/// warps, takes most of its time. What is left parts from where it is entered, so that each warp goes on by
/// lanes.
void leave_out_together(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().starts_with(kTogetherName)) continue;
    const auto linkage = function.getLinkage();
    function.deleteBody();
    function.setLinkage(linkage);
    llvm::IRBuilder<> ir(llvm::BasicBlock::Create(module.getContext(), "entry", &function));
    ir.CreateRet(ir.CreateOr(function.getArg(2), ir.getInt32(kParted)));
  }
}

/// LLVM's passes, with what they need to know.
class Optimiser {
 public:
  Optimiser(llvm::TargetMachine& machine, Effort& effort)
      : effort_(effort), passes_(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks_) {
    callbacks_.registerShouldRunOptionalPassCallback(
        [this](llvm::StringRef, const llvm::Any&) { return !effort_.is_over(); });
    passes_.registerPipelineParsingCallback([](llvm::StringRef name, llvm::FunctionPassManager& function,
                                               llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
      if (name == "merge-selects") function.addPass(MergeSelects());
      if (name == "combine") function.addPass(Combine());
      return name == "merge-selects" || name == "combine";
    });
    passes_.registerModuleAnalyses(modules_);
    passes_.registerCGSCCAnalyses(components_);
    passes_.registerFunctionAnalyses(functions_);
    passes_.registerLoopAnalyses(loops_);
    passes_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }

  /// What the tiers have in common: the balanced one all of it, the quick one only the least.
  void run_common(llvm::Module& module, const HostTarget& target, Tier tier) {
    llvm::ModulePassManager pipeline;
    pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(promotion()));
    if (tier == Tier::quick || sprawls(module, target.simd.parts())) {
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(quick_passes()));
    } else {
      llvm::cantFail(passes_.parsePassPipeline(pipeline, kFirstPasses));
      llvm::cantFail(passes_.parsePassPipeline(pipeline, tier == Tier::balanced ? kCombinesLess : kCombines));
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(SinkEntry()));
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(PrefetchLoads(target.is_intel)));
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(KeepInterleaved()));
    }
    pipeline.run(module, modules_);
  }

  /// What is behind them, for the generator to come.
  /// @param is_balanced  the module has had the passes of balanced code
  void run_last(llvm::Module& module, const HostTarget& target, Tier tier, bool is_balanced) {
    llvm::ModulePassManager pipeline;
    if (is_balanced && tier == Tier::optimised && !sprawls(module, target.simd.parts()))
      llvm::cantFail(passes_.parsePassPipeline(pipeline, kCombines));
    if (target.simd.mask_registers && tier == Tier::optimised)
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(DepositMasks()));
    if (!target.simd.mask_registers && tier == Tier::optimised && !sprawls(module, target.simd.parts()))
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(KnownLanes()));
    const bool is_avx2 = target.vector_bits == 256,
               is_wide_intel = target.is_intel && target.vector_bits == 512;
    if ((is_avx2 || is_wide_intel) && tier == Tier::optimised)
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(NearGathers()));
    if (is_wide_intel && tier == Tier::optimised) {
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(PrefetchScattered()));
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(HalveStores()));
    }
    const bool orders = target.simd.mask_registers ? tier != Tier::quick
                                                   : target.vector_bits == 256 && tier == Tier::optimised;
    if (orders) pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(OrderForReuse(target.vector_bits)));
    if (!target.simd.mask_registers && tier == Tier::optimised)
      pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(WideMasks()));
    if (!target.simd.fused) pipeline.addPass(ExpandFused());
    pipeline.run(module, modules_);
  }

 private:
  Effort& effort_;
  llvm::PassInstrumentationCallbacks callbacks_;
  llvm::PassBuilder passes_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
};

/// Variables first: those behind a cut would be made anew whenever the code comes by, and the frame's size
/// were unknown.
void gather_variables(llvm::BasicBlock& entry) {
  auto front = entry.begin();
  for (auto i = entry.begin(); i != entry.end();) {
    llvm::Instruction& instruction = *i++;
    if (!llvm::isa<llvm::AllocaInst>(instruction)) continue;
    if (&instruction == &*front)
      ++front;
    else
      instruction.moveBefore(entry, front);
  }
}

/// Instruction selection looks at a block at a time and takes more than linear time: no block is longer than
/// this.
void split_long_blocks(llvm::Module& module) {
  constexpr unsigned kLongest = 200;
  std::vector<llvm::Instruction*> cuts;
  for (llvm::Function& function : module) {
    if (!function.empty()) gather_variables(function.getEntryBlock());
    for (llvm::BasicBlock& block : function) {
      unsigned count = 0;
      for (llvm::Instruction& i : block)
        if (!llvm::isa<llvm::PHINode, llvm::AllocaInst>(i) && !i.isTerminator() && ++count % kLongest == 0)
          cuts.push_back(&i);
    }
  }
  // From the back: what a cut moves is then never longer than the limit.
  for (auto i = cuts.rbegin(); i != cuts.rend(); ++i) (*i)->getParent()->splitBasicBlock((*i)->getIterator());
}

/// What TargetMachine::addPassesToEmitFile adds for an object, but two passes: the code tells lines only, and
/// LLVM's search for where variables are takes a sixth of the time on a function of many blocks, variables or
/// not; and processors of this day order instructions themselves, so the second scheduler gains nothing.
void add_emission(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine,
                  llvm::raw_pwrite_stream& stream, bool keeps_order) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);  // every target with a code generator is one
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(!verification_wanted());
  config->disablePass(&llvm::LiveDebugValuesID);
  config->disablePass(&llvm::PostRASchedulerID);
  if (keeps_order) config->disablePass(&llvm::MachineSchedulerID);
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(config);
  passes.add(functions);
  bool cannot = config->addISelPasses();
  config->addMachinePasses();
  config->setInitialized();
  cannot = cannot || target.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                          functions->getMMI().getContext());
  RADDLE_ASSERT(!cannot, "the host's LLVM target emits no object files");
  passes.add(llvm::createFreeMachineFunctionPass());
}

/// A TargetMachine, which is for one thread: one that a compilation has given back, if there is any. What it
/// knows about the processor takes LLVM as long to find out as a small kernel to compile.
class LentMachine {
 public:
  LentMachine(const HostTarget& target, Tier tier)
      : key_(target.cpu, target.features, tier), machine_(take(key_)) {
    if (!machine_) machine_ = make_target_machine(target, tier);
  }
  ~LentMachine() {
    std::lock_guard guard(pool().mutex);
    pool().machines.emplace(std::move(key_), std::move(machine_));
  }
  LentMachine(const LentMachine&) = delete;
  LentMachine& operator=(const LentMachine&) = delete;
  llvm::TargetMachine& operator*() { return *machine_; }

 private:
  using Key = std::tuple<std::string, std::string, Tier>;
  struct Pool {
    std::mutex mutex;
    std::multimap<Key, std::unique_ptr<llvm::TargetMachine>> machines;
  };
  /// Never destroyed: compilations may outlive what destroys objects at the process's end.
  static Pool& pool() {
    static Pool& all = *new Pool;
    return all;
  }
  static std::unique_ptr<llvm::TargetMachine> take(const Key& key) {
    std::lock_guard guard(pool().mutex);
    auto node = pool().machines.extract(key);
    return node ? std::move(node.mapped()) : nullptr;
  }

  Key key_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// Keeps the first of LLVM's errors.
void note_error(const llvm::DiagnosticInfo* information, void* errors) {
  auto& first = *static_cast<std::string*>(errors);
  if (information->getSeverity() != llvm::DS_Error || !first.empty()) return;
  llvm::raw_string_ostream stream(first);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  information->print(printer);
}

}  // namespace

double processor_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

bool verification_wanted() {
  static const bool wanted = std::getenv("RADDLE_VERIFY") != nullptr;
  return wanted;
}

bool dump_wanted(const char* what) {
  const char* dump = std::getenv("RADDLE_DUMP");
  return dump != nullptr && std::string_view(dump) == what;
}

Compilation::Outcome generate_object(llvm::Module& module, const HostTarget& target, Tier tier,
                                     Effort& effort, const Halfway& halfway) {
  std::string errors;
  module.getContext().setDiagnosticHandlerCallBack(note_error, &errors);  // else LLVM ends the process
  LentMachine machine(target, tier);
  const double start = processor_milliseconds();
  if (tier == Tier::quick) leave_out_together(module);
  const std::size_t written = module.getInstructionCount();
  Optimiser optimiser(*machine, effort);
  if (!halfway.is_from) optimiser.run_common(module, target, tier);
  if (halfway.to && !effort.is_over()) *halfway.to = bitcode_of(module);
  optimiser.run_last(module, target, tier, halfway.is_from);
  if (effort.is_over()) return Compilation::Object();
  if (dump_wanted("optimised")) {
    std::string text;  // stderr itself writes word by word
    llvm::raw_string_ostream(text) << module;
    llvm::errs() << text;
  }
  double optimised = processor_milliseconds();
  const auto report = [&](const char* code, std::size_t left, const std::string& unknown) {
    if (dump_wanted("times"))
      fmt::print(stderr, "{}, {}: {} instructions of LLVM, then {}; passes {:.2f} ms, {} {:.2f} ms{}{}\n",
                 module.getSourceFileName(), name_of(tier), written, left, optimised - start, code,
                 processor_milliseconds() - optimised, unknown.empty() ? "" : "; left to LLVM: ", unknown);
  };
  if (tier != Tier::optimised) {
    std::string unknown;
    auto made = baseline::generate(module, target, *machine, unknown);
    report("baseline code", module.getInstructionCount(), unknown);
    if (made) return Compilation::Object(std::move(made));
    if (tier == Tier::quick) split_long_blocks(module);
  }
  load_constants(module, tier == Tier::quick ? LoadedConstants::all : LoadedConstants::by_lane);
  optimised = processor_milliseconds();
  const std::size_t left = module.getInstructionCount();
  if (!target.simd.mask_registers) branch_per_lane(module);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  add_emission(emission, *machine, stream, keeps_order(module));
  emission.run(module);
  report("code", left, "");
  if (!errors.empty()) return Error::unsupported("LLVM cannot compile it: {}", errors);
  return Compilation::Object(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernel", false));
}

}  // namespace raddle::jit
