// When late copies land: the text that asks for it, and choices that a seed repeats.
#include "machine/tma/adversary.h"

#include <gtest/gtest.h>

#include <vector>

#include "machine/tma/asynchrony.h"

namespace raddle::machine {
namespace {

using Mode = Asynchrony::Mode;

// proves: T-16b, T-16e
TEST(AsynchronyText, IsAModeAndASeed) {
  EXPECT_EQ(parse_asynchrony("")->mode, Mode::eager);
  EXPECT_EQ(parse_asynchrony("eager")->mode, Mode::eager);
  EXPECT_EQ(parse_asynchrony("lazy")->mode, Mode::lazy);
  EXPECT_EQ(parse_asynchrony("random")->mode, Mode::random);
  EXPECT_EQ(parse_asynchrony("random")->seed, 1u);
  EXPECT_EQ(parse_asynchrony("random:77")->mode, Mode::random);
  EXPECT_EQ(parse_asynchrony("random:77")->seed, 77u);
  for (const char* wrong : {"late", "random:", "random:x", "random:-1", "lazy:3", "Random"})
    EXPECT_FALSE(parse_asynchrony(wrong).ok()) << wrong;
  EXPECT_NE(parse_asynchrony("late").error().message.find("eager, lazy, random, random:SEED"),
            std::string::npos);
}

std::vector<std::size_t> choices(Adversary adversary) {
  std::vector<std::size_t> all;
  for (int i = 0; i < 400; ++i) {
    all.push_back(adversary.choose(100));
    all.push_back(adversary.burst());
    all.push_back(adversary.lets_others_run());
  }
  return all;
}

// proves: T-16e
TEST(AnAdversary, RepeatsItsChoicesBySeed) {
  const Asynchrony random{Mode::random, 5};
  EXPECT_EQ(choices(Adversary(random)), choices(Adversary(random)));
  EXPECT_NE(choices(Adversary(random)), choices(Adversary({Mode::random, 6})));
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (const std::size_t choice : choices(Adversary({Mode::random, seed}))) ASSERT_LE(choice, 256u);
}

TEST(AnAdversary, ThatIsLazyLandsTheOldestWhenItMust) {
  for (const std::size_t choice : choices(Adversary({Mode::lazy, 5}))) ASSERT_EQ(choice, 0u);
}

}  // namespace
}  // namespace raddle::machine
