// What the generator keeps in registers from block to block, folds and writes over: functions made for each,
// against LLVM's code, for AVX-512 and AVX2. Long because the IR of each function is written out.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "baseline_fixture.h"

namespace raddle::jit {
namespace {

struct HomeClass {
  const char *type, *from_bytes;  ///< how its values come from memory at %p
  const char* combine;
};
constexpr std::array kHomeClasses = {HomeClass{"i64", "load i64, ptr ", "add"},
                                     HomeClass{"i32", "load i32, ptr ", "sub"},
                                     HomeClass{"<16 x i32>", "load <16 x i32>, ptr ", "add"},
                                     HomeClass{"<8 x i64>", "load <8 x i64>, ptr ", "xor"},
                                     HomeClass{"<16 x i1>", "load <16 x i1>, ptr ", "xor"},
                                     HomeClass{"<8 x i1>", "load <8 x i1>, ptr ", "or"}};

class BaselineHomes : public Baseline {
 protected:
  static std::string number(unsigned n) { return std::to_string(n); }
  static std::string values(const HomeClass& kind, unsigned count) {
    std::string text;
    for (unsigned n = 0; n < count; ++n)
      text += "  %p" + number(n) + " = getelementptr i8, ptr %in, i64 " + number(n * 24) + "\n  %x" +
              number(n) + " = " + kind.from_bytes + "%p" + number(n) + ", align 1\n";
    return text;
  }
  static std::string stores(const char* type, const std::string& name, unsigned count) {
    std::string text;
    for (unsigned n = 0; n < count; ++n)
      text += "  %o" + number(n) + " = getelementptr i8, ptr %out, i64 " + number(n * 32) + "\n  store " +
              type + " " + name + number(n) + ", ptr %o" + number(n) + ", align 1\n";
    return text;
  }
  void expect_same_body(const std::string& body) {
    expect_same(std::string(kDeclarations) + "define void @f(ptr %in, ptr %out) {\n" + body +
                "  ret void\n}\n!0 = !{!\"branch_weights\", i32 1, i32 2000}\n");
  }
};

/// Phis that get each other's values: circles of several lengths, and one that leads out of a circle.
TEST_F(BaselineHomes, PhisThatGoRoundInALoop) {
  for (const HomeClass& kind : kHomeClasses)
    for (const unsigned length : {2u, 3u, 5u}) {
      SCOPED_TRACE(kind.type);
      const std::string type = kind.type;
      std::string text =
          values(kind, length + 1) + "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n";
      for (unsigned n = 0; n <= length; ++n)  // the last one gets the first one's, which goes round
        text += "  %v" + number(n) + " = phi " + type + " [ %x" + number(n) + ", %0 ], [ %v" +
                number(n == length ? 0 : (n + 1) % length) + ", %loop ]\n";
      text +=
          "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 8\n  br i1 %again, label %loop, label "
          "%done\ndone:\n";
      expect_same_body(text + stores(kind.type, "%v", length + 1));
    }
}

/// Phis for which there are no registers, and what they are given from two blocks further up.
TEST_F(BaselineHomes, WhatPhisAreGivenLiesWhereTheyDo) {
  constexpr unsigned kCount = 24;
  const HomeClass words = kHomeClasses[0];
  std::string text = values(words, kCount);
  text += "  %odd = trunc i64 %x0 to i1\n  br i1 %odd, label %near, label %far\nnear:\n";
  for (unsigned n = 0; n < kCount; ++n)
    text += "  %q" + number(n) + " = getelementptr i8, ptr %in, i64 " + number(n * 16 + 8) + "\n  %y" +
            number(n) + " = load i64, ptr %q" + number(n) + "\n";
  text += "  br label %on\non:\n  br label %done\nfar:\n  br label %done\ndone:\n";
  for (unsigned n = 0; n < kCount; ++n)
    text += "  %v" + number(n) + " = phi i64 [ %y" + number(n) + ", %on ], [ %x" + number(n) + ", %far ]\n";
  text += stores("i64", "%v", kCount);
  expect_same_body(text);
  for (const HostTarget& target : targets_) {
    const Made made = make("define void @f(ptr %in, ptr %out) {\n" + text + "  ret void\n}\n", target);
    ASSERT_TRUE(made.object) << made.unknown;
    unsigned loads = 0;
    for (const auto& [name, _] : instructions_in(*made.object, target)) loads += name == "MOV64rm";
    EXPECT_LE(loads, 3 * kCount + 4) << "one for each value, and none on the way to a phi";
  }
}

/// As many values as a class has registers, more, and many more, that all change in a loop.
TEST_F(BaselineHomes, MoreValuesAroundALoopThanRegisters) {
  for (const HomeClass& kind : kHomeClasses)
    for (const unsigned count : {6u, 8u, 12u, 24u, 31u}) {
      SCOPED_TRACE(std::string(kind.type) + " " + number(count));
      const std::string type = kind.type;
      std::string text = values(kind, count) +
                         "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n",
                  sums;
      for (unsigned n = 0; n < count; ++n) {
        text += "  %v" + number(n) + " = phi " + type + " [ %x" + number(n) + ", %0 ], [ %s" + number(n) +
                ", %loop ]\n";
        sums += "  %s" + number(n) + " = " + kind.combine + " " + type + " %v" + number(n) + ", %v" +
                number((n + 1) % count) + "\n";
      }
      text += sums +
              "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 5\n  br i1 %again, label %loop, label "
              "%done\ndone:\n";
      expect_same_body(text + stores(kind.type, "%s", count));
    }
}

/// The arguments' registers are homes in the loop; a call that hardly ever comes takes and spoils them.
TEST_F(BaselineHomes, ValuesAcrossACallInAColdBlock) {
  for (const HomeClass& kind : kHomeClasses)
    for (const unsigned count : {3u, 6u, 11u}) {
      const std::string type = kind.type;
      std::string text =
          "  %q = getelementptr i8, ptr %in, i64 512\n  %limit = load i64, ptr %q\n" + values(kind, count) +
          "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %next ]\n"
          "  %sum = phi i64 [ 1, %0 ], [ %total, %next ]\n  %e = phi i64 [ 2, %0 ], [ %sum, %next ]\n";
      std::string sums;
      for (unsigned n = 0; n < count; ++n) {
        text += "  %v" + number(n) + " = phi " + type + " [ %x" + number(n) + ", %0 ], [ %s" + number(n) +
                ", %next ]\n";
        sums += "  %s" + number(n) + " = " + kind.combine + " " + type + " %v" + number(n) + ", %v" +
                number((n + 1) % count) + "\n";
      }
      text +=
          "  %odd = and i64 %n, 3\n  %rare = icmp eq i64 %odd, 2\n  br i1 %rare, label %cold, label %next, "
          "!prof !0\n"
          "cold:\n  %r = call i64 @spoil(i64 %e, i64 %sum, i64 %n, i64 %limit, i64 %sum, i64 %e, i64 %n, i64 "
          "%limit)\n"
          "  br label %next\nnext:\n  %got = phi i64 [ %sum, %loop ], [ %r, %cold ]\n" +
          sums +
          "  %total = add i64 %got, %limit\n  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 9\n"
          "  br i1 %again, label %loop, label %done\ndone:\n";
      const std::string end = "  %w = getelementptr i8, ptr %out, i64 512\n  store i64 %total, ptr %w\n";
      expect_same(R"(
define internal i64 @spoil(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h) noinline {
  %1 = mul i64 %a, 3
  %2 = add i64 %1, %b
  %3 = mul i64 %2, 5
  %4 = sub i64 %3, %c
  %5 = mul i64 %4, 7
  %6 = xor i64 %5, %d
  %7 = mul i64 %6, 9
  %8 = sub i64 %7, %e
  %9 = mul i64 %8, 11
  %10 = add i64 %9, %f
  %11 = xor i64 %10, %g
  %12 = sub i64 %11, %h
  ret i64 %12
}
define void @f(ptr %in, ptr %out) {
)" + text + stores(kind.type, "%s", count) +
                  end + "  ret void\n}\n!0 = !{!\"branch_weights\", i32 1, i32 2000}\n");
    }
}

std::uint64_t told = 0;
/// Spoils what it may: all vectors' and masks' registers, and r11.
__attribute__((preserve_most)) void spoil_vectors(std::uint64_t a, std::uint64_t b) {
  told = told * 31 + a * 7 + b;
  asm volatile("vzeroall\n mov $-1, %%r11" ::
                   : "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  if (__builtin_cpu_supports("avx512bw"))
    asm volatile("kxorq %%k1, %%k1, %%k1\n kxorq %%k2, %%k2, %%k2\n kxorq %%k3, %%k3, %%k3" ::
                     : "k1", "k2", "k3");
}

/// More numbers than there are registers live across a call that keeps most of these, from a loop.
TEST_F(BaselineHomes, ValuesAcrossACallThatKeepsRegisters) {
  for (const HomeClass& kind : kHomeClasses)
    for (const unsigned count : {2u, 7u, 13u}) {
      const std::string type = kind.type;
      std::string text = values(kind, count), sums;
      for (unsigned n = 0; n < count; ++n)
        text += "  %q" + number(n) + " = getelementptr i8, ptr %in, i64 " + number(512 + 8 * n) + "\n  %l" +
                number(n) + " = load i64, ptr %q" + number(n) + "\n";
      text += "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %next ]\n";
      for (unsigned n = 0; n < count; ++n) {
        text += "  %v" + number(n) + " = phi " + type + " [ %x" + number(n) + ", %0 ], [ %s" + number(n) +
                ", %next ]\n  %k" + number(n) + " = phi i64 [ %l" + number(n) + ", %0 ], [ %t" + number(n) +
                ", %next ]\n";
        sums += "  %s" + number(n) + " = " + kind.combine + " " + type + " %v" + number(n) + ", %v" +
                number((n + 1) % count) + "\n  %t" + number(n) + " = add i64 %k" + number(n) + ", %k" +
                number((n + 1) % count) + "\n";
      }
      text +=
          "  %odd = and i64 %n, 3\n  %rare = icmp eq i64 %odd, 2\n  br i1 %rare, label %cold, label %next, "
          "!prof !0\ncold:\n  %to = inttoptr i64 " +
          std::to_string(reinterpret_cast<std::uint64_t>(&spoil_vectors)) +
          " to ptr\n  call preserve_mostcc void %to(i64 %k1, i64 %n)\n  br label %next\nnext:\n" + sums +
          "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 9\n"
          "  br i1 %again, label %loop, label %done\ndone:\n";
      std::string end;
      for (unsigned n = 0; n < count; ++n)
        end += "  %w" + number(n) + " = getelementptr i8, ptr %out, i64 " + number(896 + 8 * n) +
               "\n  store i64 %t" + number(n) + ", ptr %w" + number(n) + "\n";
      expect_same("define void @f(ptr %in, ptr %out) {\n" + text + stores(kind.type, "%s", count) + end +
                  "  ret void\n}\n!0 = !{!\"branch_weights\", i32 1, i32 2000}\n");
    }
  EXPECT_NE(told, 0u);
}

/// A function that needs few registers saves none for who calls it.
TEST_F(BaselineHomes, KeepsOnlyRegistersThatItWrites) {
  for (const unsigned count : {1u, 20u}) {
    std::string text = "define void @f(ptr %in, ptr %out) {\n", sum = "0";
    for (unsigned n = 0; n < count; ++n)
      text += "  %q" + number(n) + " = getelementptr i8, ptr %in, i64 " + number(8 * n) + "\n  %l" +
              number(n) + " = load volatile i64, ptr %q" + number(n) + "\n";
    for (unsigned n = count; n-- > 0; sum = "%s" + number(n))
      text += "  %s" + number(n) + " = xor i64 %l" + number(n) + ", " + sum + "\n";
    text += "  store i64 " + sum + ", ptr %out\n  ret void\n}\n";
    expect_same(text);
    for (const HostTarget& target : targets_) {
      unsigned restored = 0;
      const Made made = make(text, target);
      const auto all = instructions_in(*made.object, target);
      for (std::size_t n = 0; n < all.size(); ++n)  // between the last instruction of AVX and the end
        restored = all[n].first == "VZEROUPPER" ? 0 : restored + (all[n].first == "MOV64rm");
      EXPECT_EQ(restored, count == 1 ? 0u : 5u) << count << " " << target.cpu;
    }
  }
}

/// Whoever is defined by another convention is LLVM's.
TEST_F(BaselineHomes, KeepsMostRegistersForNobody) {
  for (const HostTarget& target : targets_) {
    const Made made = make("define preserve_mostcc void @f(ptr %in, ptr %out) {\n  ret void\n}\n", target);
    EXPECT_FALSE(made.object);
    EXPECT_NE(made.unknown.find("convention"), std::string::npos) << made.unknown;
  }
}

/// Close numbers with gaps, from 0 on or not, of 32 or 64 bits; what is beyond gives to phis or does not.
TEST_F(BaselineHomes, SwitchesByATable) {
  for (const char* type : {"i32", "i64", "i8"})
    for (const char* least : {"0", "1", "100", "-6"})
      for (const bool others_give : {false, true}) {
        const std::string t = type;
        if (std::string(least) == "-6" && t != "i8") continue;
        if (std::string(least) == "100" && t == "i8") continue;
        // From three before the first to some behind the last, all in one call.
        std::string text =
            "  br label %loop\nloop:\n  %n = phi i64 [ -3, %0 ], [ %more, %join ]\n  %sum = phi i64 [ 0, %0 "
            "], [ %all, %join ]\n"
            "  %l = add i64 %n, " +
            std::string(least) + "\n  " + (t == "i64" ? "%k = add i64 %l, 0" : "%k = trunc i64 %l to " + t) +
            "\n  switch " + t + " %k, label %" + (others_give ? "join" : "others") + " [ ";
        std::string ways,
            phi = "join:\n  %got = phi i64 [ 77, %" + std::string(others_give ? "loop" : "others") + " ]";
        for (const unsigned n : {0u, 1u, 3u, 4u, 7u, 8u, 9u}) {
          text += t + " " + std::to_string(std::atoi(least) + static_cast<int>(n)) + ", label %w" +
                  number(n) + " ";
          ways += "w" + number(n) + ":\n  %g" + number(n) + " = add i64 %sum, " + number(n * n + 5) +
                  "\n  br label %join\n";
          phi += ", [ %g" + number(n) + ", %w" + number(n) + " ]";
        }
        text += "]\n" + std::string(others_give ? "" : "others:\n  br label %join\n") + ways + phi +
                "\n  %thrice = mul i64 %got, 3\n  %all = add i64 %thrice, %sum\n"
                "  %more = add i64 %n, 1\n  %again = icmp slt i64 %more, 14\n  br i1 %again, label %loop, "
                "label %done\ndone:\n"
                "  store i64 %all, ptr %out\n";
        SCOPED_TRACE(text);
        expect_same_body(text);
      }
}

/// Far beyond a table of 64 bits whose lower halves would be in it.
TEST_F(BaselineHomes, SwitchesReadAllBits) {
  expect_same_body(R"(
  %x = load i64, ptr %in
  %h = shl i64 %x, 40
  %k = or i64 %h, 3
  %o = or i64 %k, 1099511627776
  switch i64 %o, label %others [ i64 1, label %a i64 2, label %b i64 3, label %c i64 4, label %a i64 5, label %b i64 6, label %a ]
a:
  store i64 1, ptr %out
  br label %others
b:
  store i64 2, ptr %out
  br label %others
c:
  store i64 3, ptr %out
  br label %others
others:
)");
}

TEST_F(BaselineHomes, UpdatesOfMemoryInPlace) {
  for (const char* operation : {"add", "sub", "and", "or", "xor"})
    for (const char* type : {"i32", "i64"})
      for (const char* other : {"%y", "-7", "1234567", "123456789012"}) {
        const std::string t = type, o = operation;
        if (std::string(other).size() > 8 && t == "i32") continue;
        const std::string head =
            "  %first = load <16 x i32>, ptr %in\n  store <16 x i32> %first, ptr %out\n  %q = getelementptr "
            "i8, ptr %in, i64 64\n  %y = load " +
            t + ", ptr %q\n  %i = and i64 5, 7\n  %p = getelementptr i32, ptr %out, i64 %i\n";
        const std::string load = "  %x = load " + t + ", ptr %p\n",
                          update = "  %z = " + o + " " + t + " %x, " + other + "\n",
                          store = "  store " + t + " %z, ptr %p\n";
        expect_same_body(head + load + update + store);
        // Something else is written there between: what was read before counts.
        expect_same_body(head + load + "  store " + t + " %y, ptr %p\n" + update + store);
        expect_same_body(head + load + update + "  store i8 99, ptr %p\n" + store);
        expect_same_body(head + load + update + "  %was = load " + t + ", ptr %p\n" + store +
                         "  %w = getelementptr i8, ptr %out, i64 128\n  store " + t + " %was, ptr %w\n");
        // The other operand was loaded there, which is not the one that is changed.
        if (std::string(other) == "%y")
          expect_same_body(head + load + "  %z = " + o + " " + t + " %y, %x\n" + store);
      }
}

/// The sum of products goes round in a factor's place, in the sum's, in both, or in a square's.
TEST_F(BaselineHomes, FusedProductsInAnyOperandsPlace) {
  for (const char* type : {"<16 x float>", "<16 x double>", "float", "double"})
    for (const char* operands : {"%v, A, B", "A, %v, B", "A, B, %v", "%v, A, %v", "A, %v, %v", "%v, %v, A",
                                 "%v, %v, %v", "A, A, %v", "%v, A, A"}) {
      const std::string t = type;
      const std::string name =
          "@llvm.fma." + std::string(t[0] == '<'    ? (t == "<16 x float>" ? "v16f32" : "v16f64")
                                     : t == "float" ? "f32"
                                                    : "f64");
      std::string all = operands;
      for (const char* letter : {"A", "B"})
        for (std::size_t at; (at = all.find(letter)) != all.npos;)
          all.replace(at, 1, std::string("%") + static_cast<char>(letter[0] + 32));
      std::string arguments;
      for (const char c : all) {
        if (c == '%') arguments += t + " ";
        arguments += c;
      }
      const std::string words = t[0] == '<' ? "<16 x i16>" : "i16";
      std::string text;
      for (const char* each : {"v", "a", "b"})
        text += "  %p" + std::string(each) + " = getelementptr i8, ptr %in, i64 " +
                number(64 * static_cast<unsigned>(each[0] % 5)) + "\n  %w" + each + " = load " + words +
                ", ptr %p" + each + "\n  %f" + each + " = sitofp " + words + " %w" + each + " to " + t + "\n";
      text = "declare " + t + " " + name + "(" + t + ", " + t + ", " + t +
             ")\ndefine void @f(ptr %in, ptr %out) {\n" + text;
      std::string scaled;
      for (const char* each : {"v", "a", "b"})
        scaled += "  %" + std::string(each) + (each[0] == 'v' ? "0" : "") + " = fdiv " + t + " %f" + each +
                  ", %fa\n";
      text += scaled + "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n  %v = phi " +
              t +
              " [ %v0, %0 ], [ %s, %loop ]\n"
              "  %s = call " +
              t + " " + name + "(" + arguments +
              ")\n  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 3\n"
              "  br i1 %again, label %loop, label %done\ndone:\n  store " +
              t + " %s, ptr %out\n  %o = getelementptr i8, ptr %out, i64 128\n  store " + t +
              " %a, ptr %o\n  %ob = getelementptr i8, ptr %out, i64 256\n  store " + t +
              " %b, ptr %ob\n  ret void\n}\n";
      expect_same(text);
    }
}

/// A difference goes round as what is subtracted, which its register must not hold before.
TEST_F(BaselineHomes, DifferencesThatGoRoundOnEitherSide) {
  for (const char* type : {"i32", "i64", "<16 x i32>", "<8 x i64>", "<16 x i16>"})
    for (const char* operation : {"sub", "shl", "lshr", "ashr", "add", "mul"})
      for (const bool is_right : {false, true}) {
        const std::string t = type, o = operation;
        const bool is_shift = o == "shl" || o == "lshr" || o == "ashr";
        std::string bits = t.substr(t.find('i') + 1);
        if (bits.back() == '>') bits.pop_back();
        const std::string most = t[0] == '<' ? "splat (i" + bits + " 7)" : "7";
        const std::string limit =
            is_shift ? "  %left = add " + t + " " + (is_right ? "%a" : "%v") + ", " + most +
                           "\n  %by = and " + t + " " + (is_right ? "%v" : "%a") + ", " + most + "\n"
                     : "  %left = add " + t + " " + (is_right ? "%a" : "%v") + ", " + most + "\n  %by = or " +
                           t + " " + (is_right ? "%v" : "%a") + ", " + most + "\n";
        for (const bool directly : {false, true}) {
          if (directly && is_shift) continue;
          const std::string how =
              directly ? o + " " + t + (is_right ? " %a, %v" : " %v, %a") : o + " " + t + " %left, %by";
          expect_same_body(
              "  %a = load " + t + ", ptr %in\n  %p = getelementptr i8, ptr %in, i64 64\n  %v0 = load " + t +
              ", ptr %p\n  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n  %v = phi " +
              t + " [ %v0, %0 ], [ %s, %loop ]\n" + limit + "  %s = " + how +
              "\n  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 5\n  br i1 %again, label %loop, "
              "label %done\ndone:\n  store " +
              t + " %s, ptr %out\n  %o = getelementptr i8, ptr %out, i64 64\n  store " + t + " %a, ptr %o\n");
        }
      }
}

/// From registers that had something above their 32 bits before.
TEST_F(BaselineHomes, WordsWidenedFromWhereverTheyCome) {
  const std::string head =
      "  %l = load i64, ptr %in\n  %p = getelementptr i8, ptr %in, i64 8\n  %m = load i64, ptr %p\n"
      "  %c = icmp slt i64 %l, %m\n  %t = trunc i64 %l to i32\n  %u = trunc i64 %m to i32\n";
  for (const char* made :
       {"%w = load i32, ptr %in", "%w = select i1 %c, i32 %t, i32 %u", "%w = select i1 %c, i32 -1, i32 %u",
        "%w = call i32 @wide(i64 %l)", "%w = call i32 @wide(i64 -1)", "%w = add i32 %t, %u",
        "%w = sub i32 %t, %u", "%w = mul i32 %t, %u", "%w = xor i32 %t, -1", "%w = ashr i32 %t, 3",
        "%w = udiv i32 %t, 3", "%w = srem i32 %t, 7", "%w = trunc i64 %m to i32", "%w = freeze i32 %u",
        "%w = call i32 @llvm.smin.i32(i32 %t, i32 %u)", "%w = call i32 @llvm.usub.sat.i32(i32 %t, i32 %u)",
        "%w = atomicrmw add ptr %out, i32 %u seq_cst", "br label %next\nnext:\n  %w = phi i32 [ %t, %0 ]",
        "br label %next\nnext:\n  %n = phi i64 [ 0, %0 ], [ %k, %next ]\n  %w = phi i32 [ %t, %0 ], [ %q, "
        "%next ]\n  %q = add i32 %w, %u\n  "
        "%k = add i64 %n, 1\n  %a = icmp ult i64 %k, 4\n  br i1 %a, label %next, label %done\ndone:"})
    expect_same(
        "declare i32 @llvm.smin.i32(i32, i32)\ndeclare i32 @llvm.usub.sat.i32(i32, i32)\ndefine internal i32 "
        "@wide(i64 %x) noinline {\n"
        "  %t = trunc i64 %x to i32\n  %s = lshr i32 %t, 1\n  ret i32 %t\n}\ndefine void @f(ptr %in, ptr "
        "%out) {\n" +
        head + "  " + made +
        "\n  %z = zext i32 %w to i64\n  %o = getelementptr i8, ptr %out, i64 64\n  store i64 %z, ptr %o\n  "
        "%y = add i64 %z, %l\n"
        "  %o2 = getelementptr i8, ptr %out, i64 72\n  store i64 %y, ptr %o2\n  ret void\n}\n");
  for (const char* type : {"i8", "i16"})
    for (const char* made : {"add T %t, %u", "select i1 %c, T %t, T %u", "load T, ptr %in", "xor T %t, -1",
                             "shl T %t, 3", "trunc i64 %l to T"}) {
      std::string text =
          "  %l = load i64, ptr %in\n  %p = getelementptr i8, ptr %in, i64 8\n  %m = load i64, ptr %p\n  %c "
          "= icmp slt i64 %l, %m\n"
          "  %t = trunc i64 %l to T\n  %u = trunc i64 %m to T\n  %w = " +
          std::string(made) +
          "\n  %z = zext T %w to i64\n  %s = sext T %w to i64\n"
          "  store i64 %z, ptr %out\n  %o = getelementptr i8, ptr %out, i64 8\n  store i64 %s, ptr %o\n";
      for (std::size_t at; (at = text.find('T')) != text.npos;) text.replace(at, 1, type);
      expect_same_body(text);
    }
}

/// Lanes of masks spread with zeros or others between, joined, taken out of the middle, and reversed.
TEST_F(BaselineHomes, ShufflesOfMasks) {
  struct Case {
    unsigned from, to;
    const char* lanes;
    const char* other;
  };
  for (const Case& c :
       {Case{8, 16, "0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15", "%b"},
        Case{8, 16, "0,8,1,8,2,8,3,8,4,8,5,8,6,8,7,8", "zeroinitializer"},
        Case{8, 16, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "%b"},
        Case{16, 32, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
             "%b"},
        Case{16, 8, "4,5,6,7,8,9,10,11", "poison"}, Case{16, 8, "12,13,14,15,16,17,18,19", "%b"},
        Case{16, 16, "15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0", "poison"},
        Case{16, 16, "3,20,poison,4,21,5,22,6,poison,7,8,23,24,25,26,9", "%b"},
        Case{16, 16, "3,20,2,4,21,5,22,6,17,7,8,23,24,25,26,9", "%b"},
        Case{8, 8, "0,0,1,1,2,2,3,3", "poison"},
        Case{16, 16, "16,0,17,1,18,2,19,3,20,4,21,5,22,6,23,7", "splat (i1 true)"}}) {
    const std::string from = "<" + number(c.from) + " x i1>", to = "<" + number(c.to) + " x i1>";
    std::string lanes = "<" + number(c.to) + " x i32> <";
    for (const char* at = c.lanes; *at;) {
      const std::string each(at, std::strcspn(at, ","));
      lanes += "i32 " + each;
      at += each.size();
      if (*at == ',') lanes += ", ", ++at;
    }
    std::string text =
        "  %a = load " + from + ", ptr %in\n  %p = getelementptr i8, ptr %in, i64 8\n  %b = load " + from +
        ", ptr %p\n  %s = shufflevector " + from + " %a, " + from + " " + c.other + ", " + lanes + ">\n";
    const bool has_undefined = lanes.find("poison") != lanes.npos;
    if (has_undefined) {  // those lanes may be anything
      std::string known = "<" + to.substr(1, to.size() - 2) + "> <";
      text += "  %k = and " + to +
              " %s, <i1 true, i1 true, i1 false, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 "
              "true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>\n";
    }
    const std::string result = has_undefined ? "%k" : "%s";
    expect_same_body(text + "  store " + to + " " + result + ", ptr %out\n  %z = zext " + to + " " + result +
                     " to <" + number(c.to) +
                     " x i32>\n  %o = getelementptr i8, ptr %out, i64 64\n  store <" + number(c.to) +
                     " x i32> %z, ptr %o\n");
  }
}

/// Masks in a loop, up to more than there are registers, that are joined, spread and read for accesses.
TEST_F(BaselineHomes, ManyMasksAroundALoop) {
  for (unsigned count = 5; count <= 12; ++count)
    for (const bool joins : {false, true}) {
      std::string text = values({"<16 x i1>", "load <16 x i1>, ptr ", ""}, count) +
                         "  %y = load <16 x i32>, ptr %in\n  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 "
                         "], [ %more, %loop ]\n  %w = phi <16 x i32> [ %y, %0 ], [ %w" +
                         number(count) + ", %loop ]\n",
                  sums;
      std::string w = "%w";
      for (unsigned n = 0; n < count; ++n) {
        const std::string k = number(n), other = number((n + 1) % count);
        text += "  %v" + k + " = phi <16 x i1> [ %x" + k + ", %0 ], [ %s" + k + ", %loop ]\n";
        const std::string next = "%w" + number(n + 1);
        sums += "  %a" + k + " = add <16 x i32> " + w + ", splat (i32 " + number(n * 77 + 1) + ")\n  " +
                next + " = select <16 x i1> %v" + k + ", <16 x i32> %a" + k + ", <16 x i32> " + w + "\n";
        sums += joins ? "  %s" + k + " = shufflevector <16 x i1> %v" + k + ", <16 x i1> %v" + other +
                            ", <16 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 "
                            "4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23>\n"
                      : "  %c" + k + " = icmp sgt <16 x i32> " + next + ", zeroinitializer\n  %s" + k +
                            " = xor <16 x i1> %c" + k + ", %v" + other + "\n";
        w = next;
      }
      text += sums +
              "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 4\n  br i1 %again, label %loop, label "
              "%done\ndone:\n" +
              stores("<16 x i1>", "%s", count) +
              "  %q = getelementptr i8, ptr %out, i64 512\n  store <16 x i32> %w" + number(count) +
              ", ptr %q\n";
      expect_same_body(text);
    }
}

TEST_F(BaselineHomes, ShufflesOfTwoVectors) {
  for (const char* type :
       {"<16 x i32>", "<8 x i64>", "<16 x float>", "<32 x i16>", "<64 x i8>", "<32 x i32>"}) {
    const std::string t = type;
    const unsigned lanes = static_cast<unsigned>(std::atoi(type + 1));
    for (const unsigned step : {3u, 5u, 11u}) {
      std::string text = "<" + number(lanes) + " x i32> <";
      for (unsigned n = 0; n < lanes; ++n)
        text += (n ? ", i32 " : "i32 ") + number(n * step * 7 % (2 * lanes));
      expect_same(t, t, "shufflevector " + t + " %a, " + t + " %b, " + text + ">");
      // Round a loop, in either operand's place.
      for (const char* operands : {"%v, T %a", "%a, T %v", "%v, T %v"}) {
        std::string both = operands;
        both.replace(both.find('T'), 1, t);
        expect_same_body(
            "  %a = load " + t + ", ptr %in\n  %p = getelementptr i8, ptr %in, i64 256\n  %v0 = load " + t +
            ", ptr %p\n  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n  %v = phi " + t +
            " [ %v0, %0 ], [ %s, %loop ]\n  %s = shufflevector " + t + " " + both + ", " + text +
            ">\n  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 3\n  br i1 %again, label %loop, "
            "label %done\ndone:\n  store " +
            t + " %s, ptr %out\n");
      }
    }
  }
}

/// A word as a float in all lanes, or the other operand's first lane.
TEST_F(BaselineHomes, SplatsOfEitherOperand) {
  for (const char* lane : {"0", "16"})
    expect_same_body(
        "  %w = load i32, ptr %in\n  %p = getelementptr i8, ptr %in, i64 64\n  %b = load <16 x float>, ptr "
        "%p\n"
        "  %i = insertelement <16 x i32> poison, i32 %w, i64 0\n  %c = bitcast <16 x i32> %i to <16 x "
        "float>\n"
        "  %s = shufflevector <16 x float> %c, <16 x float> %b, <16 x i32> splat (i32 " +
        std::string(lane) + ")\n  store <16 x float> %s, ptr %out\n");
}

TEST_F(BaselineHomes, VariablesIndexedByNumbers) {
  for (const char* at : {"%e = getelementptr i32, ptr %array, i64 %i",
                         "%q = getelementptr i8, ptr %array, i64 8\n  %e = getelementptr i32, ptr %q, i64 %i",
                         "%e = getelementptr [16 x i32], ptr %array, i64 0, i64 %i",
                         "%n = ptrtoint ptr %array to i64\n  %b = shl i64 %i, 2\n  %s = add i64 %n, %b\n  %e "
                         "= inttoptr i64 %s to ptr",
                         "%n = ptrtoint ptr %array to i64\n  %b = shl i64 %i, 2\n  %s = add i64 %b, %n\n  %e "
                         "= inttoptr i64 %s to ptr"})
    expect_same_body(
        "  %array = alloca [16 x i32], align 64\n  %other = alloca i64\n  store i64 7, ptr %other\n  %v = "
        "load <16 x i32>, ptr %in\n  store <16 x i32> %v, ptr %array\n"
        "  %x = load i64, ptr %in\n  %i = and i64 %x, 7\n  " +
        std::string(at) +
        "\n  %w = load i32, ptr %e\n  %z = add i32 %w, 5\n  store i32 %z, ptr %e\n  %r = load <16 x i32>, "
        "ptr %array\n  store <16 x i32> %r, ptr %out\n");
}

/// It has a register in the loop, and is read from memory, lane after lane.
TEST_F(BaselineHomes, ValuesWithHomesReadLaneByLane) {
  for (const char* how : {"call <16 x i32> @llvm.sadd.sat.v16i32(<16 x i32> %v, <16 x i32> %a)",
                          "call <16 x i32> @llvm.ssub.sat.v16i32(<16 x i32> %a, <16 x i32> %v)",
                          "call <16 x i32> @llvm.bitreverse.v16i32(<16 x i32> %v)", "udiv <16 x i32> %a, %o"})
    expect_same_body(
        "  %a = load <16 x i32>, ptr %in\n  %p = getelementptr i8, ptr %in, i64 64\n  %v0 = load <16 x i32>, "
        "ptr %p\n  br label %loop\nloop:\n"
        "  %n = phi i64 [ 0, %0 ], [ %more, %next ]\n  %v = phi <16 x i32> [ %v0, %0 ], [ %s, %next ]\n  %o "
        "= or <16 x i32> %v, splat (i32 1)\n  %s = " +
        std::string(how) +
        "\n  %first = extractelement <16 x i32> %s, i32 9\n  %c = icmp slt i32 %first, 0\n  br i1 %c, label "
        "%other, label %next\n"
        "other:\n  br label %next\nnext:\n  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 6\n  br i1 "
        "%again, label %loop, label %done\ndone:\n"
        "  store <16 x i32> %s, ptr %out\n  %q = getelementptr i8, ptr %out, i64 64\n  store <16 x i32> %v, "
        "ptr %q\n");
}

/// Many homes, and an instruction that needs many registers at once: a choice by a comparison of bytes.
TEST_F(BaselineHomes, InstructionsThatNeedManyRegistersBesideHomes) {
  for (const char* how : {"%c = icmp slt i8 %g, %h\n  %r = select i1 %c, i64 %x, i64 %y",
                          "%c = icmp ult i16 %g2, %h2\n  %r = select i1 %c, i64 %x, i64 %y",
                          "%m = cmpxchg ptr %out, i64 %x, i64 %y seq_cst seq_cst\n  %r = extractvalue { i64, "
                          "i1 } %m, 0\n  %t = extractvalue { i64, i1 } %m, 1\n  %tz = zext i1 %t to i64\n  "
                          "%oo = getelementptr i8, ptr %out, i64 800\n  store i64 %tz, ptr %oo"}) {
    std::string text = values(kHomeClasses[0], 10) +
                       "  br label %loop\nloop:\n  %n = phi i64 [ 0, %0 ], [ %more, %loop ]\n",
                sums;
    for (unsigned n = 0; n < 10; ++n) {
      const std::string k = number(n);
      text += "  %v" + k + " = phi i64 [ %x" + k + ", %0 ], [ %s" + k + ", %loop ]\n";
      sums += "  %s" + k + " = add i64 %v" + k + ", " + (n == 4 ? "%r" : "%v" + number((n + 3) % 10)) + "\n";
    }
    text +=
        "  %x = xor i64 %v0, %n\n  %y = mul i64 %v1, 3\n  %g = trunc i64 %v2 to i8\n  %h = trunc i64 %v3 to "
        "i8\n  %g2 = trunc i64 %v2 to i16\n  %h2 = trunc i64 %v3 to i16\n  " +
        std::string(how) + "\n" + sums +
        "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 5\n  br i1 %again, label %loop, label "
        "%done\ndone:\n" +
        stores("i64", "%s", 10);
    expect_same_body(text);
  }
}

/// Sums that go round a loop of several blocks, several steps in each: every step is written over the one
/// before it, and no register is copied.
TEST_F(BaselineHomes, SumsAreWrittenOver) {
  constexpr unsigned kSums = 12, kSteps = 3;
  for (const unsigned blocks : {1u, 2u, 5u, 20u}) {
    std::string text = "  %q = getelementptr i8, ptr %in, i64 700\n";
    for (unsigned n = 0; n < kSums; ++n)
      text += "  %p" + number(n) + " = getelementptr i8, ptr %in, i64 " + number(n * 16) + "\n  %w" +
              number(n) + " = load <16 x i32>, ptr %p" + number(n) + ", align 1\n  %x" + number(n) +
              " = sitofp <16 x i32> %w" + number(n) + " to <16 x float>\n";
    text += "  br label %b0\nb0:\n  %n = phi i64 [ 0, %0 ], [ %more, %b" + number(blocks - 1) + " ]\n";
    const std::string last = number(blocks * kSteps);
    for (unsigned n = 0; n < kSums; ++n)
      text += "  %s" + number(n) + "x0 = phi <16 x float> [ %x" + number(n) + ", %0 ], [ %s" + number(n) +
              "x" + last + ", %b" + number(blocks - 1) + " ]\n";
    for (unsigned b = 0; b < blocks; ++b) {
      const std::string k = number(b);
      if (b > 0) text += "b" + k + ":\n";
      text += "  %i" + k + " = load volatile <16 x i32>, ptr %q, align 4\n  %f" + k +
              " = sitofp <16 x i32> %i" + k + " to <16 x float>\n";
      for (unsigned step = b * kSteps; step < (b + 1) * kSteps; ++step)
        for (unsigned n = 0; n < kSums; ++n)
          text += "  %s" + number(n) + "x" + number(step + 1) +
                  " = call <16 x float> @llvm.fma.v16f32(<16 x float> %f" + k + ", <16 x float> %f" + k +
                  ", <16 x float> %s" + number(n) + "x" + number(step) + ")\n";
      if (b + 1 < blocks)
        text += "  %m" + k + " = load volatile i32, ptr %in\n  %c" + k + " = icmp eq i32 %m" + k +
                ", 123\n  br i1 %c" + k + ", label %rare, label %b" + number(b + 1) + ", !prof !0\n";
    }
    text +=
        "  %more = add i64 %n, 1\n  %again = icmp ult i64 %more, 3\n  br i1 %again, label %b0, label %done\n"
        "rare:\n  ret void\ndone:\n";
    for (unsigned n = 0; n < kSums; ++n)
      text += "  %o" + number(n) + " = getelementptr i8, ptr %out, i64 " + number(n * 64) +
              "\n  store <16 x float> %s" + number(n) + "x" + last + ", ptr %o" + number(n) + ", align 1\n";
    SCOPED_TRACE(blocks);
    const std::string function = std::string(kDeclarations) + "define void @f(ptr %in, ptr %out) {\n" + text +
                                 "  ret void\n}\n!0 = !{!\"branch_weights\", i32 1, i32 2000}\n";
    expect_same(function);
    for (const HostTarget& target : targets_) {
      if (!target.simd.mask_registers) continue;
      unsigned copies = 0;
      for (const auto& [name, _] : instructions_in(*make(function, target).object, target))
        copies += name.starts_with("VMOVAPS") || name.starts_with("VMOVUPSZmr");
      EXPECT_LE(copies, kSums) << "the stores of the results";
    }
  }
}

/// Lanes of values that are computed, so that they lie in registers and not in memory.
TEST_F(BaselineHomes, FewLanesAreTakenFromRegisters) {
  struct Lanes {
    const char *type, *element;
    unsigned count;
  };
  for (const Lanes& lanes : {Lanes{"<8 x i64>", "i64", 8}, Lanes{"<16 x i32>", "i32", 16},
                             Lanes{"<32 x i16>", "i16", 32}, Lanes{"<64 x i8>", "i8", 64}}) {
    const std::string type = lanes.type;
    for (unsigned lane = 0; lane < lanes.count; ++lane)
      expect_instruction(type, lanes.element,
                         "  %x = add " + type + " %a, %a\n  %r = extractelement " + type + " %x, i32 " +
                             std::to_string(lane),
                         "VPADD", "VMOVUPSZmr");
  }
  for (const Lanes& lanes : {Lanes{"<8 x double>", "double", 8}, Lanes{"<16 x float>", "float", 16}}) {
    const std::string type = lanes.type;
    for (unsigned lane = 0; lane < lanes.count; ++lane)
      expect_same(type, lanes.element, "extractelement " + type + " " + "%a, i32 " + std::to_string(lane));
    expect_instruction(type, lanes.element,
                       "  %i = bitcast " + type +
                           " %a to <16 x i32>\n  %y = add <16 x i32> %i, %i\n  %x = bitcast "
                           "<16 x i32> %y to " +
                           type + "\n  %r = extractelement " + type + " %x, i32 " +
                           std::to_string(lanes.count - 1),
                       "VEXTRACTI32", "VMOVUPSZmr");
  }
}

/// Sums, shifts and elements that are read and written at, and by others, too.
TEST_F(BaselineHomes, AddressesAreAddedUpWhereTheyAreRead) {
  const std::string start = "  %n = and i64 %a, 7\n  %m = and i64 %a, 15\n  %i = ptrtoint ptr %in to i64\n";
  const auto reads = [&](const std::string& text) { return start + text; };
  // base + index * 4 + 64
  expect_instruction(
      "i64", "i32",
      reads("  %s = shl i64 %n, 2\n  %x = add i64 %i, %s\n  %y = add i64 %x, 64\n  %p = inttoptr "
            "i64 %y to ptr\n  %r = load i32, ptr %p, align 1"),
      "MOV32rm", "SHL64");
  // The cast is a part of another address, and read itself.
  expect_instruction(
      "i64", "i32",
      reads("  %x = add i64 %i, %n\n  %y = add i64 %x, 64\n  %p = inttoptr i64 %y to ptr\n  %q = "
            "getelementptr i8, ptr %p, i64 %m\n  %q2 = getelementptr i8, ptr %q, i64 4\n  %u = load "
            "i32, ptr %p, align 1\n  %v = load i32, ptr %q2, align 1\n  %r = xor i32 %u, %v"),
      "MOV32rm", "IMUL");
  // Two shifts, of which one fits; a shift scaled twice; a shift that is no part only.
  expect_instruction(
      "i64", "i32",
      reads("  %s = shl i64 %n, 2\n  %t = shl i64 %m, 3\n  %x = add i64 %s, %t\n  %p = getelementptr "
            "i8, ptr %in, i64 %x\n  %r = load i32, ptr %p, align 1"),
      "SHL64", "IMUL");
  expect_instruction(
      "i64", "i32",
      reads("  %s = shl i64 %n, 1\n  %t = shl i64 %s, 2\n  %x = add i64 %i, %t\n  %p = inttoptr i64 "
            "%x to ptr\n  %u = load i32, ptr %p, align 1\n  %w = trunc i64 %t to i32\n  %r = add i32 "
            "%u, %w"),
      "SHL64", "IMUL");
  // Elements of elements, sums in a scaled index.
  expect_instruction(
      "i64", "i32",
      reads("  %j = add i64 %n, 3\n  %p = getelementptr i32, ptr %in, i64 %j\n  %q = getelementptr i8, "
            "ptr %p, i64 12\n  %r = load i32, ptr %q, align 1"),
      "MOV32rm", "ADD64ri");
  expect_instruction(
      "i64", "i32",
      reads("  %p = getelementptr i32, ptr %in, i64 %n\n  %q = getelementptr i64, ptr %p, i64 %m\n  %r "
            "= load i32, ptr %q, align 1"),
      "MOV32rm", "IMUL");
  // A shift that is an address by itself, and part of another; a sum that more accesses share than fold it.
  expect_instruction("i64", "i32",
                     reads("  %s = shl i64 %n, 2\n  %x = add i64 %i, %s\n  %p = inttoptr i64 %x to ptr\n  %r "
                           "= load i32, ptr %p, "
                           "align 1\n  %q = inttoptr i64 %s to ptr\n  call void @llvm.prefetch.p0(ptr %q, "
                           "i32 0, i32 3, i32 1)"),
                     "SHL64", "IMUL");
  const auto sums = [&](int accesses) {
    std::string text =
        "  %x = add i64 %i, %n\n  %p = inttoptr i64 %x to ptr\n  %r0 = load i32, ptr %p, align 1\n";
    for (int k = 1; k < accesses; ++k)
      text += fmt::format(
          "  %q{0} = getelementptr i8, ptr %p, i64 {1}\n  %l{0} = load i32, ptr %q{0}, align 1\n  "
          "%r{0} = add i32 %r{2}, %l{0}\n",
          k, 4 * k, k - 1);
    return reads(text + fmt::format("  %r = add i32 %r{}, 1", accesses - 1));
  };
  expect_instruction("i64", "i32", sums(3), "MOV32rm", "ADD64");
  expect_instruction("i64", "i32", sums(4), "ADD64", "IMUL");
  // The same number for both, a distance that is far (back and forth), and an address that is stored.
  expect_instruction(
      "i64", "i32",
      reads("  %x = add i64 %n, %n\n  %p = getelementptr i32, ptr %in, i64 %x\n  %r = load i32, ptr "
            "%p, align 1"),
      "MOV32rm", "IMUL");
  expect_instruction("i64", "i32",
                     reads("  %x = add i64 %i, 4000000000\n  %y = add i64 %x, %n\n  %z = add i64 %y, "
                           "-4000000000\n  %p = inttoptr i64 %z to ptr\n  %r = load i32, ptr %p, align 1"),
                     "MOV32rm", "IMUL");
  expect_instruction(
      "i64", "i64",
      reads("  %o = getelementptr i8, ptr %out, i64 64\n  %x = add i64 %n, %m\n  %p = getelementptr "
            "i64, ptr %o, i64 %n\n  store i64 %x, ptr %p, align 1\n  %q = getelementptr i8, ptr %p, "
            "i64 %m\n  store i64 %n, ptr %q, align 1\n  %r = load i64, ptr %p, align 1"),
      "MOV64mr", "IMUL");
}

/// Past the caches go whole registers only: what lies behind stays.
TEST_F(BaselineHomes, StoresPastTheCachesKeepToTheirBytes) {
  for (const char* type :
       {"<16 x i32>", "<12 x i32>", "<8 x i32>", "<6 x i32>", "<32 x i32>", "<28 x i32>", "<4 x i32>"}) {
    const std::string t = type;
    expect_same(
        "define void @f(ptr %in, ptr %out) {\n  %fill = load <64 x i8>, ptr %in\n  store <64 x i8> %fill, "
        "ptr %out\n"
        "  %o = getelementptr i8, ptr %out, i64 64\n  store <64 x i8> %fill, ptr %o\n  %p = getelementptr "
        "i8, ptr %in, i64 256\n  %a = load " +
        t + ", ptr %p\n  store " + t +
        " %a, ptr %out, align 64, !nontemporal !0\n  fence seq_cst\n  ret void\n}\n!0 = !{i32 1}\n");
  }
}

}  // namespace
}  // namespace raddle::jit
