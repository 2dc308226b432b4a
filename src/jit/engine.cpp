// The LLVM engine: from a kernel of a ptx::Module to code in memory. Order of work: choose the block kind
// (block.h), compile the kernel and the device functions it reaches to LLVM IR, optimise, emit, hand out the
// entry points.
#include "jit/engine.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstdlib>

#include "base/assert.h"
#include "jit/block.h"
#include "jit/code_cache.h"
#include "jit/codegen.h"
#include "jit/executable.h"
#include "jit/holds.h"
#include "jit/host.h"
#include "jit/tiers.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

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

/// RADDLE_DUMP=ir|optimised|asm writes what the engine made to stderr, for people who work on it.
bool dump_wanted(const char* what) {
  const char* dump = std::getenv("RADDLE_DUMP");
  return dump && std::string_view(dump) == what;
}

std::string bitcode_of(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

/// Kernels beyond it start as quick code: PTX instructions, device functions included. Below, the optimised
/// tier takes well under a second (bench/micro).
constexpr std::size_t kLargeKernel = 2000;
/// What the optimised tier is expected to take, in seconds per PTX instruction: as long must the kernel have
/// run.
constexpr double kSecondsPerInstruction = 300e-6;

class JitEngine final : public exec::Engine {
 public:
  explicit JitEngine(const EngineOptions& options)
      : target_(host_target(options.simd)),
        machine_(make_target_machine(target_, Tier::optimised)),
        tier_(options.tier),
        caches_(options.cache),
        cache_(options.cache ? options.cache_directory : "") {
    auto jit = llvm::orc::LLJITBuilder().setNumCompileThreads(0).create();
    RADDLE_ASSERT(static_cast<bool>(jit), "cannot create the ORC session");
    jit_ = std::move(*jit);
    if (!cache_.problem().empty())
      fmt::print(stderr, "raddle: warning: compiled code is not kept: {}\n", cache_.problem());
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
    auto executable = std::make_unique<JitExecutable>();
    llvm::LLVMContext context;
    llvm::Module llvm(f.name, context);
    std::string entry = translate(module, kernel, needs, options, llvm, *executable);
    TRY(make_code(llvm, entry, instructions_of(module, kernel, needs), *executable));
    executable->statistics.compile_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<exec::Executable>(std::move(executable));
  }

 private:
  static std::size_t instructions_of(const ptx::Module& module, ptx::FunctionId kernel,
                                     const ptx::KernelNeeds& needs) {
    std::size_t count = module.functions[kernel].instructions.size();
    for (auto id : needs.callees)
      if (id != kernel) count += module.functions[id].instructions.size();
    return count;
  }

  /// The kernel and what it calls as LLVM IR; fills the executable's traits. Returns the entry point's name.
  std::string translate(const ptx::Module& module, ptx::FunctionId kernel, const ptx::KernelNeeds& needs,
                        const exec::CompileOptions& options, llvm::Module& llvm, JitExecutable& executable) {
    llvm.setDataLayout(machine_->createDataLayout());
    llvm.setTargetTriple(machine_->getTargetTriple().str());
    declare_features(llvm, *machine_->getMCSubtargetInfo());
    LayoutClass layout = layout_class(options.block, target_.simd.lanes);
    const BlockChoice choice = choose_block_kind(module, kernel, needs, layout, target_.simd.lanes);
    DebugLines debug(llvm);
    ModuleContext shared{.module = module,
                         .llvm = llvm,
                         .simd = target_.simd,
                         .debug = debug,
                         .layout = layout,
                         .kind = choice.kind,
                         .shared = ptx::shared_layout(module, kernel)};
    shared.address_taken = addresses_taken(module);
    shared.functions_may_exit = choice.functions_exit;
    shared.has_dynamic_stack = needs.has_dynamic_stack;
    shared.clustered = options.clustered;
    auto* entry = compile_function(shared, module.functions[kernel]);
    while (!shared.to_compile.empty()) {
      auto id = shared.to_compile.back();
      shared.to_compile.pop_back();
      compile_function(shared, module.functions[id]);
    }
    const bool is_loops = choice.kind == exec::BlockKind::loops;
    if (is_loops) emit_block_function(llvm, debug, entry);
    debug.finish();
    set_target_attributes(llvm, target_);
    executable.kind = choice.kind;
    executable.statistics = shared.statistics;
    executable.local_bytes = needs.local_bytes;
    if (needs.is_recursive || needs.has_indirect_calls || needs.has_dynamic_stack) {
      // Frames of calls whose depth is unknown, and what alloca takes, come out of CUDA's stack, whose end
      // the callee's prologue checks. The host's stack holds what a GPU would spill beside them: as much, and
      // the masks.
      executable.local_bytes += options.stack_bytes;
      executable.stack_bytes = std::uint64_t{4} * exec::kWarpSize * options.stack_bytes;
    }
    executable.frame_bytes = shared.frame_bytes;
    return is_loops ? "block" : entry->getName().str();
  }

  /// From IR to code that can be called: out of the cache, or in the tier that fits the kernel's size.
  Result<void> make_code(llvm::Module& llvm, const std::string& entry, std::size_t instructions,
                         JitExecutable& executable) {
    if (dump_wanted("ir")) llvm.print(llvm::errs(), nullptr);
    std::string broken;
    llvm::raw_string_ostream report(broken);
    RADDLE_ASSERT(!llvm::verifyModule(llvm, &report), broken);
    Tier tier = tier_.value_or(instructions > kLargeKernel ? Tier::quick : Tier::optimised);
    const bool keeps = caches_ && tier_ != Tier::quick, may_improve = tier == Tier::quick && !tier_;
    // Taken before code is generated, which consumes the module.
    std::string bitcode = keeps || may_improve ? bitcode_of(llvm) : std::string();
    const CodeKey key = keeps ? key_of(bitcode) : CodeKey{};
    auto object = keeps ? cache_.find(key) : nullptr;
    executable.statistics.from_cache = object != nullptr;
    if (object) tier = Tier::optimised;
    if (!object) object = generate_object(llvm, target_, tier);
    if (dump_wanted("optimised")) llvm.print(llvm::errs(), nullptr);
    if (keeps && tier == Tier::optimised && !executable.statistics.from_cache)
      cache_.store(key, object->getBuffer());
    executable.statistics.is_quick = tier == Tier::quick;
    TRY(link(std::move(object), entry, executable));
    if (tier == Tier::quick && !tier_)
      optimise_when_hot(std::move(bitcode), key, entry, instructions, executable);
    return {};
  }

  CodeKey key_of(const std::string& bitcode) const {
    return code_key({bitcode, target_.cpu, target_.features, std::to_string(target_.vector_bits),
                     LLVM_VERSION_STRING, RADDLE_CODEGEN_HASH});
  }

  void optimise_when_hot(std::string bitcode, const CodeKey& key, const std::string& entry,
                         std::size_t instructions, JitExecutable& executable) {
    auto job = [this, bitcode = std::move(bitcode), key, entry, &executable] {
      llvm::LLVMContext context;
      auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel"), context);
      RADDLE_ASSERT(static_cast<bool>(module), "bitcode written a moment ago cannot be read");
      auto object = generate_object(**module, target_, Tier::optimised);
      if (caches_) cache_.store(key, object->getBuffer());
      // A failure leaves the quick code in place, which is right as well.
      if (auto linked = link(std::move(object), entry, executable); !linked)
        fmt::print(stderr, "raddle: warning: {}\n", linked.error().message);
    };
    executable.when_hot(
        static_cast<double>(instructions) * kSecondsPerInstruction,
        [this, job = std::move(job), &executable] { tiers_.push(&executable, job); },
        [this, &executable] { tiers_.cancel(&executable); });
  }

  static llvm::Function* compile_function(ModuleContext& shared, const ptx::Function& f) {
    Plan plan(shared.module, f, shared.layout, shared.simd.lanes);
    if (!needs_holds(plan)) return FunctionCompiler(shared, plan).compile();
    ptx::Function split = split_at_holds(f);
    Plan held(shared.module, split, shared.layout, shared.simd.lanes, true);
    return FunctionCompiler(shared, held).compile();
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

  /// Loads the object and makes it the executable's entry point; code it had before stays until the
  /// executable goes.
  Result<void> link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry,
                    JitExecutable& executable) {
    auto failed = [](llvm::Error error) {
      return Error::make(ErrorCode::invalid, "JIT: {}", llvm::toString(std::move(error)));
    };
    auto dylib = jit_->createJITDylib(fmt::format("kernel{}", next_id_.fetch_add(1)));
    if (!dylib) return failed(dylib.takeError());
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit_->getDataLayout().getGlobalPrefix());
    if (!process) return failed(process.takeError());
    dylib->addGenerator(std::move(*process));
    auto code = llvm::MemoryBuffer::getMemBuffer(object->getMemBufferRef());
    if (auto error = jit_->addObjectFile(*dylib, std::move(code))) return failed(std::move(error));
    auto symbol = jit_->lookup(*dylib, entry);
    if (!symbol) return failed(symbol.takeError());
    executable.add_release([session = &jit_->getExecutionSession(), library = &*dylib] {
      llvm::consumeError(session->removeJITDylib(*library));
    });
    executable.add_lines({std::move(object), entry, symbol->getValue()});
    executable.set_entry(symbol->toPtr<void*>());
    return {};
  }

  HostTarget target_;
  std::unique_ptr<llvm::TargetMachine> machine_;  ///< for questions only
  std::optional<Tier> tier_;
  const bool caches_;
  CodeCache cache_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<std::uint64_t> next_id_{0};
  TierThread tiers_;  ///< last: its jobs use all of the above
};

}  // namespace

std::unique_ptr<exec::Engine> make_engine(const EngineOptions& options) {
  return std::make_unique<JitEngine>(options);
}

}  // namespace raddle::jit
