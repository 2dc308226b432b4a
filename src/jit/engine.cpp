// The LLVM engine: from a kernel of a ptx::Module to code in memory. Order of work: plan the kernel
// (kernel_plan.h), compile it and the device functions that it reaches to LLVM IR, optimise, emit, hand out
// the entry points.
#include "jit/engine.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "base/assert.h"
#include "jit/baseline/generator.h"
#include "jit/bitcode.h"
#include "jit/block.h"
#include "jit/code_cache.h"
#include "jit/codegen.h"
#include "jit/compilation.h"
#include "jit/executable.h"
#include "jit/function_compiler.h"
#include "jit/host.h"
#include "jit/stack_use.h"
#include "ptx/inline.h"
#include "ptx/layout.h"
#include "ptx/parser.h"
#include "ptx/waits.h"

namespace raddle::jit {
namespace {

/// Kernels beyond it start as quick code: PTX instructions, device functions included. Below, balanced code
/// takes a third of a second (bench/micro).
constexpr std::size_t kLargeKernel = 2000;
/// For so long must a kernel have run until LLVM's code is made beside it, in seconds per PTX instruction:
/// twice what that takes from the workers' cores, as balanced code loses at most half of the time to LLVM's.
constexpr double kSecondsPerInstruction = 1e-3;
/// Processor time, in seconds, for which a launch waits for better code than quick, and after which such code
/// is given up.
constexpr double kPatience = 2, kBudget = 30;
/// What LLVM's least effort takes for a function and a block beside their instructions, in instructions; and
/// how many instructions are too many. The largest kernels met in libraries count 60,000.
constexpr std::size_t kFunctionSize = 60, kBlockSize = 40, kBeyond = 200'000;
/// Bytes of the host's stack that services (printf, malloc, launches) may take, called from anywhere.
constexpr std::uint64_t kServiceStack = 256u << 10;
/// Bytes that better code may take more than what a kernel starts with: LLVM's spills may be a few more.
constexpr std::uint64_t kStackOfLater = 4096;

std::atomic<std::uint64_t> replaced{0};

class JitEngine final : public exec::Engine {
 public:
  explicit JitEngine(const EngineOptions& options)
      : target_(options.to_be_read ? target_of(options.simd) : host_target(options.simd)),
        machine_(make_target_machine(target_, Tier::optimised)),
        tier_(options.tier),
        caches_(options.cache),
        listener_(options.listener),
        together_(options.together),
        one_by_one_(options.one_by_one),
        cache_(options.cache ? options.cache_directory : "") {
    auto jit = llvm::orc::LLJITBuilder().setNumCompileThreads(0).create();
    RADDLE_ASSERT(static_cast<bool>(jit), "cannot create the ORC session");
    jit_ = std::move(*jit);
    static std::atomic<bool> told{false};
    if (!cache_.problem().empty() && !told.exchange(true))
      fmt::print(stderr, "raddle: warning: compiled code is not kept: {}\n", cache_.problem());
  }

  std::string_view name() const override { return "jit"; }

  std::uint64_t shape_class(exec::BlockShape block) const override {
    LayoutClass c = layout_class(block, target_.simd.lanes);
    const std::uint64_t lanes = std::uint64_t{c.row} * 8 + static_cast<std::uint64_t>(c.layout);
    return (lanes * 2 * kMostTogether + c.together) * 2 + (c.full_warps ? 1 : 0);
  }

