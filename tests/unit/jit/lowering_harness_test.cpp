// See lowering_harness.h.
#include "lowering_harness.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include "base/assert.h"
#include "jit/emitter.h"

namespace raddle::jit::testing {
namespace {

struct Target {
  std::string cpu, features;
};

Target target_of(Features level) {
  if (level == Features::baseline) return {"x86-64-v2", "+sse4.2"};
  if (level == Features::avx2) return {"haswell", "+avx2,+fma,+f16c"};
  std::string features;
  for (auto& [name, on] : llvm::sys::getHostCPUFeatures())
    if (on) features += (features.empty() ? "+" : ",+") + name.str();
  return {llvm::sys::getHostCPUName().str(), features};
}

void initialise() {
  static bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)done;
}

/// The instruction with one register (or immediate) operand per position of its form.
struct Instruction {
  ptx::Function function;
  ptx::Instruction instruction;
  std::vector<Type> types;
  unsigned destinations = 0;
};

Instruction make_instruction(const std::string& text) {
  auto opcode = isa::resolve(text);
  RADDLE_ASSERT(opcode.ok(), "unknown opcode in a test: " + text);
  Instruction result;
  const isa::Opcode& o = **opcode;
  result.instruction.opcode = &o;
  for (const auto& slot : o.form->operands) {
    for (const auto& spec : o.row->operands) {
      if (spec.name != slot.name) continue;
      ptx::Operand operand;
      operand.kind = ptx::Operand::Kind::reg;
      operand.type = o.operand_type(spec);
      result.types.push_back(operand.type);
      if (spec.is_destination) ++result.destinations;
      result.function.operands.push_back(operand);
    }
  }
  result.instruction.operand_count = static_cast<std::uint8_t>(result.types.size());
  return result;
}

llvm::Value* pointer_to(Builder& ir, llvm::Value* arrays, unsigned index) {
  auto* slot = ir.CreateConstGEP1_32(ir.getPtrTy(), arrays, index);
  return ir.CreateLoad(ir.getPtrTy(), slot);
}

llvm::Type* slots(Builder& ir, unsigned width) {
  llvm::Type* slot = ir.getInt64Ty();
  return width == 0 ? slot : llvm::FixedVectorType::get(slot, width);
}

Val load_operand(Builder& ir, llvm::Value* pointer, Type t, unsigned width) {
  auto* bits = ir.CreateAlignedLoad(slots(ir, width), pointer, llvm::Align(8));
  unsigned size = isa::bit_size(t);
  auto* narrow =
      ir.CreateTrunc(bits, llvm_type(ir.getContext(), size == 1 ? Type::pred : isa::bits_type(size), width));
  return Val{&ir, narrow, size == 1 ? Type::pred : isa::bits_type(size)}.as(t);
}

void store_result(Builder& ir, llvm::Value* pointer, Val value, unsigned width) {
  RADDLE_ASSERT(value.lanes() == width, "a lowering changed the number of lanes");
  Val bits = value.bits() == 1 ? value : value.as(isa::bits_type(value.bits()));
  ir.CreateAlignedStore(ir.CreateZExt(bits.v, slots(ir, width)), pointer, llvm::Align(8));
}

/// void f(ptr* sources, ptr* destinations): the sources of the call, then the carry; destinations, then the
/// carry.
void build(llvm::Module& module, const Call& call, const Instruction& instruction, bool& writes_carry) {
  auto& context = module.getContext();
  Builder ir(context);
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getPtrTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
  Target target = target_of(call.features);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("min-legal-vector-width", "512");
  if (call.flushed_by_processor) function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  ir.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));

  Emitter emitter(ir, instruction.function, instruction.instruction);
  unsigned operands = static_cast<unsigned>(instruction.types.size());
  emitter.inputs.resize(operands);
  emitter.outputs.resize(operands);
  emitter.input_elements.resize(operands);
  emitter.output_elements.resize(operands);
  unsigned source = 0;
  for (unsigned k = instruction.destinations; k < operands; ++k, ++source) {
    if (source >= call.sources.size()) break;
    Type t = instruction.types[k];
    bool constant = std::find(call.constants.begin(), call.constants.end(), source) != call.constants.end();
    Val value = load_operand(ir, pointer_to(ir, function->getArg(0), source), t, call.width);
    emitter.inputs[k] = constant ? value.constant(t, call.sources[source][0]) : value;
  }
  emitter.carry = Val{&ir, ir.getFalse(), Type::pred};
  if (source < call.sources.size())
    emitter.carry = load_operand(ir, pointer_to(ir, function->getArg(0), source), Type::pred, call.width);

  LowerFunction lowering = lowering_of(instruction.instruction.op());
  RADDLE_ASSERT(lowering != nullptr, "no lowering for " + call.opcode);
  lowering(emitter);
  for (unsigned k = 0; k < instruction.destinations; ++k)
    store_result(ir, pointer_to(ir, function->getArg(1), k), emitter.outputs[k], call.width);
  writes_carry = emitter.carry_written;
  if (writes_carry)
    store_result(ir, pointer_to(ir, function->getArg(1), instruction.destinations), emitter.carry,
                 call.width);
  ir.CreateRetVoid();
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  RADDLE_ASSERT(!llvm::verifyFunction(*function, &stream), call.opcode + ": " + problems);
}

