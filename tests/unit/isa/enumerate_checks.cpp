// all_spellings(): what it lists is legal, complete where it is short, and reaches every modifier where it is
// sampled.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "isa/enumerate.h"
#include "isa/op.h"

namespace raddle::isa {
namespace {

TEST(Enumerate, ListsAllSpellingsOfASmallRow) {
  EXPECT_EQ(all_spellings(row(Op::bfe)),
            (std::vector<std::string>{"bfe.u32", "bfe.u64", "bfe.s32", "bfe.s64"}));
  EXPECT_EQ(all_spellings(row(Op::bfind)).size(), 8u);
  EXPECT_EQ(all_spellings(row(Op::exit)), std::vector<std::string>{"exit"});
  EXPECT_EQ(all_spellings(row(Op::add)).size(), 9u);
}

// proves: K-17a
TEST(Enumerate, EverySpellingResolvesToItsOwnRow) {
  for (const Row& row : rows()) {
    const auto spellings = all_spellings(row, 3000);
    EXPECT_FALSE(spellings.empty()) << row.id;
    for (const std::string& text : spellings) {
      const auto opcode = resolve(text);
      ASSERT_TRUE(opcode.ok()) << row.id << ": " << opcode.error().message;
      EXPECT_EQ(opcode.value()->row->id, row.id) << text;
    }
  }
}

TEST(Enumerate, NamesNoSpellingTwice) {
  for (const Row& row : rows()) {
    const auto spellings = all_spellings(row, 2000);
    EXPECT_LE(spellings.size(), 2000u);
    EXPECT_EQ(std::set<std::string>(spellings.begin(), spellings.end()).size(), spellings.size()) << row.id;
  }
}

TEST(Enumerate, ASampleReachesEveryModifier) {
  const auto spellings = all_spellings(row(Op::ld), 800);
  EXPECT_GT(spellings.size(), 400u);
  std::set<std::string_view> missing;
  for (const Form& form : row(Op::ld).forms)
    for (const ModSlot& slot : form.slots) {
      for (const Mod mod : slot.mods) missing.insert(mod_name(mod));
      for (const Type type : slot.types) missing.insert(type_name(type));
    }
  for (const std::string& text : spellings)
    for (auto it = missing.begin(); it != missing.end();)
      it = (text + ".").find("." + std::string(*it) + ".") != std::string::npos ? missing.erase(it)
                                                                                : std::next(it);
  for (const std::string_view name : missing) ADD_FAILURE() << "no spelling with ." << name;
}

TEST(Enumerate, IsTheSameEveryTime) {
  EXPECT_EQ(all_spellings(row(Op::ld), 500), all_spellings(row(Op::ld), 500));
}

}  // namespace
}  // namespace raddle::isa
