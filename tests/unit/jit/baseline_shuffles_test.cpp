// Shuffles of two vectors that AVX2 has an instruction for.
#include <cstdlib>
#include <string>
#include <vector>

#include "baseline_fixture.h"

namespace raddle::jit {
namespace {

using BaselineShuffles = Baseline;

/// Words of two registers of AVX2 in turn, or halves of them: one instruction. With one word elsewhere, more.
TEST_F(BaselineShuffles, AreOneInstructionWhereThereIsOne) {
  const auto shuffle = [](const std::string& type, const std::string& operands, const std::string& mask) {
    std::string text = "shufflevector " + type + " " + operands.substr(0, 2) + ", " + type + " " +
                       operands.substr(2) + ", <" + std::to_string(std::atoi(type.c_str() + 1)) + " x i32> <";
    for (std::size_t at = 0; at < mask.size(); ++at)
      if (mask[at] == ' ')
        text += ", ";
      else if (at == 0 || mask[at - 1] == ' ')
        text += mask[at] == '-' ? "i32 poison" : "i32 " + mask.substr(at, mask.find(' ', at) - at);
    return text + ">";
  };
  struct Case {
    std::string type, mask, instruction;
  };
  for (const auto& [type, mask, instruction] :
       std::vector<Case>{{"<8 x i32>", "0 8 1 9 4 12 5 13", "VPUNPCKLDQ"},
                         {"<8 x i32>", "2 10 3 11 6 14 7 15", "VPUNPCKHDQ"},
                         {"<8 x float>", "0 1 8 9 4 5 12 13", "VPUNPCKLQDQ"},
                         {"<8 x float>", "2 3 10 11 6 7 14 15", "VPUNPCKHQDQ"},
                         {"<4 x i64>", "0 4 2 6", "VPUNPCKLQDQ"},
                         {"<4 x i64>", "1 5 3 7", "VPUNPCKHQDQ"},
                         {"<8 x i32>", "- 8 1 9 4 12 - 13", "VPUNPCKLDQ"},
                         {"<8 x i32>", "0 1 2 3 8 9 10 11", "VPERM2I128"},
                         {"<8 x i32>", "4 5 6 7 12 13 14 15", "VPERM2I128"},
                         {"<8 x i32>", "4 5 6 7 8 9 - 11", "VPERM2I128"},
                         {"<4 x i32>", "0 4 1 5", "VPUNPCKLDQ"},
                         {"<16 x i16>", "0 16 1 17 2 18 3 19 8 24 9 25 10 26 11 27", "VPUNPCKLWD"},
                         {"<16 x i16>", "4 20 5 21 6 22 7 23 12 28 13 29 14 30 - 31", "VPUNPCKHWD"},
                         {"<16 x i16>", "0 1 16 17 2 3 18 19 8 9 24 25 10 11 26 27", "VPUNPCKLDQ"},
                         {"<16 x i16>", "0 1 2 3 4 5 6 7 24 25 26 27 28 29 30 31", "VPERM2I128"},
                         {"<16 x i16>", "0 1 16 17 2 3 18 19 8 9 24 25 10 11 27 26", ""},
                         {"<16 x i16>", "0 17 2 3 16 1 18 19 8 9 24 25 10 11 26 27", ""},
                         {"<8 x i32>", "0 8 1 9 4 12 5 14", ""},
                         {"<8 x i32>", "0 1 2 3 8 9 11 10", ""},
                         {"<8 x i32>", "0 8 1 9 12 4 13 5", ""}})
    for (const char* operands : {"%a%b", "%b%a"}) {
      const std::string text = shuffle(type, operands, mask);
      expect_same(type, type, text);
      for (const HostTarget& target : targets_) {
        if (target.simd.mask_registers) continue;
        const Made made =
            make("define void @f(ptr %in, ptr %out) {\n  %a = load " + type +
                     ", ptr %in\n  %p = getelementptr i8, ptr %in, i64 64\n  %b = load " + type +
                     ", ptr %p\n  %r = " + text + "\n  store " + type + " %r, ptr %out\n  ret void\n}\n",
                 target);
        ASSERT_TRUE(made.object) << made.unknown;
        std::string found;
        for (const auto& [name, _] : instructions_in(*made.object, target))
          for (const char* one : {"VPUNPCKLWD", "VPUNPCKHWD", "VPUNPCKLDQ", "VPUNPCKHDQ", "VPUNPCKLQDQ",
                                  "VPUNPCKHQDQ", "VPERM2I128"})
            if (name.starts_with(one)) found += one;
        EXPECT_EQ(found, instruction) << text;
      }
    }
}

}  // namespace
}  // namespace raddle::jit