void optimise(llvm::Module& module, llvm::TargetMachine* machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::orc::JITTargetMachineBuilder machine_builder(Features level) {
  Target target = target_of(level);
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(target.cpu);
  llvm::SubtargetFeatures features(target.features);
  builder.getFeatures() = features;
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder;
}

}  // namespace

Results run(const Call& call) {
  initialise();
  Instruction instruction = make_instruction(call.opcode);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("lowering", *context);
  bool writes_carry = false;
  auto builder = machine_builder(call.features);
  auto machine = llvm::cantFail(builder.createTargetMachine());
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple().str());
  declare_features(*module, *machine->getMCSubtargetInfo());
  build(*module, call, instruction, writes_carry);
  optimise(*module, machine.get());
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
  llvm::cantFail(jit->addIRModule({std::move(module), std::move(context)}));
  auto f = llvm::cantFail(jit->lookup("f")).toPtr<void (*)(const void**, void**)>();

  std::size_t count = call.sources.empty() ? 1 : call.sources[0].size(), step = std::max(call.width, 1u);
  std::size_t padded = (count + step - 1) / step * step;
  std::vector<Lanes> sources = call.sources;
  for (auto& lanes : sources) lanes.resize(padded, lanes[0]);
  Results results;
  results.destinations.assign(instruction.destinations, Lanes(padded));
  if (writes_carry) results.carry.resize(padded);
  for (std::size_t first = 0; first < padded; first += step) {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (auto& lanes : sources) in.push_back(lanes.data() + first);
    for (auto& lanes : results.destinations) out.push_back(lanes.data() + first);
    out.push_back(writes_carry ? results.carry.data() + first : nullptr);
    f(in.data(), out.data());
  }
  for (auto& lanes : results.destinations) lanes.resize(count);
  if (writes_carry) results.carry.resize(count);
  return results;
}

std::string assembly(const Call& call) {
  initialise();
  llvm::LLVMContext context;
  llvm::Module module("lowering", context);
  auto machine = llvm::cantFail(machine_builder(call.features).createTargetMachine());
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  declare_features(module, *machine->getMCSubtargetInfo());
  bool writes_carry = false;
  build(module, call, make_instruction(call.opcode), writes_carry);
  optimise(module, machine.get());
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  bool failed = machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  RADDLE_ASSERT(!failed, "no assembly printer");
  passes.run(module);
  return {text.begin(), text.end()};
}

std::vector<Variant> variants() {
  std::vector<Variant> result;
  for (auto [features, name] :
       {std::pair{Features::baseline, "baseline"}, {Features::avx2, "avx2"}, {Features::avx512, "avx512"}})
    for (unsigned width : {0u, 4u, 8u, 16u, 32u}) {
      if (features == Features::baseline && width > 4) continue;
      if (features == Features::avx2 && width > 8) continue;
      result.push_back({width, features, std::string(name) + " x" + std::to_string(width)});
    }
  return result;
}

}  // namespace raddle::jit::testing