  Result<std::unique_ptr<exec::Executable>> compile(const ptx::Module& module, ptx::FunctionId kernel,
                                                    const exec::CompileOptions& options) override {
    auto start = std::chrono::steady_clock::now();
    const double begun = processor_milliseconds();
    TRY(check(module.functions[kernel], ptx::analyze(module, kernel)));
    if (options.matrix_arithmetic == MatrixArithmetic::hopper) TRY(check_sums(module, kernel));
    if (size_of(module, kernel) > kBeyond)
      return Error::unsupported("it is too large to be compiled in reasonable time");
    TRY_ASSIGN(const auto own, without_waiting_callees(module, kernel));
    const ptx::Module& compiled = own ? *own : module;
    const ptx::KernelNeeds needs = ptx::analyze(compiled, kernel);
    auto executable = std::make_unique<JitExecutable>();
    auto llvm = std::make_shared<OwnModule>(module.functions[kernel].name);
    std::string entry = translate(compiled, kernel, needs, options, *llvm->module, *executable);
    const double written = processor_milliseconds();
    const std::size_t instructions = instructions_of(compiled, kernel, needs);
    TRY(make_code(std::move(llvm), entry, instructions, *executable));
    if (dump_wanted("times"))
      fmt::print(
          stderr,
          "{}: {} instructions; analyses and IR {:.2f} ms, key and link {:.2f} ms; {} bytes of stack\n",
          module.functions[kernel].name, instructions, written - begun, processor_milliseconds() - written,
          executable->stack_bytes);
    executable->statistics.compile_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<exec::Executable>(std::move(executable));
  }

 private:
  /// A module in a context of its own, so that another thread can work on it.
  struct OwnModule {
    explicit OwnModule(const std::string& name) : module(std::make_unique<llvm::Module>(name, *context)) {}
    std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> module;
  };

  /// Lanes that leave a loop in a function go on when the function returns, for all lanes of the call: those
  /// that still wait there for them would wait for ever. So functions with loops that wait become part of
  /// what calls them, where lanes take turns.
  /// @returns the module to compile instead, if any
  static Result<std::unique_ptr<const ptx::Module>> without_waiting_callees(const ptx::Module& module,
                                                                            ptx::FunctionId kernel) {
    const auto waits = [](const ptx::Module& in, ptx::FunctionId id) {
      const ptx::Function& f = in.functions[id];
      return !f.is_declaration && ptx::Waits(in, f, ptx::build_cfg(f)).any();
    };
    const auto closure = ptx::call_closure(module, kernel);
    if (std::none_of(closure.begin() + 1, closure.end(), [&](auto id) { return waits(module, id); }))
      return std::unique_ptr<const ptx::Module>();
    auto own = std::make_unique<ptx::Module>(module);
    if (!ptx::inline_calls(*own, kernel, [&](auto id) { return waits(*own, id); }))
      return Error::unsupported(
          "a function that waits in a loop calls itself or is called through a pointer, and lanes may wait "
          "for one another there");
    return std::unique_ptr<const ptx::Module>(std::move(own));
  }

