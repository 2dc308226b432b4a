// The quick tier's own code generator against LLVM's, for AVX-512 and AVX2: the same IR, the same bytes.
// Long: it has a case for each kind of instruction.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "baseline_fixture.h"
#include "dump.h"
#include "unit/source_directory.h"

namespace raddle::jit {
namespace {

TEST_F(Baseline, IntegersLaneByLane) {
  for (const char* type : {"<16 x i32>", "<16 x i64>", "<16 x i16>", "<16 x i8>", "<8 x i32>", "<8 x i64>",
                           "<4 x i64>", "<8 x i16>", "<8 x i8>", "<4 x i32>", "<2 x i64>", "<31 x i32>",
                           "<13 x i32>", "<7 x i16>", "<32 x i32>", "i32", "i64"})
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
    expect_same("<8 x i64>", "<8 x i64>", o + " <8 x i64> %a, splat (i64 7)");
    expect_same("<8 x i64>", "<8 x i64>", o + " <8 x i64> %a, splat (i64 0)");
    expect_same("<8 x i64>", "<8 x i64>",
                o + " <8 x i64> %a, <i64 0, i64 1, i64 63, i64 31, i64 32, i64 33, i64 7, i64 2>");
    expect_same("<8 x i32>", "<8 x i32>",
                o + " <8 x i32> %a, <i32 0, i32 1, i32 31, i32 30, i32 16, i32 15, i32 7, i32 2>");
    expect_same("<8 x i16>", "<8 x i16>",
                o + " <8 x i16> %a, <i16 0, i16 1, i16 15, i16 14, i16 8, i16 7, i16 3, i16 2>");
    expect_same("i32", "i32", o + " i32 %a, 9");
    expect_same("i16", "i16", o + " i16 %a, 9");
  }
}

TEST_F(Baseline, ComparisonsAndChoices) {
  for (const char* predicate : {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"})
    for (const char* type : {"<16 x i32>", "<16 x i64>", "<16 x i8>", "<16 x i16>", "<32 x i8>", "<8 x i32>",
                             "<8 x i64>", "<8 x i16>", "<4 x i64>", "i8", "i32", "i64"}) {
      const std::string result = type[0] == '<' ? "<" + std::to_string(std::atoi(type + 1)) + " x i1>" : "i1";
      expect_same(type, result, std::string("icmp ") + predicate + " " + type + " %a, %b");
    }
  for (const char* type : {"<16 x i32>", "<8 x i32>", "<8 x i64>", "<8 x i16>", "<16 x i8>", "<32 x i8>",
                           "<8 x float>", "<8 x double>"}) {
    const std::string t = type, mask = "<" + std::to_string(std::atoi(type + 1)) + " x i1>";
    const std::string head = "define void @f(ptr %in, ptr %out) {\n  %a = load " + t +
                             ", ptr %in\n  %pb = getelementptr i8, ptr %in, i64 256\n  %b = load " + t +
                             ", ptr %pb\n  %m = load " + mask + ", ptr %in\n";
    const std::string tail = ", " + t + " %a, " + t + " %b\n  store " + t + " %r, ptr %out\n  ret void\n}";
    expect_same(head + "  %r = select " + mask + " %m" + tail);
    expect_same(head + "  %x = load i64, ptr %pb\n  %c = icmp slt i64 %x, 0\n  %r = select i1 %c" + tail);
  }
  for (const char* predicate : {"slt", "sge", "eq"})
    for (const char* type : {"<8 x i32>", "<8 x i64>"})
      expect_same(type, "<8 x i1>", std::string("icmp ") + predicate + " " + type + " %a, zeroinitializer");
  for (const char* operation : {"and", "or", "xor"})
    for (const char* type : {"<8 x i1>", "<16 x i1>", "<32 x i1>", "<64 x i1>"})
      expect_same(type, type, std::string(operation) + " " + type + " %a, %b");
  expect_same("<8 x i1>", "<8 x i1>", "icmp ne <8 x i1> %a, %b");
  expect_same("<8 x i1>", "<8 x i1>", "select <8 x i1> %a, <8 x i1> %b, <8 x i1> %c");
  expect_same("<8 x i1>", "<8 x i1>", "insertelement <8 x i1> %a, i1 true, i32 5");
  expect_same("<8 x i1>", "i1", "extractelement <8 x i1> %a, i32 5");
  for (const char* predicate :
       {"oeq", "one", "olt", "ole", "ogt", "oge", "ord", "uno", "ueq", "une", "ult", "ule", "ugt", "uge"})
    for (const char* type :
         {"<16 x float>", "<16 x double>", "<8 x float>", "<8 x double>", "float", "double"})
      expect_same(type, type[0] == '<' ? "<" + std::to_string(std::atoi(type + 1)) + " x i1>" : "i1",
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
    for (const char* lanes : {"8", "16", "32", "4"})
      for (const char* to : {"8", "16", "32", "64"}) {
        const std::string n = lanes, type = "<" + n + " x i" + to + ">";
        if (std::atoi(lanes) * std::atoi(to) < 128 || std::atoi(lanes) * std::atoi(to) > 1024) continue;
        expect_same("<" + n + " x i1>", type, w + " <" + n + " x i1> %a to " + type);
      }
    expect_same("<8 x i8>", "<8 x i16>", w + " <8 x i8> %a to <8 x i16>");
    expect_same("<8 x i8>", "<8 x i64>", w + " <8 x i8> %a to <8 x i64>");
    expect_same("<8 x i32>", "<8 x i64>", w + " <8 x i32> %a to <8 x i64>");
    expect_same("i16", "i64", w + " i16 %a to i64");
    expect_same("i32", "i64", w + " i32 %a to i64");
  }
  expect_same("<16 x i64>", "<16 x i32>", "trunc <16 x i64> %a to <16 x i32>");
  expect_same("<16 x i64>", "<16 x i8>", "trunc <16 x i64> %a to <16 x i8>");
  expect_same("<32 x i32>", "<32 x i8>", "trunc <32 x i32> %a to <32 x i8>");
  for (const char* lanes : {"4", "8", "16", "32"})
    for (const int from : {64, 32, 16})
      for (int to = from / 2; to >= 8; to /= 2) {
        const std::string n = lanes, one = "<" + n + " x i" + std::to_string(from) + ">",
                          other = "<" + n + " x i" + std::to_string(to) + ">";
        if (std::atoi(lanes) * from < 128) continue;
        if (std::atoi(lanes) * from > 1024) continue;
        expect_same(one, other, "trunc " + one + " %a to " + other);
      }
  for (const char* type : {"<16 x i64>", "<16 x i32>", "<8 x i16>", "<16 x i8>", "<8 x i64>"}) {
    const std::string mask = "<" + std::to_string(std::atoi(type + 1)) + " x i1>";
    expect_same(type, mask, "trunc " + std::string(type) + " %a to " + mask);
  }
  expect_same("<16 x float>", "<16 x double>", "fpext <16 x float> %a to <16 x double>");
  expect_same("<16 x double>", "<16 x float>", "fptrunc <16 x double> %a to <16 x float>");
  expect_same("<32 x float>", "<32 x half>", "fptrunc <32 x float> %a to <32 x half>");
  expect_same("<16 x i32>", "<16 x float>", "uitofp <16 x i32> %a to <16 x float>");
  expect_same("<16 x i64>", "<16 x float>", "sitofp <16 x i64> %a to <16 x float>");
  expect_same("<16 x i8>", "<16 x double>", "sitofp <16 x i8> %a to <16 x double>");
  for (const char* way : {"uitofp", "sitofp"})
    for (const char* from : {"i32", "i64"})
      for (const char* to : {"float", "double"}) {
        const std::string one = "<8 x " + std::string(from) + ">", other = "<8 x " + std::string(to) + ">";
        expect_same(one, other, std::string(way) + " " + one + " %a to " + other);
        expect_same(from, to, std::string(way) + " " + from + " %a to " + to);
      }
  for (const char* way : {"fptoui", "fptosi"})  // of what every one of them can hold
    for (const char* to : {"i32", "i64"})
      for (const char* from : {"float", "double"})
        for (const bool is_vector : {false, true}) {
          const std::string one = is_vector ? "<8 x " + std::string(from) + ">" : from,
                            other = is_vector ? "<8 x " + std::string(to) + ">" : to,
                            bytes = is_vector ? "<8 x i8>" : "i8", words = is_vector ? "<8 x i32>" : "i32";
          expect_same("define void @f(ptr %in, ptr %out) {\n  %a = load " + bytes +
                      ", ptr %in\n  %w = zext " + bytes + " %a to " + words + "\n  %x = sitofp " + words +
                      " %w to " + one + "\n  %r = " + way + " " + one + " %x to " + other + "\n  store " +
                      other + " %r, ptr %out\n  ret void\n}");
        }
  expect_same("<16 x i1>", "i16", "bitcast <16 x i1> %a to i16");
}

/// Lanes of a block with few threads in x, as 16-bit quotients, and atomics on single halves.
TEST_F(Baseline, CastsBetweenFloatsAndNarrowOrSingleLanes) {
  for (const char* lanes : {"8", "16"})
    for (const char* to : {"i8", "i16"})
      for (const bool is_signed : {false, true}) {
        const std::string n = lanes, bytes = "<" + n + " x i8>", floats = "<" + n + " x float>",
                          other = "<" + n + " x " + to + ">";
        expect_same("define void @f(ptr %in, ptr %out) {\n  %a = load " + bytes +
                    ", ptr %in\n  %x = " + (is_signed ? "sitofp " : "uitofp ") + bytes + " %a to " + floats +
                    "\n  %r = " + (is_signed ? "fptosi " : "fptoui ") + floats + " %x to " + other +
                    "\n  store " + other + " %r, ptr %out\n  ret void\n}");
      }
  expect_same("<1 x half>", "<1 x float>", "fpext <1 x half> %a to <1 x float>");
  expect_same("<1 x float>", "<1 x half>", "fptrunc <1 x float> %a to <1 x half>");
}

/// What a block's lanes have in common is computed once, by scalars: each operation on each type, or the
/// generator says that it does not know it.
TEST_F(Baseline, ScalarsOfEveryType) {
  const auto expect_same_or_unknown = [&](const std::string& type, const std::string& result,
                                          const std::string& body) {
    const std::string text =
        "define void @f(ptr %in, ptr %out) {\n  %pb = getelementptr i8, ptr %in, i64 256\n  %a = load " +
        type + ", ptr %in\n  %b = load " + type + ", ptr %pb\n" + body + "\n  store " + result +
        " %r, ptr %out\n  ret void\n}\n"
        "declare float @llvm.sqrt.f32(float)\ndeclare float @llvm.fabs.f32(float)\n"
        "declare float @llvm.floor.f32(float)\ndeclare float @llvm.rint.f32(float)\n"
        "declare float @llvm.fma.f32(float, float, float)\ndeclare float @llvm.copysign.f32(float, float)\n";
    for (const HostTarget& target : targets_) {
      Made made = make(text, target);
      if (!made.object) {
        EXPECT_NE(made.unknown, "");
        continue;
      }
      EXPECT_EQ(run(std::move(made.object)), run(make_by_llvm(text, target))) << target.cpu << text;
    }
  };
  const std::vector<std::string> integers = {"i8", "i16", "i32", "i64"}, floats = {"half", "float", "double"};
  for (const std::string& type : integers) {
    for (const char* operation : {"add", "sub", "mul", "and", "or", "xor"})
      expect_same_or_unknown(type, type, std::string("  %r = ") + operation + " " + type + " %a, %b");
    for (const char* operation : {"shl", "lshr", "ashr"})
      expect_same_or_unknown(type, type,
                             "  %by = and " + type + " %b, 7\n  %r = " + operation + " " + type + " %a, %by");
    for (const char* operation : {"udiv", "sdiv", "urem", "srem"})
      expect_same_or_unknown(type, type,
                             "  %by = or " + type + " %b, 3\n  %r = " + operation + " " + type + " %a, %by");
    for (const char* order : {"eq", "ult", "sgt", "uge", "sle"})
      expect_same_or_unknown(type, type,
                             std::string("  %x = icmp ") + order + " " + type +
                                 " %a, %b\n  %r = select i1 %x, " + type + " %a, " + type + " %b");
    for (const std::string& to : integers) {
      if (type == to) continue;
      const bool is_wider = std::stoul(to.substr(1)) > std::stoul(type.substr(1));
      for (const char* cast :
           is_wider ? std::vector<const char*>{"zext", "sext"} : std::vector<const char*>{"trunc"})
        expect_same_or_unknown(type, to, std::string("  %r = ") + cast + " " + type + " %a to " + to);
    }
    for (const std::string& to : floats)
      for (const char* cast : {"sitofp", "uitofp"}) {
        expect_same_or_unknown(type, to, std::string("  %r = ") + cast + " " + type + " %a to " + to);
        const std::string back = std::string(cast) == "sitofp" ? "fptosi " : "fptoui ";
        expect_same_or_unknown(type, type,
                               "  %s = lshr " + type + " %a, 2\n  %x = " + cast + " " + type + " %s to " +
                                   to + "\n  %r = " + back + to + " %x to " + type);
      }
  }
  for (const std::string& type : floats) {
    for (const char* operation : {"fadd", "fsub", "fmul", "fdiv"})
      expect_same_or_unknown(type, type, std::string("  %r = ") + operation + " " + type + " %a, %b");
    expect_same_or_unknown(type, type, "  %r = fneg " + type + " %a");
    for (const char* order : {"oeq", "olt", "ogt", "une", "uge", "ord", "uno"})
      expect_same_or_unknown(type, type,
                             std::string("  %x = fcmp ") + order + " " + type +
                                 " %a, %b\n  %r = select i1 %x, " + type + " %a, " + type + " %b");
  }
  for (const char* cast :
       {"fpext half %a to float", "fpext half %a to double", "fpext float %a to double",
        "fptrunc float %a to half", "fptrunc double %a to half", "fptrunc double %a to float",
        "fpext bfloat %a to float", "fptrunc float %a to bfloat"}) {
    const std::string text = cast;
    const std::size_t from = text.find(' ') + 1, to = text.rfind(' ') + 1;
    expect_same_or_unknown(text.substr(from, text.find(' ', from) - from), text.substr(to), "  %r = " + text);
  }
  for (const char* call :
       {"sqrt.f32(float %a)", "fabs.f32(float %a)", "floor.f32(float %a)", "rint.f32(float %a)",
        "fma.f32(float %a, float %b, float %a)", "copysign.f32(float %a, float %b)"})
    expect_same_or_unknown("float", "float", std::string("  %r = call float @llvm.") + call);
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
  const std::string eight = " <8 x i32> %a, <8 x i32> %b, ";
  for (const char* lanes : {"i32 0, i32 8, i32 1, i32 9, i32 4, i32 12, i32 5, i32 13",
                            "i32 3, i32 2, i32 1, i32 0, i32 7, i32 6, i32 5, i32 4",
                            "i32 7, i32 6, i32 15, i32 14, i32 3, i32 2, i32 1, i32 0",
                            "i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11",
                            "i32 0, i32 9, i32 2, i32 11, i32 4, i32 13, i32 6, i32 15"}) {
    expect_same("<8 x i32>", "<8 x i32>", "shufflevector" + eight + "<8 x i32> <" + lanes + ">");
    for (const char* type : {"<8 x i64>", "<8 x i16>", "<8 x i8>", "<8 x i1>"}) {
      const std::string t = type;
      expect_same(t, t, "shufflevector " + t + " %a, " + t + " %b, <8 x i32> <" + lanes + ">");
    }
  }
  expect_same("<8 x i32>", "<4 x i32>", "shufflevector" + eight + "<4 x i32> <i32 4, i32 5, i32 6, i32 7>");
  expect_same(
      "<4 x i32>", "<8 x i32>",
      "shufflevector <4 x i32> %a, <4 x i32> %b, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, "
      "i32 6, i32 7>");
  expect_same(
      "<8 x i16>", "<16 x i16>",
      "shufflevector <8 x i16> %a, <8 x i16> %b, <16 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, "
      "i32 3, i32 11, i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>");
  for (const char* type : {"i8", "i16", "i32", "i64"}) {
    const std::string t = type, v = "<8 x " + t + ">";
    expect_same(v, v, "insertelement " + v + " %a, " + t + " 77, i32 5");
    expect_same(v, t, "extractelement " + v + " %a, i32 5");
    const std::string at = "define void @f(ptr %in, ptr %out) {\n  %a = load " + v +
                           ", ptr %in\n  %n = load i32, ptr %in\n  %k = and i32 %n, 7\n";
    expect_same(at + "  %r = insertelement " + v + " %a, " + t + " 77, i32 %k\n  store " + v +
                " %r, ptr %out\n  ret void\n}");
    expect_same(at + "  %r = extractelement " + v + " %a, i32 %k\n  store " + t +
                " %r, ptr %out\n  ret void\n}");
    expect_same(at + "  %x = load " + t + ", ptr %in\n  %i = insertelement " + v + " poison, " + t +
                " %x, i64 0\n  %r = shufflevector " + v + " %i, " + v +
                " poison, <8 x i32> zeroinitializer\n  store " + v + " %r, ptr %out\n  ret void\n}");
  }
  expect_same("<16 x i64>", "<16 x i64>", "insertelement <16 x i64> %a, i64 77, i32 11");
  expect_same("<16 x i32>", "i32", "extractelement <16 x i32> %a, i32 9");
  expect_same("<16 x i64>", "i64", "extractelement <16 x i64> %a, i32 12");
  expect_same("<32 x i32>", "i32", "call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> %a)");
  expect_same("<32 x i32>", "i32", "call i32 @llvm.vector.reduce.smin.v32i32(<32 x i32> %a)");
}

TEST_F(Baseline, WhatTheHostDoesInOneInstruction) {
  const std::string w = "<16 x i32>", l = "<16 x i64>", f = "<16 x float>";
  const auto product = [&](const std::string& extension, const std::string& number) {
    return "  %x = " + extension + " " + w + " %a to " + l + "\n  %r = mul " + l + " %x, splat (i64 " +
           number + ")";
  };
  expect_instruction(w, l, product("zext", "3528531795"), "VPMULUDQZ", "VPMULLQ");
  expect_instruction(w, l, product("sext", "-3"), "VPMULDQZ", "VPMULLQ");
  expect_instruction(l, l, "  %x = lshr " + l + " %a, splat (i64 32)\n  %r = mul " + l + " %x, %x",
                     "VPMULUDQZ", "VPMULLQ");
  expect_instruction(l, l, "  %x = ashr " + l + " %a, splat (i64 40)\n  %r = mul " + l + " %x, %x",
                     "VPMULDQZ", "VPMULLQ");
  expect_instruction(l, l, "  %r = mul " + l + " %a, %a", "VPMULLQ", "VPMULUDQ");
  expect_instruction(l, l, "  %x = lshr " + l + " %a, splat (i64 31)\n  %r = mul " + l + " %x, %x", "VPMULLQ",
                     "VPMULUDQ");
  const auto lanes = [](unsigned count, const std::function<unsigned(unsigned)>& from) {
    std::string text = "<" + std::to_string(count) + " x i32> <";
    for (unsigned lane = 0; lane < count; ++lane)
      text += (lane ? ", i32 " : "i32 ") + std::to_string(from(lane));
    return text + ">";
  };
  const auto repeat = [&](const std::string& from, unsigned count, unsigned to) {
    return "  %r = shufflevector " + from + " %a, " + from + " poison, " +
           lanes(to, [&](unsigned lane) { return lane % count; });
  };
  expect_instruction("<4 x float>", f, repeat("<4 x float>", 4, 16), "VBROADCASTF32X4", "VPERM");
  expect_instruction("<8 x i32>", w, repeat("<8 x i32>", 8, 16), "VBROADCASTF64X4", "VPERM");
  expect_instruction("<2 x i64>", "<8 x i64>", repeat("<2 x i64>", 2, 8), "VBROADCASTF32X4", "VPERM");
  expect_instruction("<4 x float>", "<8 x float>", repeat("<4 x float>", 4, 8), "VBROADCASTF32X4", "VPERM");
  expect_instruction(w, w, repeat(w, 4, 16), "VSHUFF64X2", "VPERM");
  expect_instruction(f, "<32 x float>", repeat(f, 8, 32), "VSHUFF64X2", "VPERM");
  expect_instruction("<4 x float>", "<32 x float>", repeat("<4 x float>", 4, 32), "VBROADCASTF32X4", "VPERM");
  const auto in_quarters = [&](const std::string& type, unsigned count, unsigned flip) {
    return "  %r = shufflevector " + type + " %a, " + type + " poison, " +
           lanes(count, [&](unsigned lane) { return lane ^ flip; });
  };
  expect_instruction(f, f, in_quarters(f, 16, 3), "VPERMILPSZ", "VPERMPS");
  expect_instruction(w, w, in_quarters(w, 16, 1), "VPSHUFDZ", "VPERMD");
  expect_instruction(w, w, in_quarters(w, 16, 5), "VPERMD", "VPSHUFD");
  expect_instruction("<8 x double>", "<8 x double>", in_quarters("<8 x double>", 8, 1), "VPERMILPSZ",
                     "VPERMPD");
  expect_instruction("<64 x i32>", "<64 x i32>",
                     "  %r = shufflevector <64 x i32> %a, <64 x i32> poison, " +
                         lanes(64, [](unsigned lane) { return lane % 4 * 16 + lane / 4; }),
                     "VPERMT2DZ", "VPERMDZ");
  expect_instruction("<48 x i32>", w,
                     "  %r = shufflevector <48 x i32> %a, <48 x i32> poison, " +
                         lanes(16, [](unsigned lane) { return lane * 7 % 48; }),
                     "VPERMT2DZ", "VPERMDZ");
  const std::string all_lanes = ", <16 x i32> zeroinitializer";
  expect_instruction("i32", w,
                     "  %i = insertelement " + w + " poison, i32 %a, i64 0\n  %r = shufflevector " + w +
                         " %i, " + w + " poison" + all_lanes,
                     "VPBROADCASTDZrm", "MOV32rm");
  expect_instruction("i32", "i32", "  %x = add i32 %a, 5\n  %r = xor i32 %x, %a", "LEA64_32r", "ADD32");
  expect_instruction("i32", "i32", "  %x = sub i32 %a, 5\n  %r = xor i32 %x, %a", "LEA64_32r", "SUB32");
  expect_instruction("i64", "i64",
                     "  %y = mul i64 %a, -9\n  %x = add i64 %a, %y\n  %z = xor i64 %x, %a\n"
                     "  %r = sub i64 %z, %y",
                     "LEA64r", "ADD64rr");
}

TEST_F(Baseline, ProductsByAPowerOfTwoAndOne) {
  const std::string l = "<16 x i64>";
  for (const char* number : {"4611686018427387905", "3", "5", "4294967297", "-9223372036854775807"}) {
    SCOPED_TRACE(number);
    expect_instruction(l, l, "  %r = mul " + l + " %a, splat (i64 " + number + ")", "VPSLLQZ", "VPMULLQ");
    expect_instruction("i64", "i64", std::string("  %r = mul i64 %a, ") + number, "SHL64r", "IMUL");
  }
  for (const char* number : {"2", "1", "7", "6148914691236517205"})
    expect_same(l, l, "mul " + l + " %a, splat (i64 " + number + ")");
}

TEST_F(Baseline, WhatIsRepeatedIsReadBeforeItIsWrittenOver) {
  expect_same(R"(
define void @f(ptr %in, ptr %out) {
  %a = load <4 x float>, ptr %in
  %s = load i32, ptr %in
  store <4 x float> zeroinitializer, ptr %in
  %r = shufflevector <4 x float> %a, <4 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3>
  store <16 x float> %r, ptr %out
  %i = insertelement <16 x i32> poison, i32 %s, i64 0
  %t = shufflevector <16 x i32> %i, <16 x i32> poison, <16 x i32> zeroinitializer
  %to = getelementptr i8, ptr %out, i64 64
  store <16 x i32> %t, ptr %to
  %w = shufflevector <4 x float> %a, <4 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 poison, i32 poison, i32 poison, i32 poison>
  %h = shufflevector <8 x float> %w, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %too = getelementptr i8, ptr %out, i64 128
  store <4 x float> %h, ptr %too
  %pf = getelementptr i8, ptr %in, i64 100
  %f = load float, ptr %pf
  %if = insertelement <16 x float> poison, float %f, i64 0
  %tf = shufflevector <16 x float> %if, <16 x float> poison, <16 x i32> zeroinitializer
  %tof = getelementptr i8, ptr %out, i64 192
  store <16 x float> %tf, ptr %tof
  ret void
})");
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
  for (const char* function : {"umin", "umax", "smin", "smax"})
    expect_same("<8 x i64>", "<8 x i64>",
                std::string("call <8 x i64> @llvm.") + function + ".v8i64(<8 x i64> %a, <8 x i64> %b)");
  expect_same(v, v, "call <16 x i32> @llvm.bitreverse.v16i32(<16 x i32> %a)");
  expect_same("i32", "i32", "call i32 @llvm.usub.sat.i32(i32 %a, i32 %b)");
  expect_same("i32", "i32", "call i32 @llvm.smin.i32(i32 %a, i32 %b)");
  expect_same("i32", "i32", "call i32 @llvm.cttz.i32(i32 %a, i1 false)");
  for (const char* function : {"fshl", "fshr"})
    for (const std::string type : {"i32", "i64"})
      for (const char* operands :
           {" %a, T %b, T %c)", " %a, T %a, T %c)", " %a, T 9, T 35)", " %a, T %a, T 7)"}) {
        std::string call = "call T @llvm." + std::string(function) + ".T(T" + operands;
        for (auto at = call.find('T'); at != call.npos; at = call.find('T', at)) call.replace(at, 1, type);
        expect_same(type, type, call);
      }
  expect_same("i64", "i64", "call i64 @llvm.ctlz.i64(i64 %a, i1 false)");
  expect_same("i64", "i64", "call i64 @llvm.ctpop.i64(i64 %a)");
}

/// As mul.hi is written.
TEST_F(Baseline, HighProducts) {
  for (const char* way : {"zext", "sext"})
    for (const char* lanes : {"4", "8", "16"}) {
      const std::string n = lanes, narrow = "<" + n + " x i32>", wide = "<" + n + " x i64>", w = way;
      const std::string extended = w + " " + narrow;
      expect_same(narrow, narrow,
                  "add " + narrow + " %a, %b\n  %x = " + extended + " %a to " + wide + "\n  %y = " +
                      extended + " %b to " + wide + "\n  %z = mul " + wide + " %x, %y\n  %u = lshr " + wide +
                      " %z, splat (i64 32)\n  %h = trunc " + wide + " %u to " + narrow +
                      "\n  %o = getelementptr i8, ptr %out, i64 256\n  store " + narrow + " %h, ptr %o");
    }
}

/// By constants: products of even and of odd lanes. What else reads the words or a product gets all of it.
TEST_F(Baseline, HighProductsByConstants) {
  const auto halves = [](const std::string& lanes, const std::string& factor, const std::string& name,
                         const std::string& words) {
    const std::string narrow = "<" + lanes + " x i32>", wide = "<" + lanes + " x i64>";
    return "  %p" + name + " = mul " + wide + " %" + words + ", splat (i64 " + factor + ")\n  %u" + name +
           " = lshr " + wide + " %p" + name + ", splat (i64 32)\n  %" + name + " = trunc " + wide + " %u" +
           name + " to " + narrow + "\n";
  };
  const auto words = [](const std::string& lanes) {
    return "  %x = zext <" + lanes + " x i32> %a to <" + lanes + " x i64>\n";
  };
  for (const char* lanes : {"16", "32"}) {
    const std::string n = lanes, narrow = "<" + n + " x i32>", wide = "<" + n + " x i64>";
    for (const char* factor : {"3528531795", "4294967295", "1", "7"}) {
      expect_instruction(narrow, narrow, words(n) + halves(n, factor, "r", "x"), "VPSHUFDZ", "VPMOVZX");
      expect_instruction(narrow, narrow,
                         words(n) + halves(n, factor, "b", "x") + halves(n, "3449720151", "c", "x") +
                             "  %r = xor " + narrow + " %b, %c",
                         "VPSHUFDZ", "VPMOVZX");
    }
    expect_instruction(narrow, wide,
                       words(n) + halves(n, "12345", "b", "x") + "  %d = zext " + narrow + " %b to " + wide +
                           "\n  %r = add " + wide + " %d, %x",
                       "VPMULUDQZ", "VPERMI2D");
    expect_instruction(narrow, wide,
                       words(n) + halves(n, "12345", "b", "x") + "  %d = zext " + narrow + " %b to " + wide +
                           "\n  %r = add " + wide + " %d, %pb",
                       "VPMULUDQZ", "VPERMI2D");
    expect_instruction(narrow, narrow, words(n) + halves(n, "4294967296", "r", "x"), "VPMULLQZ", "VPERMI2D");
  }
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

/// Lanes of every size, with masks that end inside of a register.
TEST_F(Baseline, AccessesUnderMasks) {
  for (const char* type : {"<8 x i8>", "<8 x i16>", "<8 x i32>", "<8 x i64>", "<4 x i32>", "<7 x i32>",
                           "<3 x i64>", "<16 x i16>", "<16 x i8>", "<16 x i32>", "<8 x float>"}) {
    const std::string t = type, mask = "<" + std::to_string(std::atoi(type + 1)) + " x i1>";
    const std::string load = "call " + t + " @llvm.masked.load(ptr %in, i32 1, " + mask,
                      store = "  call void @llvm.masked.store(" + t;
    expect_same(
        "declare " + t + " @llvm.masked.load(ptr, i32, " + mask + ", " + t +
        ")\ndeclare void @llvm.masked.store(" + t + ", ptr, i32, " + mask +
        ")\ndefine void @f(ptr %in, ptr %out) {\n  %k = load " + mask + ", ptr %in\n  %no = xor " + mask +
        " %k, splat (i1 true)\n  %p = getelementptr i8, ptr %in, i64 64\n  %a = load " + t +
        ", ptr %p\n  %q = getelementptr i8, ptr %out, i64 256\n  %r = getelementptr i8, ptr %out, i64 512\n"
        "  %v = " +
        load + " %k, " + t + " %a)\n  %w = " + load + " %no, " + t + " zeroinitializer)\n  store " + t +
        " %v, ptr %out\n" + store + " %v, ptr %q, i32 1, " + mask + " %k)\n" + store +
        " %w, ptr %r, i32 1, " + mask + " %no)\n  ret void\n}");
  }
}

/// What is no whole register is kept as no more than it is, next to what is kept as well.
TEST_F(Baseline, NarrowAccessesUnderMasksKeepToTheirBytes) {
  expect_same(R"(
declare <8 x i8> @llvm.masked.load.v8i8.p0(ptr, i32, <8 x i1>, <8 x i8>)
define void @f(ptr %in, ptr %out) {
  %k = load <8 x i1>, ptr %in
  %p = getelementptr i8, ptr %in, i64 64
  %a = load <8 x i8>, ptr %p
  %v = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr %in, i32 1, <8 x i1> %k, <8 x i8> %a)
  store <8 x i8> %v, ptr %out
  %x = load i64, ptr %in
  %w = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr %p, i32 1, <8 x i1> %k, <8 x i8> zeroinitializer)
  %q = getelementptr i8, ptr %out, i64 8
  store <8 x i8> %w, ptr %q
  %c = icmp slt i64 %x, 0
  br i1 %c, label %yes, label %no
yes:
  br label %no
no:
  %y = phi i64 [ %x, %0 ], [ 5, %yes ]
  %z = add i64 %x, %y
  %r = getelementptr i8, ptr %out, i64 16
  store i64 %z, ptr %r
  ret void
})");
}

/// Memory of any number of bytes.
TEST_F(Baseline, CopiesAndFills) {
  for (const char* bytes : {"1", "2", "7", "15", "28", "33", "64", "100"}) {
    const std::string n = bytes;
    expect_same(
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare void @llvm.memset.p0.i64(ptr, i8, "
        "i64, i1)\n"
        "define void @f(ptr %in, ptr %out) {\n  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 " +
        n +
        ", i1 false)\n  %p = getelementptr i8, ptr %out, i64 256\n  call void @llvm.memset.p0.i64(ptr %p, i8 "
        "-91, i64 " +
        n + ", i1 false)\n  ret void\n}");
  }
}

TEST_F(Baseline, AddressesOfLanes) {
  for (const char* type : {"<8 x i32>", "<8 x i64>"}) {
    const std::string t = type;
    expect_same(
        "define void @f(ptr %in, ptr %out) {\n  %a = load " + t +
        ", ptr %in\n  %p = getelementptr i32, ptr null, " + t +
        " %a\n  %r = ptrtoint <8 x ptr> %p to <8 x i64>\n  store <8 x i64> %r, ptr %out\n  ret void\n}");
  }
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
  for (const HostTarget& target : targets_) {
    const Made made = make(R"(
define void @f(ptr %in, ptr %out) {
  %a = load i128, ptr %in
  store i128 %a, ptr %out
  ret void
})",
                           target);
    EXPECT_FALSE(made.object);
    EXPECT_EQ(made.unknown, "f: i128 of load");
  }
}

/// All code of the example kernels is ours at either width, and has nothing that the host lacks.
TEST_F(Baseline, ExampleKernels) {
  unsigned kernels = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_directory() + "/examples/kernels")) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream stream(file.path());
    const std::string ptx(std::istreambuf_iterator<char>(stream), {});
    for (const HostTarget& target : targets_) {
      SCOPED_TRACE(file.path().string() + " " + target.cpu);
      const SimdLevel level = target.simd.mask_registers ? SimdLevel::host : SimdLevel::avx2;
      const std::string text = dump_of("optimised", ptx, {.simd = level, .tier = Tier::quick, .cache = false},
                                       {.block = {128, 1, 1}});
      const Made made = make(text, target);
      ASSERT_TRUE(made.object) << made.unknown;
      if (!target.simd.mask_registers) expect_no_avx512(*made.object, target);
      ++kernels;
    }
  }
  EXPECT_GE(kernels, 36u);
}

