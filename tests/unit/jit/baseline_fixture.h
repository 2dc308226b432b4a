// What the generator's tests share: the same IR by it and by LLVM's, for AVX-512 and AVX2, and the same
// bytes.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "jit/baseline/generator.h"
#include "jit/codegen.h"

namespace raddle::jit {

class Baseline : public testing::Test {
 protected:
  /// `f(ptr, ptr)` reads from the first and writes to the second.
  using Function = void(const void*, void*);
  using Bytes = std::array<std::uint8_t, 1024>;

  struct Made {
    std::unique_ptr<llvm::MemoryBuffer> object;
    std::string unknown;
  };

  void SetUp() override {
    if (targets_.empty()) GTEST_SKIP() << "the host has neither AVX-512 nor AVX2";
  }

  static std::vector<HostTarget> known_targets() {
    std::vector<HostTarget> all;
    if (const HostTarget widest = host_target(SimdLevel::host); widest.simd.mask_registers)
      all.push_back(widest);
    if (const HostTarget narrow = host_target(SimdLevel::avx2); narrow.vector_bits == 256)
      all.push_back(narrow);
    return all;
  }

  std::unique_ptr<llvm::Module> parse(const std::string& text, const HostTarget& target) {
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context_);
    EXPECT_TRUE(module) << error.getMessage().str() << "\n" << text;
    if (!module) return nullptr;
    const auto machine = make_target_machine(target, Tier::quick);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    set_target_attributes(*module, target);
    return module;
  }

  Made make(const std::string& text, const HostTarget& target) {
    const auto module = parse(text, target);
    const auto machine = make_target_machine(target, Tier::quick);
    Made made;
    if (module) made.object = baseline::generate(*module, target, *machine, made.unknown);
    return made;
  }

  std::unique_ptr<llvm::MemoryBuffer> make_by_llvm(const std::string& text, const HostTarget& target) {
    const auto module = parse(text, target);
    Effort effort(1e9);
    auto made = generate_object(*module, target, Tier::optimised, effort);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  static Bytes run(std::unique_ptr<llvm::MemoryBuffer> object) {
    auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    jit->getMainJITDylib().addGenerator(
        llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0')));
    llvm::cantFail(jit->addObjectFile(std::move(object)));
    Bytes in, out{};
    std::uint32_t state = 12345;
    for (auto& byte : in) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    alignas(64) static Bytes from, to;
    from = in, to = out;
    llvm::cantFail(jit->lookup("f")).toPtr<Function*>()(from.data(), to.data());
    return to;
  }

  void expect_same(const std::string& text) {
    for (const HostTarget& target : targets_) {
      SCOPED_TRACE(target.cpu);
      Made made = make(text, target);
      ASSERT_TRUE(made.object) << made.unknown << "\n" << text;
      if (!target.simd.mask_registers) expect_no_avx512(*made.object, target);
      EXPECT_EQ(run(std::move(made.object)), run(make_by_llvm(text, target))) << text;
    }
  }

  /// LLVM's names of the instructions of all functions, and the first byte of each.
  static std::vector<std::pair<std::string, std::uint8_t>> instructions_in(const llvm::MemoryBuffer& object,
                                                                           const HostTarget& target) {
    std::vector<std::pair<std::string, std::uint8_t>> all;
    const auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef()));
    const auto machine = make_target_machine(target, Tier::quick);
    llvm::MCContext context(machine->getTargetTriple(), machine->getMCAsmInfo(), machine->getMCRegisterInfo(),
                            machine->getMCSubtargetInfo());
    const std::unique_ptr<llvm::MCDisassembler> disassembler(
        machine->getTarget().createMCDisassembler(*machine->getMCSubtargetInfo(), context));
    for (const llvm::object::ELFSymbolRef symbol : file->symbols()) {
      if (symbol.getELFType() != llvm::ELF::STT_FUNC || symbol.getSize() == 0) continue;
      const auto section = *llvm::cantFail(symbol.getSection());
      const auto code = llvm::arrayRefFromStringRef(llvm::cantFail(section.getContents()))
                            .slice(llvm::cantFail(symbol.getAddress()), symbol.getSize());
      for (std::uint64_t at = 0; at < code.size();) {
        llvm::MCInst instruction;
        std::uint64_t size = 0;
        if (!disassembler->getInstruction(instruction, size, code.drop_front(at), at, llvm::nulls())) {
          ADD_FAILURE() << "no instruction at " << at;
          return all;
        }
        all.emplace_back(machine->getMCInstrInfo()->getName(instruction.getOpcode()).str(), code[at]);
        at += size;
      }
    }
    return all;
  }