  /// In instructions, for what LLVM's least effort takes.
  static std::size_t size_of(const ptx::Module& module, ptx::FunctionId kernel) {
    std::size_t size = 0;
    for (ptx::FunctionId id : ptx::call_closure(module, kernel)) {
      const ptx::Function& f = module.functions[id];
      size += kFunctionSize + f.instructions.size() + f.blocks.size() * kBlockSize;
    }
    return size;
  }

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
    DebugLines debug(llvm);
    SimdForm simd = target_.simd;
    if (options.matrix_arithmetic == MatrixArithmetic::fast) {
      simd.tiles = simd.dots_of_bf16 && simd.dots_of_bytes && may_use_tiles();
      report_fast_matrices(simd);
    } else {
      simd.dots_of_bf16 = false;
    }
    const KernelPlan plan(module, kernel, needs, options, simd, together_, one_by_one_);
    ModuleBuilder shared{.kernel = plan, .llvm = llvm, .simd = simd, .debug = debug, .listener = listener_};
    auto* entry = FunctionCompiler(shared, plan.function(kernel)).compile();
    while (!shared.to_compile.empty()) {
      auto id = shared.to_compile.back();
      shared.to_compile.pop_back();
      FunctionCompiler(shared, plan.function(id)).compile();
    }
    const bool is_loops = plan.kind() == exec::BlockKind::loops;
    WarpFunctions functions{.by_lanes = entry};
    if (const FunctionPlan* together = plan.together()) {
      functions.together = FunctionCompiler(shared, *together).compile();
      functions.warps = together->warps;
    }
    functions.frame_bytes = shared.frame_bytes;
    functions.goes_on = executable.goes_on =
        is_loops && !functions.together && listener_ == nullptr && soon_ends(plan, needs, shared);
    if (is_loops) emit_block_function(llvm, debug, functions);
    if (!is_loops && functions.together) emit_region_function(llvm, debug, functions);
    debug.finish();
    set_target_attributes(llvm, target_);
    executable.kind = plan.kind();
    executable.statistics = shared.statistics;
    executable.statistics.one_by_one = plan.function(kernel).one_by_one;
    executable.local_bytes = needs.local_bytes;
    // Frames of calls whose depth is unknown, and what alloca takes, come out of CUDA's stack, whose end the
    // callee's prologue checks.
    if (plan.open_depth) executable.local_bytes += options.stack_bytes;
    executable.call_stack = plan.call_stack;
    executable.frame_bytes = shared.frame_bytes;
    executable.bytes_past_caches = stores_past_caches(llvm) ? plan.bytes_past_caches() : 0;
    if (functions.together) {
      executable.statistics.warps_together = functions.warps;
      executable.together_states.resize(
          shared.together_states.empty() ? 1 : *shared.together_states.rbegin() + 1);
      for (const std::uint32_t state : shared.together_states) executable.together_states[state] = true;
      if (!shared.turn_states.empty()) executable.turn_states.resize(executable.together_states.size());
      for (const std::uint32_t state : shared.turn_states) executable.turn_states[state] = true;
      executable.begins_ahead = !shared.turn_states.empty();
      if (!is_loops) executable.together = functions.warps;
    }
    return is_loops ? "block" : functions.together ? "region" : entry->getName().str();
  }

  /// Where no store does, there is nothing to be ordered, and ordering would wait for all others.
  static bool stores_past_caches(const llvm::Module& module) {
    const auto does = [](const llvm::Instruction& i) {
      return i.hasMetadata(llvm::LLVMContext::MD_nontemporal);
    };
    return std::ranges::any_of(module, [&](const llvm::Function& function) {
      return std::ranges::any_of(llvm::instructions(function), does);
    });
  }

  /// A kernel without loops, calls and services: what a worker does between CTAs can wait for it.
  static bool soon_ends(const KernelPlan& plan, const ptx::KernelNeeds& needs, const ModuleBuilder& made) {
    return needs.callees.empty() && !made.calls_services && plan.function(plan.kernel).order.loops.empty();
  }

  /// Once in a process.
  static void report_fast_matrices(const SimdForm& simd) {
    static std::atomic<bool> told{false};
    if (!told.exchange(true))
      fmt::print(stderr, "raddle: matrices are multiplied fast: {}\n",
                 simd.tiles ? "bf16 in pairs by AVX-512 BF16, wgmma's and its bytes in tiles by AMX, other "
                              "types as in reference"
                 : simd.dots_of_bf16 ? "bf16 in pairs by AVX-512 BF16, other types as in reference"
                                     : "this host has no AVX-512 BF16, so all types as in reference");
  }

  /// What an object is made from, and what it will be called by.
  struct Source {
    std::string bitcode, entry;
    CodeKey digest{};         ///< of the bitcode before all passes, if there is a cache
    bool is_halfway = false;  ///< the bitcode is behind the passes that balanced code had, too
  };

