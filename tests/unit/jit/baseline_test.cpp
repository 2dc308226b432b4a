// The quick tier's own code generator against LLVM's: the same IR, the same bytes.
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <cstring>
#include <string>

#include "jit/baseline/generator.h"
#include "jit/codegen.h"

namespace raddle::jit {
namespace {

/// `f(ptr, ptr)` reads from the first and writes to the second.
using Function = void(const void*, void*);
using Bytes = std::array<std::uint8_t, 1024>;

struct Made {
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string unknown;
};

class Baseline : public testing::Test {
 protected:
  void SetUp() override {
    if (!target_.simd.mask_registers) GTEST_SKIP() << "the host has no AVX-512, which the generator wants";
  }

  std::unique_ptr<llvm::Module> parse(const std::string& text) {
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context_);
    EXPECT_TRUE(module) << error.getMessage().str() << "\n" << text;
    if (!module) return nullptr;
    const auto machine = make_target_machine(target_, Tier::quick);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    set_target_attributes(*module, target_);
    return module;
  }

  Made make(const std::string& text) {
    const auto module = parse(text);
    const auto machine = make_target_machine(target_, Tier::quick);
    Made made;
    if (module) made.object = baseline::generate(*module, target_, *machine, made.unknown);
    return made;
  }

  std::unique_ptr<llvm::MemoryBuffer> make_by_llvm(const std::string& text) {
    const auto module = parse(text);
    Effort effort(1e9);
    auto made = generate_object(*module, target_, Tier::optimised, effort);
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
    Made made = make(text);
    ASSERT_TRUE(made.object) << made.unknown << "\n" << text;
    EXPECT_EQ(run(std::move(made.object)), run(make_by_llvm(text))) << text;
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

  const HostTarget target_ = host_target(SimdLevel::host);
  llvm::LLVMContext context_;
};

TEST_F(Baseline, IntegersLaneByLane) {
  for (const char* type : {"<16 x i32>", "<16 x i64>", "<16 x i16>", "<16 x i8>", "<8 x i32>", "<4 x i32>",
                           "<31 x i32>", "<32 x i32>", "i32", "i64"})
    for (const char* operation : {"add", "sub", "mul", "and", "or", "xor"})
      expect_same(type, type, std::string(operation) + " " + type + " %a, %b");
  for (const char* type : {"<16 x i32>", "<16 x i64>", "<16 x i8>", "i16", "i64"})
    for (const char* operation : {"udiv", "urem"}) {
      SCOPED_TRACE(type);
      expect_same(
          type, type,
          std::string(operation) + " " + type + " %a, " +
              (type[0] == '<'
                   ? "splat (i" + std::string(std::strchr(type, 'i') + 1, std::strchr(type, '>')) + " 7)"
                   : "7"));
    }
}

TEST_F(Baseline, Shifts) {
  for (const char* operation : {"shl", "lshr", "ashr"}) {
    const std::string o = operation;
    expect_same("<16 x i32>", "<16 x i32>", o + " <16 x i32> %a, splat (i32 5)");
    expect_same("<16 x i64>", "<16 x i64>", o + " <16 x i64> %a, splat (i64 33)");
    expect_same("<16 x i16>", "<16 x i16>", o + " <16 x i16> %a, splat (i16 3)");
    expect_same("<16 x i8>", "<16 x i8>", o + " <16 x i8> %a, splat (i8 3)");
    expect_same("i32", "i32", o + " i32 %a, 9");
    expect_same("i16", "i16", o + " i16 %a, 9");
  }
}

TEST_F(Baseline, ComparisonsAndChoices) {
  for (const char* predicate : {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"})
    for (const char* type : {"<16 x i32>", "<16 x i64>", "<16 x i8>", "<8 x i32>", "i8", "i32", "i64"}) {
      const std::string result = type[0] == '<' ? "<" + std::to_string(std::atoi(type + 1)) + " x i1>" : "i1";
      expect_same(type, result, std::string("icmp ") + predicate + " " + type + " %a, %b");
    }
  for (const char* predicate :
       {"oeq", "one", "olt", "ole", "ogt", "oge", "ord", "uno", "ueq", "une", "ult", "ule", "ugt", "uge"})
    for (const char* type : {"<16 x float>", "<16 x double>", "float", "double"})
      expect_same(type, type[0] == '<' ? "<16 x i1>" : "i1",
                  std::string("fcmp ") + predicate + " " + type + " %a, %b");
}

TEST_F(Baseline, FloatsLaneByLane) {
  for (const char* type : {"<16 x float>", "<16 x double>", "float", "double"})
    for (const char* operation : {"fadd", "fsub", "fmul", "fdiv"})
      expect_same(type, type, std::string(operation) + " " + type + " %a, %b");
  expect_same("<16 x float>", "<16 x float>", "fneg <16 x float> %a");
  expect_same("<16 x float>", "<16 x float>",
              "call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %c)");
  expect_same("<16 x double>", "<16 x double>",
              "call <16 x double> @llvm.fma.v16f64(<16 x double> %a, <16 x double> %b, <16 x double> %c)");
  for (const char* function : {"floor", "fabs"})
    expect_same("<16 x float>", "<16 x float>",
                std::string("call <16 x float> @llvm.") + function + ".v16f32(<16 x float> %a)");
  expect_same("<16 x float>", "<16 x float>",
              "call <16 x float> @llvm.copysign.v16f32(<16 x float> %a, <16 x float> %b)");
}

TEST_F(Baseline, Casts) {
  for (const char* way : {"zext", "sext"}) {
    const std::string w = way;
    expect_same("<16 x i32>", "<16 x i64>", w + " <16 x i32> %a to <16 x i64>");
    expect_same("<16 x i8>", "<16 x i64>", w + " <16 x i8> %a to <16 x i64>");
    expect_same("<16 x i16>", "<16 x i32>", w + " <16 x i16> %a to <16 x i32>");
    expect_same("<16 x i1>", "<16 x i32>", w + " <16 x i1> %a to <16 x i32>");
    expect_same("<16 x i1>", "<16 x i64>", w + " <16 x i1> %a to <16 x i64>");
    expect_same("<16 x i1>", "<16 x i8>", w + " <16 x i1> %a to <16 x i8>");
    expect_same("i16", "i64", w + " i16 %a to i64");
    expect_same("i32", "i64", w + " i32 %a to i64");
  }
  expect_same("<16 x i64>", "<16 x i32>", "trunc <16 x i64> %a to <16 x i32>");
  expect_same("<16 x i64>", "<16 x i8>", "trunc <16 x i64> %a to <16 x i8>");
  expect_same("<32 x i32>", "<32 x i8>", "trunc <32 x i32> %a to <32 x i8>");
  expect_same("<16 x i64>", "<16 x i1>", "trunc <16 x i64> %a to <16 x i1>");
  expect_same("<16 x float>", "<16 x double>", "fpext <16 x float> %a to <16 x double>");
  expect_same("<16 x double>", "<16 x float>", "fptrunc <16 x double> %a to <16 x float>");
  expect_same("<32 x float>", "<32 x half>", "fptrunc <32 x float> %a to <32 x half>");
  expect_same("<16 x i32>", "<16 x float>", "uitofp <16 x i32> %a to <16 x float>");
  expect_same("<16 x i64>", "<16 x float>", "sitofp <16 x i64> %a to <16 x float>");
  expect_same("<16 x i8>", "<16 x double>", "sitofp <16 x i8> %a to <16 x double>");
  expect_same("<16 x i1>", "i16", "bitcast <16 x i1> %a to i16");
}

TEST_F(Baseline, LanesMove) {
  const std::string two = " <16 x i32> %a, <16 x i32> %b, ";
  expect_same("<16 x i32>", "<16 x i32>",
              "shufflevector" + two +
                  "<16 x i32> <i32 0, i32 16, i32 1, i32 17, i32 5, i32 4, i32 3, i32 31, i32 8, i32 8, i32 "
                  "9, i32 30, i32 2, i32 3, i32 21, i32 15>");
  expect_same(
      "<16 x i32>", "<8 x i32>",
      "shufflevector" + two + "<8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>");
  expect_same("<16 x i32>", "<32 x i32>",
              "shufflevector" + two +
                  "<32 x i32> <i32 31, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, "
                  "i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, "
                  "i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30>");
  expect_same("<16 x i1>", "<16 x i1>",
              "shufflevector <16 x i1> %a, <16 x i1> %b, <16 x i32> <i32 0, i32 16, i32 1, i32 17, i32 5, "
              "i32 4, i32 3, i32 31, i32 8, i32 8, i32 9, i32 30, i32 2, i32 3, i32 21, i32 15>");
  expect_same("<16 x i1>", "<8 x i1>",
              "shufflevector <16 x i1> %a, <16 x i1> %b, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, "
              "i32 13, i32 14, i32 15>");
  expect_same("<16 x i64>", "<16 x i64>", "insertelement <16 x i64> %a, i64 77, i32 11");
  expect_same("<16 x i32>", "i32", "extractelement <16 x i32> %a, i32 9");
  expect_same("<16 x i64>", "i64", "extractelement <16 x i64> %a, i32 12");
  expect_same("<32 x i32>", "i32", "call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> %a)");
  expect_same("<32 x i32>", "i32", "call i32 @llvm.vector.reduce.smin.v32i32(<32 x i32> %a)");
}

TEST_F(Baseline, Intrinsics) {
  const std::string two = ".v16i32(<16 x i32> %a, <16 x i32> %b)", v = "<16 x i32>";
  for (const char* function : {"sadd.sat", "ssub.sat", "uadd.sat", "usub.sat", "smax"})
    expect_same(v, v, "call " + v + " @llvm." + function + two);
  expect_same(v, v, "call <16 x i32> @llvm.fshl.v16i32(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c)");
  expect_same("<16 x i64>", "<16 x i64>",
              "call <16 x i64> @llvm.fshr.v16i64(<16 x i64> %a, <16 x i64> %b, <16 x i64> %c)");
  expect_same("<16 x i64>", "<16 x i64>", "call <16 x i64> @llvm.umin.v16i64(<16 x i64> %a, <16 x i64> %b)");
  for (const char* function : {"cttz", "ctlz"})
    expect_same(v, v, "call " + v + " @llvm." + function + ".v16i32(" + v + " %a, i1 false)");
  expect_same(v, v, "call <16 x i32> @llvm.bitreverse.v16i32(<16 x i32> %a)");
  expect_same("i32", "i32", "call i32 @llvm.usub.sat.i32(i32 %a, i32 %b)");
  expect_same("i32", "i32", "call i32 @llvm.smin.i32(i32 %a, i32 %b)");
  expect_same("i32", "i32", "call i32 @llvm.cttz.i32(i32 %a, i1 false)");
  expect_same("i64", "i64", "call i64 @llvm.ctlz.i64(i64 %a, i1 false)");
  expect_same("i64", "i64", "call i64 @llvm.ctpop.i64(i64 %a)");
}

/// The block that makes a value lies behind one that reads it.
TEST_F(Baseline, BlocksInAnyOrder) {
  expect_same(R"(
define void @f(ptr %in, ptr %out) {
  br label %makes
reads:
  %sum = add i64 %value, %value
  store i64 %sum, ptr %out
  ret void
makes:
  %value = load i64, ptr %in
  br label %reads
})");
}

/// What an operation writes over is not what something behind it reads.
TEST_F(Baseline, OperandsThatAreReadAgain) {
  expect_same(R"(
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
define void @f(ptr %in, ptr %out) {
  %a = load <16 x float>, ptr %in
  %p = getelementptr i8, ptr %in, i64 64
  %c = load <16 x float>, ptr %p
  %r = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %a, <16 x float> %c)
  %s = fadd <16 x float> %r, %c
  store <16 x float> %s, ptr %out
  %x = load i64, ptr %in
  %y = load i64, ptr %p
  %z = sub i64 %x, %y
  %w = xor i64 %z, %x
  %o = getelementptr i8, ptr %out, i64 64
  store i64 %w, ptr %o
  ret void
})");
}

TEST_F(Baseline, PhisChangeAtOnce) {
  expect_same(R"(
define void @f(ptr %in, ptr %out) {
entry:
  %x = load <16 x i32>, ptr %in
  %y = getelementptr i8, ptr %in, i64 64
  %z = load <16 x i32>, ptr %y
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = phi <16 x i32> [ %x, %entry ], [ %b, %loop ]
  %b = phi <16 x i32> [ %z, %entry ], [ %a, %loop ]
  %s = phi i64 [ 1, %entry ], [ %t, %loop ]
  %t = phi i64 [ 2, %entry ], [ %s, %loop ]
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %loop, label %done
done:
  store <16 x i32> %a, ptr %out
  %o = getelementptr i8, ptr %out, i64 64
  store i64 %s, ptr %o
  ret void
})");
}

TEST_F(Baseline, MoreValuesThanRegisters) {
  std::string text = "define void @f(ptr %in, ptr %out) {\n", uses;
  for (int n = 0; n < 60; ++n) {
    const std::string k = std::to_string(n);
    text += "  %p" + k + " = getelementptr i8, ptr %in, i64 " + std::to_string(n * 8) + "\n  %v" + k +
            " = load <16 x i32>, ptr %p" + k + ", align 8\n  %g" + k + " = load i64, ptr %p" + k + "\n  %m" +
            k + " = icmp slt <16 x i32> %v" + k + ", splat (i32 " + std::to_string(n * 1000) + ")\n";
  }
  std::string v = "%v0", g = "%g0";
  for (int n = 1; n < 60; ++n) {
    const std::string k = std::to_string(n);
    text += "  %s" + k + " = select <16 x i1> %m" + k + ", <16 x i32> " + v + ", <16 x i32> %v" + k +
            "\n  %h" + k + " = xor i64 " + g + ", %g" + k + "\n";
    v = "%s" + k, g = "%h" + k;
  }
  expect_same(text + "  store <16 x i32> " + v +
              ", ptr %out\n  %o = getelementptr i8, ptr %out, i64 64\n  store i64 " + g +
              ", ptr %o\n  ret void\n}");
}

TEST_F(Baseline, CallsPassArgumentsOnTheStackToo) {
  expect_same(R"(
define internal i64 @many(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i32 %h, i1 %i, ptr %j) noinline {
  %1 = mul i64 %a, 3
  %2 = add i64 %1, %b
  %3 = sub i64 %2, %c
  %4 = xor i64 %3, %d
  %5 = add i64 %4, %e
  %6 = sub i64 %5, %f
  %7 = xor i64 %6, %g
  %8 = zext i32 %h to i64
  %9 = add i64 %7, %8
  %10 = zext i1 %i to i64
  %11 = add i64 %9, %10
  store i64 %8, ptr %j
  ret i64 %11
}
define void @f(ptr %in, ptr %out) {
  %x = load i64, ptr %in
  %v = load <16 x i32>, ptr %in
  %t = trunc i64 %x to i32
  %o = getelementptr i8, ptr %out, i64 128
  %r = call i64 @many(i64 %x, i64 2, i64 3, i64 4, i64 5, i64 6, i64 %x, i32 %t, i1 true, ptr %o)
  %w = add <16 x i32> %v, %v
  store <16 x i32> %w, ptr %out
  %p = getelementptr i8, ptr %out, i64 64
  store i64 %r, ptr %p
  ret void
})");
}

TEST_F(Baseline, GathersScattersAndMasks) {
  expect_same(R"(
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i32>)
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, i32, <8 x i1>)
declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, i32, <16 x i1>)
define void @f(ptr %in, ptr %out) {
  %b = ptrtoint ptr %in to i64
  %s = insertelement <8 x i64> poison, i64 %b, i64 0
  %bs = shufflevector <8 x i64> %s, <8 x i64> poison, <8 x i32> zeroinitializer
  %at = add <8 x i64> %bs, <i64 12, i64 0, i64 400, i64 4, i64 8, i64 100, i64 64, i64 32>
  %ps = inttoptr <8 x i64> %at to <8 x ptr>
  %m = load <8 x i1>, ptr %in
  %g = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> %ps, i32 4, <8 x i1> %m, <8 x i32> zeroinitializer)
  %o = ptrtoint ptr %out to i64
  %t = insertelement <8 x i64> poison, i64 %o, i64 0
  %os = shufflevector <8 x i64> %t, <8 x i64> poison, <8 x i32> zeroinitializer
  %to = add <8 x i64> %os, <i64 12, i64 0, i64 400, i64 4, i64 8, i64 100, i64 64, i64 32>
  %pt = inttoptr <8 x i64> %to to <8 x ptr>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %g, <8 x ptr> %pt, i32 4, <8 x i1> %m)
  %k = load <16 x i1>, ptr %in
  %v = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %in, i32 4, <16 x i1> %k, <16 x i32> splat (i32 3))
  %no = xor <16 x i1> %k, splat (i1 true)
  %q = getelementptr i8, ptr %out, i64 512
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %v, ptr %q, i32 4, <16 x i1> %no)
  ret void
})");
}