  /// Nothing that only AVX-512 has: prefixes of its own, and its mask registers.
  static void expect_no_avx512(const llvm::MemoryBuffer& object, const HostTarget& target) {
    for (const auto& [name, byte] : instructions_in(object, target)) {
      EXPECT_NE(byte, 0x62) << name;
      EXPECT_FALSE(name.starts_with("K")) << name;
    }
  }

  /// The same as LLVM's code; on hosts with AVX-512 it has the one instruction, and no other of these.
  void expect_instruction(const std::string& type, const std::string& result, const std::string& text,
                          const std::string& wanted, const std::string& unwanted) {
    const std::string function = "define void @f(ptr %in, ptr %out) {\n  %a = load " + type + ", ptr %in\n" +
                                 text + "\n  store " + result + " %r, ptr %out\n  ret void\n}\n";
    expect_same(function);
    for (const HostTarget& target : targets_) {
      if (!target.simd.mask_registers) continue;
      bool has_wanted = false;
      const Made made = make(function, target);
      ASSERT_TRUE(made.object);
      for (const auto& [name, _] : instructions_in(*made.object, target)) {
        has_wanted |= name.starts_with(wanted);
        EXPECT_FALSE(name.starts_with(unwanted)) << name;
      }
      EXPECT_TRUE(has_wanted) << wanted;
    }
  }

  /// One instruction on two or three values of a type, whose result has another.
  void expect_same(const std::string& type, const std::string& result, const std::string& instruction) {
    expect_same("define void @f(ptr %in, ptr %out) {\n  %a = load " + type +
                ", ptr %in\n  %pb = getelementptr i8, ptr %in, i64 256\n  %b = load " + type +
                ", ptr %pb\n  %pc = getelementptr i8, ptr %in, i64 512\n  %c = load " + type +
                ", ptr %pc\n  %r = " + instruction + "\n  store " + result +
                " %r, ptr %out\n  ret void\n}\n" + kDeclarations);
  }

  static constexpr const char* kDeclarations = R"(
declare <16 x i32> @llvm.sadd.sat.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.ssub.sat.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.uadd.sat.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.usub.sat.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.fshl.v16i32(<16 x i32>, <16 x i32>, <16 x i32>)
declare <16 x i64> @llvm.fshr.v16i64(<16 x i64>, <16 x i64>, <16 x i64>)
declare <16 x i32> @llvm.cttz.v16i32(<16 x i32>, i1)
declare <16 x i32> @llvm.ctlz.v16i32(<16 x i32>, i1)
declare <16 x i32> @llvm.bitreverse.v16i32(<16 x i32>)
declare <16 x i32> @llvm.smax.v16i32(<16 x i32>, <16 x i32>)
declare <8 x i64> @llvm.umin.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.umax.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.smin.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.smax.v8i64(<8 x i64>, <8 x i64>)
declare <16 x i64> @llvm.umin.v16i64(<16 x i64>, <16 x i64>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x double> @llvm.fma.v16f64(<16 x double>, <16 x double>, <16 x double>)
declare <16 x float> @llvm.floor.v16f32(<16 x float>)
declare <16 x float> @llvm.copysign.v16f32(<16 x float>, <16 x float>)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare i32 @llvm.vector.reduce.add.v32i32(<32 x i32>)
declare i32 @llvm.vector.reduce.smin.v32i32(<32 x i32>)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.ctpop.i64(i64)
)";

  const std::vector<HostTarget> targets_ = known_targets();
  llvm::LLVMContext context_;
};

}  // namespace raddle::jit