  /// From IR to code that can be called: out of the cache, or in the tier that was asked for, or in tiers.
  Result<void> make_code(std::shared_ptr<OwnModule> llvm, const std::string& entry, std::size_t instructions,
                         JitExecutable& executable) {
    if (dump_wanted("ir")) llvm->module->print(llvm::errs(), nullptr);
    std::string broken;
    llvm::raw_string_ostream report(broken);
    if (verification_wanted() && llvm::verifyModule(*llvm->module, &report))
      return Error::unsupported("its code is no valid LLVM: {}", broken);
    Source source{.bitcode = {}, .entry = entry};
    if (caches_ || !tier_) source.bitcode = bitcode_of(*llvm->module);
    if (caches_) source.digest = code_key({source.bitcode});
    executable.statistics.is_quick = tier_ == Tier::quick;
    const Tier wanted = tier_.value_or(Tier::optimised);
    if (auto object = cached(source, wanted, executable)) return link(std::move(object), entry, executable);
    if (!tier_) return make_in_tiers(std::move(llvm), std::move(source), instructions, executable);
    TRY_ASSIGN(auto object, make_now(code_from(std::move(llvm), wanted)));
    return use(std::move(object), source, wanted, executable);
  }

  CodeKey key_of(const Source& source, Tier tier) const {
    const llvm::StringRef digest(reinterpret_cast<const char*>(source.digest.data()), source.digest.size());
    return code_key({digest, target_.cpu, target_.features, std::to_string(target_.vector_bits),
                     std::string(name_of(tier)), LLVM_VERSION_STRING, RADDLE_CODEGEN_HASH});
  }

  /// @returns null if there is none
  std::unique_ptr<llvm::MemoryBuffer> cached(const Source& source, Tier tier, JitExecutable& executable) {
    auto object = caches_ ? cache_.find(key_of(source, tier)) : nullptr;
    if (object) executable.statistics.from_cache = true;
    return object;
  }

  /// Kernels start balanced where the host has such code, and are optimised when they have run for long. A
  /// large kernel, and one whose first code is not made soon, starts quick.
  Result<void> make_in_tiers(std::shared_ptr<OwnModule> llvm, Source source, std::size_t instructions,
                             JitExecutable& executable) {
    if (instructions > kLargeKernel) {
      TRY(start_quick(code_from(std::move(llvm), Tier::quick), source, executable));
      optimise_when_hot(executable, std::move(source), instructions);
      return {};
    }
    const Tier first = baseline::writes_for(target_) ? Tier::balanced : Tier::optimised;
    if (first == Tier::balanced)
      if (auto object = cached(source, first, executable)) {
        TRY(link(std::move(object), source.entry, executable));
        optimise_when_hot(executable, std::move(source), instructions);
        return {};
      }
    const auto halfway = first == Tier::balanced ? std::make_shared<std::string>() : nullptr;
    auto begun = compilations_.start(code_from(std::move(llvm), first, halfway),
                                     Compilation::Urgency::awaited, kBudget);
    auto object = begun->await(kPatience);
    if (object && *object) {
      TRY(use(std::move(*object), source, first, executable));
      if (!halfway) return {};
      source.bitcode = std::move(*halfway), source.is_halfway = true;
      optimise_when_hot(executable, std::move(source), instructions);
      return {};
    }
    TRY(start_quick(code_from(source, Tier::quick), source, executable));
    if (object) improve(executable, std::move(begun), std::move(source), first);
    return {};
  }

  Result<void> start_quick(Compilation::Make make, const Source& source, JitExecutable& executable) {
    executable.statistics.is_quick = true;
    TRY_ASSIGN(auto quick, make_now(std::move(make)));
    return link(std::move(quick), source.entry, executable);
  }

  void optimise_when_hot(JitExecutable& executable, Source source, std::size_t instructions) {
    executable.when_hot(static_cast<double>(instructions) * kSecondsPerInstruction,
                        [this, &executable, source = std::move(source)] {
                          improve(executable,
                                  compilations_.start(code_from(source, Tier::optimised),
                                                      Compilation::Urgency::background, kBudget),
                                  source, Tier::optimised);
                        });
  }

