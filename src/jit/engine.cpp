// The LLVM engine: from a kernel of a ptx::Module to code in memory. Order of work: choose the block kind,
// compile the kernel and the device functions it reaches to LLVM IR, optimise, emit, hand out the entry
// points.
#include "jit/engine.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstdlib>

#include "base/assert.h"
#include "jit/executable.h"
#include "jit/holds.h"
#include "jit/host.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

using exec::BlockKind;

bool is_barrier(const isa::Opcode& opcode) { return opcode.row->text->scope == isa::Scope::cta; }

/// `bar.sync 0` by all threads: the one a region loop can do.
bool is_plain_barrier(const ptx::Function& f, const ptx::Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  if (!opcode.is(isa::Effects::sync) || opcode.row->operands.size() != 2) return false;
  auto operands = f.operands_of(i);
  return operands[0].kind == ptx::Operand::Kind::immediate && operands[0].value == 0 &&
         operands[1].kind == ptx::Operand::Kind::none && i.guard == ptx::kNone;
}

struct Traits {
  bool barriers = false, other_barriers = false, waiting = false, indirect = false, exits = false;
};

Traits traits_of(const ptx::Function& f) {
  Traits t;
  for (const auto& i : f.instructions) {
    if (is_barrier(*i.opcode)) (is_plain_barrier(f, i) ? t.barriers : t.other_barriers) = true;
    t.indirect |= i.extra != ptx::kNone && i.opcode->is(isa::Effects::control) && i.op() == isa::Op::call &&
                  f.calls[i.extra].callee.kind != ptx::Operand::Kind::function;
    t.exits |= i.op() == isa::Op::exit;
  }
  t.waiting = linear_order(f, ptx::build_cfg(f)).has_waiting_loop;
  return t;
}

std::vector<bool> addresses_taken(const ptx::Module& module) {
  std::vector<bool> taken(module.functions.size());
  for (const auto& f : module.functions) {
    for (const auto& i : f.instructions)
      for (const auto& o : f.operands_of(i))
        if (o.kind == ptx::Operand::Kind::function && i.op() != isa::Op::call) taken[o.index] = true;
  }
  for (const auto& v : module.variables)
    for (const auto& r : v.relocations)
      if (r.is_function) taken[r.index] = true;
  return taken;
}

/// K-4, K-5: decided before launch from the kernel's code and the functions it calls.
BlockKind choose_kind(const ptx::Module& module, ptx::FunctionId kernel, const ptx::KernelNeeds& needs,
                      LayoutClass layout, unsigned part_lanes, bool& functions_exit) {
  const ptx::Function& f = module.functions[kernel];
  Traits own = traits_of(f);
  bool fibers = own.other_barriers || own.waiting || own.indirect ||
                (own.barriers && barriers_apart(module, f, layout, part_lanes));
  for (auto id : needs.callees) {
    const auto& callee = module.functions[id];
    if (callee.is_declaration || id == kernel) continue;
    Traits t = traits_of(callee);
    fibers |= t.barriers || t.other_barriers || t.waiting || t.indirect;
    functions_exit |= t.exits;
  }
  return fibers ? BlockKind::fibers : own.barriers ? BlockKind::regions : BlockKind::loops;
}

