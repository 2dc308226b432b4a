// The instruction table itself: every row parses, says enough, and belongs where it stands. Checks that can
// be made row by row are made for all rows, so that a new row needs no new test here.
#include <gtest/gtest.h>

#include <filesystem>

#include "isa/op.h"
#include "isa/parse_row.h"
#include "isa/row.h"
#include "isa/texts.h"
#include "unit/source_directory.h"

namespace raddle::isa {
namespace {

std::vector<std::string> problems_of(const RowText& text) {
  std::vector<std::string> problems;
  parse_row(Op::bfe, {"bfe", "src/isa/integer_arithmetic/rows.def", &text}, problems);
  return problems;
}

TEST(Rows, ParseWithoutProblems) {
  for (const std::string& problem : row_problems()) ADD_FAILURE() << problem;
}

TEST(Rows, StandInTheOrderOfTheirEnumerators) {
  ASSERT_EQ(rows().size(), kOpCount);
  for (std::size_t i = 0; i < kOpCount; ++i) EXPECT_EQ(rows()[i].op, static_cast<Op>(i)) << rows()[i].id;
  EXPECT_EQ(row(Op::bfe).id, "bfe");
  EXPECT_EQ(row(Op::and_).id, "and_");
}

TEST(Rows, KnowTheirChapter) {
  EXPECT_EQ(row(Op::bfe).chapter, "integer_arithmetic");
  EXPECT_EQ(row(Op::suld).chapter, "surface");
  for (const Row& row : rows())
    EXPECT_TRUE(std::filesystem::is_directory(source_directory() + "/src/isa/" + row.chapter))
        << row.id << ": " << row.chapter;
}

TEST(Rows, SayWhyTheyAreUnsupported) {
  for (const Row& row : rows()) {
    if (row.text->status == Status::unsupported) {
      EXPECT_NE(row.text->note.find("not executed yet"), std::string_view::npos) << row.id;
    }
  }
}

// proves: K-17a
TEST(Rows, OfSm90aAndBelowAreDone) {
  for (const Row& row : rows()) EXPECT_TRUE(row.text->sm > 90 || row.text->status == Status::done) << row.id;
}

TEST(Rows, NameASectionAndAVersion) {
  for (const Row& row : rows()) {
    EXPECT_NE(row.text->section.find("instructions"), std::string_view::npos) << row.id;
    EXPECT_GE(row.text->ptx, 10u) << row.id;
    EXPECT_LE(row.text->ptx, 90u) << row.id;
    EXPECT_GE(row.text->sm, 10u) << row.id;
    EXPECT_LE(row.text->sm, 121u) << row.id;
  }
}

TEST(Rows, GiveApproximationsAnErrorAndItsDomain) {
  for (const Row& row : rows()) {
    if (row.text->numerics != Numerics::approx) continue;
    EXPECT_GT(row.text->error, 0) << row.id;
    EXPECT_LT(row.text->error, 0.01) << row.id;
    EXPECT_FALSE(row.text->note.empty()) << row.id;
  }
}

/// The JIT leaves RADDLE_MMA=hopper to the interpreter by this.
TEST(Rows, ThatMultiplyMatricesGiveSums) {
  for (const Row& row : rows()) {
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(row.operands, [=](const OperandSpec& spec) { return spec.name == name; });
    };
    if (row.text->section.find("mma") == std::string_view::npos || !has("a") || !has("b")) continue;
    EXPECT_EQ(row.text->numerics, Numerics::sums) << row.id;
  }
}

TEST(Rows, OperandsOfDoneRowsHaveTypes) {
  for (const Row& row : rows()) {
    for (const OperandSpec& spec : row.operands) {
      if (spec.kind != OperandKind::value || spec.type == "any") continue;
      EXPECT_TRUE(spec.fixed != Type::none || spec.type_slot >= 0) << row.id << " " << spec.name;
    }
  }
}

TEST(Rows, MemoryOperandsComeWithEffects) {
  for (const Row& row : rows()) {
    for (const OperandSpec& spec : row.operands) {
      if (spec.kind != OperandKind::address || row.mnemonic == "createpolicy") continue;
      EXPECT_NE(row.text->effects, Effects::pure) << row.id;
    }
  }
}

TEST(Rows, ModifiersHaveOneSpellingEach) {
  std::set<std::string_view> names;
  for (auto i = 1u; i < static_cast<unsigned>(Mod::count); ++i) {
    const Mod mod = static_cast<Mod>(i);
    EXPECT_TRUE(names.insert(mod_name(mod)).second) << mod_name(mod) << " twice";
    EXPECT_EQ(mod_from_name(mod_name(mod)), mod);
    EXPECT_EQ(type_from_name(mod_name(mod)), Type::none) << mod_name(mod) << " is a type too";
  }
  EXPECT_EQ(mod_from_name("no_such_modifier"), Mod::none);
}

TEST(ParseRow, ReadsFormsSetsAndOperands) {
  std::vector<std::string> problems;
  const RowText text{
      .syntax = "op.flag{.sat}.type d{|p}, [a]{, c}; .flag = { .hi, .lo }; .type = { .u32, .s8 };",
      .operands = "d:type.vec+ p:pred = a:addr c:wide(type0)"};
  const Row row = parse_row(Op::bfe, {"op", "x/src/isa/logic_shift/rows.def", &text}, problems);
  EXPECT_EQ(problems, std::vector<std::string>{});
  EXPECT_EQ(row.mnemonic, "op");
  EXPECT_EQ(row.chapter, "logic_shift");
  ASSERT_EQ(row.forms.size(), 1u);
  const Form& form = row.forms[0];
  ASSERT_EQ(form.slots.size(), 3u);
  EXPECT_EQ(form.slots[0].set, "flag");
  EXPECT_EQ(form.slots[0].mods, (std::vector<Mod>{Mod::hi, Mod::lo}));
  EXPECT_TRUE(form.slots[1].optional);
  EXPECT_EQ(form.slots[2].types, (std::vector<Type>{Type::u32, Type::s8}));
  ASSERT_EQ(form.operands.size(), 4u);
  EXPECT_TRUE(form.operands[1].optional && form.operands[1].joined);
  EXPECT_FALSE(form.operands[2].optional || form.operands[2].joined);
  EXPECT_TRUE(form.operands[3].optional);
  EXPECT_FALSE(form.operands[3].joined);
  ASSERT_EQ(row.operands.size(), 4u);
  EXPECT_TRUE(row.operands[0].is_destination && row.operands[0].vector && row.operands[0].may_be_wider);
  EXPECT_EQ(row.operands[0].type_slot, 0);
  EXPECT_EQ(row.operands[1].fixed, Type::pred);
  EXPECT_EQ(row.operands[2].kind, OperandKind::address);
  EXPECT_TRUE(row.operands[3].widened);
}

TEST(ParseRow, FindsMistakes) {
  const auto finds = [](const RowText& text, std::string_view what) {
    for (const std::string& problem : problems_of(text))
      if (problem.find(what) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(finds({.syntax = "op.type d;", .operands = "d:u32 ="}, ".type is no set, modifier or type"));
  EXPECT_TRUE(finds({.syntax = "op d; .type = { .u32 };", .operands = "d:u32 ="}, "set .type is not used"));
  EXPECT_TRUE(finds({.syntax = "op.type d; .type = { .u33 };", .operands = "d:u32 ="}, "names unknown .u33"));
  EXPECT_TRUE(finds({.syntax = "op.sat d; .sat = { .u32 };", .operands = "d:u32 ="}, "name of a modifier"));
  EXPECT_TRUE(finds({.syntax = "op{.sat d;", .operands = "d:u32 ="}, "unclosed brace"));
  EXPECT_TRUE(finds({.syntax = "op d, a;", .operands = "d:u32 ="}, "operand a of 'op d, a' has no type"));
  EXPECT_TRUE(finds({.syntax = "op d;", .operands = "d:u32 = a:u32"}, "operand a is in no form"));
  EXPECT_TRUE(finds({.syntax = "op d;", .operands = "d:type0 ="}, "has no type modifier 0"));
  EXPECT_TRUE(finds({.syntax = "op d;", .operands = "d:nonsense ="}, "unknown type 'nonsense'"));
  EXPECT_TRUE(finds({.syntax = "op d; po d;", .operands = "d:u32 ="}, "forms of op and po"));
  EXPECT_TRUE(finds({.syntax = "op d;", .operands = ""}, "done, but without operands"));
  EXPECT_TRUE(finds({.syntax = "", .operands = "="}, "no form"));
  EXPECT_TRUE(
      finds({.syntax = "op.t.u32 d; op.u32.t d; .t = { .s32 };", .operands = "d:t ="}, "stands elsewhere"));
}

}  // namespace
}  // namespace raddle::isa