/// Lanes of 128 bits are nothing that a host has, so the translation writes none.
TEST_F(Baseline, HighProductsOfLongs) {
  for (const char* type : {"s64", "u64"}) {
    const std::string ptx = std::string(
                                ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .entry k(.param .u64 p) {\n"
                                "  .reg .b32 %t;\n  .reg .b64 %a, %b, %i;\n"
                                "  ld.param.u64 %a, [p];\n  mov.u32 %t, %tid.x;\n"
                                "  mul.wide.u32 %i, %t, 8;\n  add.u64 %a, %a, %i;\n"
                                "  ld.global.u64 %b, [%a];\n  mul.hi.") +
                            type + " %b, %b, %i;\n  st.global.u64 [%a], %b;\n  ret;\n}\n";
    for (const HostTarget& target : targets_) {
      SCOPED_TRACE(target.cpu);
      const SimdLevel level = target.simd.mask_registers ? SimdLevel::host : SimdLevel::avx2;
      const std::string text = dump_of("optimised", ptx, {.simd = level, .tier = Tier::quick, .cache = false},
                                       {.block = {128, 1, 1}});
      const Made made = make(text, target);
      EXPECT_TRUE(made.object) << made.unknown;
    }
  }
}

TEST_F(Baseline, HostsWithoutAvx2AreLeftToLlvm) {
  const Made made = make("define void @f(ptr %in, ptr %out) {\n  ret void\n}", host_target(SimdLevel::sse42));
  EXPECT_FALSE(made.object);
  EXPECT_EQ(made.unknown, "a host without AVX2");
}

}  // namespace
}  // namespace raddle::jit