/// loops: `void block(ptr cta)` runs all warps of a CTA, so that what does not change is computed once.
void emit_block_function(llvm::Module& llvm, llvm::Function* warp_function) {
  auto& context = llvm.getContext();
  Builder ir(context);
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy()}, false);
  auto* block = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "block", llvm);
  block->addFnAttr(llvm::Attribute::NullPointerIsValid);
  warp_function->setLinkage(llvm::Function::InternalLinkage);
  warp_function->addFnAttr(llvm::Attribute::AlwaysInline);
  auto* entry = llvm::BasicBlock::Create(context, "entry", block);
  auto* loop = llvm::BasicBlock::Create(context, "warp", block);
  auto* done = llvm::BasicBlock::Create(context, "done", block);
  ir.SetInsertPoint(entry);
  auto* warp =
      ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), sizeof(exec::WarpContext)), nullptr, "warp");
  warp->setAlignment(llvm::Align(alignof(exec::WarpContext)));
  auto field = [&](std::size_t offset) {
    return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp, offset);
  };
  auto cta_field = [&](std::size_t offset) {
    auto* load = ir.CreateLoad(ir.getInt32Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block->getArg(0), offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  };
  ir.CreateMemSet(warp, ir.getInt8(0), sizeof(exec::WarpContext), llvm::Align(8));
  ir.CreateStore(block->getArg(0), field(offsetof(exec::WarpContext, cta)));
  auto* warps = cta_field(offsetof(exec::CtaContext, warp_count));
  auto* threads = cta_field(offsetof(exec::CtaContext, thread_count));
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  auto* index = ir.CreatePHI(ir.getInt32Ty(), 2, "index");
  index->addIncoming(ir.getInt32(0), entry);
  ir.CreateStore(index, field(offsetof(exec::WarpContext, warp_id)));
  auto* left = ir.CreateSub(threads, ir.CreateShl(index, 5));
  auto* partial =
      ir.CreateSub(ir.CreateShl(ir.getInt32(1), ir.CreateAnd(left, ir.getInt32(31))), ir.getInt32(1));
  auto* lanes =
      ir.CreateSelect(ir.CreateICmpUGE(left, ir.getInt32(exec::kWarpSize)), ir.getInt32(0xffffffff), partial);
  ir.CreateStore(lanes, field(offsetof(exec::WarpContext, initial_lanes)));
  ir.CreateStore(lanes, field(offsetof(exec::WarpContext, live_lanes)));
  ir.CreateCall(warp_function, {warp});
  auto* next = ir.CreateAdd(index, ir.getInt32(1));
  index->addIncoming(next, loop);
  ir.CreateCondBr(ir.CreateICmpULT(next, warps), loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRetVoid();
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
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
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// RADDLE_DUMP=ir|optimised|asm writes what the engine made to stderr, for people who work on it.
bool dump_wanted(const char* what) {
  const char* dump = std::getenv("RADDLE_DUMP");
  return dump && std::string_view(dump) == what;
}

class JitEngine final : public exec::Engine {
 public:
  explicit JitEngine(SimdLevel level) : target_(host_target(level)), machine_(make_target_machine(target_)) {
    auto jit = llvm::orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(machine_builder())
                   .setNumCompileThreads(0)
                   .create();
    RADDLE_ASSERT(static_cast<bool>(jit), "cannot create the ORC session");
    jit_ = std::move(*jit);
  }

  std::string_view name() const override { return "jit"; }

  std::uint64_t shape_class(exec::BlockShape block) const override {
    LayoutClass c = layout_class(block, target_.simd.lanes);
    return static_cast<std::uint64_t>(c.layout) * 2 + (c.full_warps ? 1 : 0);
  }

  Result<std::unique_ptr<exec::Executable>> compile(const ptx::Module& module, ptx::FunctionId kernel,
                                                    const exec::CompileOptions& options) override {
    auto start = std::chrono::steady_clock::now();
    const ptx::Function& f = module.functions[kernel];
    ptx::KernelNeeds needs = ptx::analyze(module, kernel);
    TRY(check(f, needs));
    auto context = std::make_unique<llvm::LLVMContext>();
    auto llvm = std::make_unique<llvm::Module>(f.name, *context);
    llvm->setDataLayout(machine_->createDataLayout());
    llvm->setTargetTriple(machine_->getTargetTriple().str());
    declare_features(*llvm, *machine_->getMCSubtargetInfo());
    bool functions_exit = false;
    LayoutClass layout = layout_class(options.block, target_.simd.lanes);
    BlockKind kind = choose_kind(module, kernel, needs, layout, target_.simd.lanes, functions_exit);
    ModuleContext shared{.module = module,
                         .llvm = *llvm,
                         .simd = target_.simd,
                         .layout = layout,
                         .kind = kind,
                         .shared = ptx::shared_layout(module, kernel)};
    shared.address_taken = addresses_taken(module);
    shared.functions_may_exit = functions_exit;
    auto* entry = compile_function(shared, f);
    while (!shared.to_compile.empty()) {
      auto id = shared.to_compile.back();
      shared.to_compile.pop_back();
      compile_function(shared, module.functions[id]);
    }
    if (kind == BlockKind::loops) emit_block_function(*llvm, entry);
    set_target_attributes(*llvm, target_);
    if (dump_wanted("ir")) llvm->print(llvm::errs(), nullptr);
    std::string broken;
    llvm::raw_string_ostream report(broken);
    RADDLE_ASSERT(!llvm::verifyModule(*llvm, &report), broken);
    optimise(*llvm, *machine_);
    if (dump_wanted("optimised")) llvm->print(llvm::errs(), nullptr);

    auto executable = std::make_unique<JitExecutable>();
    executable->kind = kind;
    executable->statistics = shared.statistics;
    // Frames of calls whose depth is unknown come out of CUDA's stack, whose end the callee's prologue
    // checks.
    constexpr std::uint32_t kUnknownDepth = 16384;
    executable->local_bytes =
        needs.local_bytes + (needs.is_recursive || needs.has_indirect_calls ? kUnknownDepth : 0);
    executable->frame_bytes = shared.frame_bytes;
    std::string entry_name = kind == BlockKind::loops ? "block" : entry->getName().str();
    TRY_ASSIGN(void* address, link(std::move(llvm), std::move(context), entry_name, *executable));
    executable->set_entry(address);
    executable->statistics.compile_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<exec::Executable>(std::move(executable));
  }

 private:
  static llvm::Function* compile_function(ModuleContext& shared, const ptx::Function& f) {
    Plan plan(shared.module, f, shared.layout, shared.simd.lanes);
    if (!needs_holds(plan)) return FunctionCompiler(shared, plan).compile();
    ptx::Function split = split_at_holds(f);
    Plan held(shared.module, split, shared.layout, shared.simd.lanes, true);
    return FunctionCompiler(shared, held).compile();
  }

  llvm::orc::JITTargetMachineBuilder machine_builder() const {
    llvm::orc::JITTargetMachineBuilder builder(machine_->getTargetTriple());
    builder.setCPU(target_.cpu);
    std::vector<std::string> features;
    llvm::SmallVector<llvm::StringRef> split;
    llvm::StringRef(target_.features).split(split, ',', -1, false);
    for (auto s : split) features.push_back(s.str());
    builder.addFeatures(features);
    builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    return builder;
  }

  static Result<void> check(const ptx::Function& f, const ptx::KernelNeeds& needs) {
    if (!needs.unsupported.empty()) {
      std::string list;
      for (const auto& u : needs.unsupported)
        list += fmt::format("\n  line {}: {} ({} times): {}", u.first_line, u.what, u.count, u.reason);
      return Error::unsupported("kernel '{}' uses what cannot be executed:{}", f.name, list);
    }
    if (!needs.unresolved.empty())
      return Error::make(ErrorCode::not_found, "kernel '{}' calls undefined functions: {}", f.name,
                         fmt::join(needs.unresolved, ", "));
    return {};
  }

  Result<void*> link(std::unique_ptr<llvm::Module> llvm, std::unique_ptr<llvm::LLVMContext> context,
                     const std::string& entry, JitExecutable& executable) {
    auto dylib = jit_->createJITDylib(fmt::format("kernel{}", next_id_.fetch_add(1)));
    if (!dylib) return Error::make(ErrorCode::invalid, "JIT: {}", llvm::toString(dylib.takeError()));
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit_->getDataLayout().getGlobalPrefix());
    if (process)
      dylib->addGenerator(std::move(*process));
    else
      llvm::consumeError(process.takeError());
    if (auto error =
            jit_->addIRModule(*dylib, llvm::orc::ThreadSafeModule(std::move(llvm), std::move(context))))
      return Error::make(ErrorCode::invalid, "JIT: {}", llvm::toString(std::move(error)));
    auto symbol = jit_->lookup(*dylib, entry);
    if (!symbol) return Error::make(ErrorCode::invalid, "JIT: {}", llvm::toString(symbol.takeError()));
    auto* session = &jit_->getExecutionSession();
    auto* library = &*dylib;
    executable.on_release([session, library] { llvm::consumeError(session->removeJITDylib(*library)); });
    return symbol->toPtr<void*>();
  }

  HostTarget target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<std::uint64_t> next_id_{0};
};

}  // namespace

std::unique_ptr<exec::Engine> make_engine(SimdLevel level) { return std::make_unique<JitEngine>(level); }

}  // namespace raddle::jit