TEST_F(Baseline, Atomics) {
  for (const char* operation :
       {"add", "sub", "and", "or", "xor", "xchg", "max", "min", "umax", "umin", "uinc_wrap", "udec_wrap"})
    for (const char* type : {"i32", "i64"}) {
      const std::string t = type;
      expect_same(
          "define void @f(ptr %in, ptr %out) {\n  %a = load " + t +
          ", ptr %in\n  %p = getelementptr i8, ptr %in, i64 16\n  %b = load " + t + ", ptr %p\n  store " + t +
          " %b, ptr %out\n  %o = atomicrmw " + operation + " ptr %out, " + t +
          " %a seq_cst\n  %q = getelementptr i8, ptr %out, i64 16\n  store " + t +
          " %o, ptr %q\n  %c = cmpxchg ptr %q, " + t + " %b, " + t +
          " 5 seq_cst seq_cst\n  %w = extractvalue { " + t +
          ", i1 } %c, 1\n  %u = getelementptr i8, ptr %out, i64 32\n  store i1 %w, ptr %u\n  ret void\n}");
    }
}

TEST_F(Baseline, NamesWhatItDoesNotKnow) {
  const Made made = make(R"(
define void @f(ptr %in, ptr %out) {
  %a = load i128, ptr %in
  store i128 %a, ptr %out
  ret void
})");
  EXPECT_FALSE(made.object);
  EXPECT_EQ(made.unknown, "f: i128 of load");
}

}  // namespace
}  // namespace raddle::jit