  /// Puts better code in the place of what a kernel started with when it is made. A failure leaves that in
  /// place, which is right as well.
  void improve(JitExecutable& executable, std::shared_ptr<Compilation> compilation, Source source,
               Tier tier) {
    executable.improvement = compilation;
    compilation->then([this, source = std::move(source), tier, &executable](Compilation::Outcome object) {
      Result<void> used =
          object ? use(std::move(*object), source, tier, executable) : Result<void>(object.error());
      if (!used)
        fmt::print(stderr, "raddle: warning: the code so far keeps running: {}\n", used.error().message);
    });
  }

  /// A compilation of what another one has begun on before, or may.
  Compilation::Make code_from(const Source& source, Tier tier) const {
    return [target = target_, bitcode = source.bitcode, halfway = Halfway{.is_from = source.is_halfway},
            tier](Effort& effort) {
      llvm::LLVMContext context;
      return generate_object(*module_of(bitcode, context), target, tier, effort, halfway);
    };
  }

  /// A compilation that takes the module with it.
  /// @param halfway  if not null: gets the module on its way (Halfway::to)
  Compilation::Make code_from(std::shared_ptr<OwnModule> own, Tier tier,
                              std::shared_ptr<std::string> halfway = nullptr) const {
    return [target = target_, own = std::move(own), tier, halfway = std::move(halfway)](Effort& effort) {
      return generate_object(*own->module, target, tier, effort, {.to = halfway.get()});
    };
  }

  /// As long as it takes.
  Compilation::Outcome make_now(Compilation::Make make) {
    constexpr double kAnyTime = std::numeric_limits<double>::infinity();
    auto made =
        compilations_.start(std::move(make), Compilation::Urgency::awaited, kAnyTime)->await(kAnyTime);
    if (made && *made == nullptr) return Error::unsupported("the process ends");
    return made;
  }

  Result<void> use(std::unique_ptr<llvm::MemoryBuffer> object, const Source& source, Tier tier,
                   JitExecutable& executable) {
    if (caches_) cache_.store(key_of(source, tier), object->getBuffer());
    return link(std::move(object), source.entry, executable);
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

  /// The arithmetic of hardware is the interpreter's.
  static Result<void> check_sums(const ptx::Module& module, ptx::FunctionId kernel) {
    for (const ptx::FunctionId id : ptx::call_closure(module, kernel))
      for (const ptx::Instruction& instruction : module.functions[id].instructions)
        if (instruction.opcode->row->text->numerics == isa::Numerics::sums)
          return Error::unsupported("it multiplies matrices, and their arithmetic shall be Hopper's");
    return {};
  }

  /// Loads the object and makes it the executable's entry point; code it had before stays until the
  /// executable goes. Code that needs more stack than blocks have been given by then is not used.
  Result<void> link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry,
                    JitExecutable& executable) {
    const std::uint64_t stack =
        stack_of_all_functions(object->getMemBufferRef()) + executable.call_stack + kServiceStack;
    const bool replaces = executable.stack_bytes != 0;
    if (replaces && stack > executable.stack_bytes) return {};
    if (!replaces) executable.stack_bytes = stack + kStackOfLater;
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
    if (replaces) replaced.fetch_add(1);
    return {};
  }

  HostTarget target_;
  std::unique_ptr<llvm::TargetMachine> machine_;  ///< for questions only
  std::optional<Tier> tier_;
  const bool caches_;
  exec::AccessListener* const listener_;
  const Together together_;
  const OneByOne one_by_one_;
  CodeCache cache_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::atomic<std::uint64_t> next_id_{0};
  Compilations compilations_;  ///< last: they use all of the above
};

}  // namespace

std::string_view name_of(Tier tier) {
  return tier == Tier::quick ? "quick" : tier == Tier::balanced ? "balanced" : "optimised";
}

std::optional<Tier> tier_named(std::string_view name) {
  for (const Tier tier : {Tier::quick, Tier::balanced, Tier::optimised})
    if (name == name_of(tier)) return tier;
  return {};
}

std::uint64_t replacements() { return replaced.load(); }

std::unique_ptr<exec::Engine> make_engine(const EngineOptions& options) {
  return std::make_unique<JitEngine>(options);
}

}  // namespace raddle::jit
