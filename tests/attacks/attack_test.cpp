// what hostile kernels do to a windowed address space's neighbours, and that the same kernels succeed
// where nothing keeps them in.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <thread>

#include "arena.h"
#include "forms.h"

namespace raddle::attacks {
namespace {

/// RADDLE_ATTACKS, or what a run of CI makes of them: half on each engine.
unsigned attack_count() {
  const char* wanted = std::getenv("RADDLE_ATTACKS");
  return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 20'000;
}

std::uint64_t seed() {
  const char* wanted = std::getenv("RADDLE_TEST_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : 1;
}

/// A secret, somewhere near one, or anywhere.
std::uint64_t draw_target(const Arena& arena, std::mt19937_64& random) {
  const std::uint64_t known = arena.targets()[random() % arena.targets().size()].address;
  switch (random() % 8) {
    case 0:
      return random();
    case 1:
      return random() & 0x7fff'ffff'fff0;
    case 2:
      return known + (random() & 0xffff'ffff) - 0x7fff'ffff;
    default:
      return known + random() % 4 * 16;
  }
}

bool has_secret(const Arena& arena, const Arena::Outcome& outcome) {
  for (const Target& target : arena.targets())
    for (const std::uint64_t word : target.words)
      if (word != 0 && std::ranges::find(outcome.read, word) != outcome.read.end()) return true;
  for (std::uint64_t word : outcome.read)
    for (unsigned shift = 0; shift <= 32; shift += 8)
      if ((word >> shift & 0xffffffff) == (kSecret & 0xffffffff) ||
          (word >> shift & 0xffffffff) == kSecret >> 32)
        return true;
  return outcome.printed.find("\xe7\xc4\x5e") != std::string::npos;
}

/// Attackers' own memory holds zeros only.
bool read_something(const Arena::Outcome& outcome) {
  return std::ranges::any_of(outcome.read, [](std::uint64_t word) { return word != 0; }) ||
         !outcome.printed.empty();
}

class Attacks : public ::testing::TestWithParam<std::string> {};

void attack_at_random(Arena& arena, const std::string& engine, std::uint64_t seed, unsigned count) {
  std::mt19937_64 random(seed);
  constexpr unsigned kEach = 64;  // of a kernel, which takes long to compile
  for (unsigned done = 0; done < count; done += kEach) {
    const Form& form = forms()[random() % forms().size()];
    const Trick& trick = tricks()[random() % tricks().size()];
    const Translation how = random() % 4 == 0 ? Translation::modelled : Translation::windowed;
    const auto kernel = Kernel::make(kernel_of(form, trick), engine, how);
    ASSERT_NE(kernel, nullptr) << form.name;
    for (unsigned i = 0; i < kEach; ++i) {
      const std::uint64_t target = draw_target(arena, random);
      SCOPED_TRACE(::testing::Message() << form.name << ", " << trick.name << ", at " << std::hex << target);
      const Arena::Outcome outcome = arena.attack(*kernel, target, how);
      ASSERT_TRUE(arena.restore()) << "a secret has changed: " << outcome.fault.to_string();
      ASSERT_FALSE(has_secret(arena, outcome)) << "a secret was read: " << outcome.fault.to_string();
    }
  }
}

// In several arenas at once, as an attack is short and most of it is one thread's waiting for another.
// proves: A-10a, A-10b, A-10c
TEST_P(Attacks, ReachNoOtherSpaceAndNotTheProgram) {
  std::array<Arena, 4> arenas;
  std::array<std::thread, 4> attackers;
  for (std::size_t i = 0; i < arenas.size(); ++i)
    attackers[i] = std::thread([&, i] {
      attack_at_random(arenas[i], GetParam(), seed() * arenas.size() + i,
                       attack_count() / 2 / static_cast<unsigned>(arenas.size()));
    });
  for (std::thread& attacker : attackers) attacker.join();
}

// Each form with each trick once, where both are sure to lead to the secret: it has to be a fault.
void attack_by_every_form(const std::string& engine, Translation how) {
  Arena arena;
  for (const Form& form : forms()) {
    const auto kernel = Kernel::make(kernel_of(form, tricks()[0]), engine, how);
    EXPECT_NE(kernel, nullptr) << form.name;
    if (kernel == nullptr) continue;
    for (const Target& target : arena.targets()) {
      SCOPED_TRACE(::testing::Message() << form.name << " of " << target.name);
      const Arena::Outcome outcome = arena.attack(*kernel, target.address, how);
      EXPECT_TRUE(arena.restore());
      EXPECT_FALSE(has_secret(arena, outcome));
      if (form.always_faults) EXPECT_NE(outcome.fault.kind, exec::FaultKind::none);
      if (form.always_faults || form.reads) EXPECT_FALSE(read_something(outcome));
    }
  }
}

TEST_P(Attacks, OfEveryFormAreFaults) { attack_by_every_form(GetParam(), Translation::windowed); }
TEST_P(Attacks, OfEveryFormAreFaultsWherePagesTranslate) {
  attack_by_every_form(GetParam(), Translation::modelled);
}

/// Whether one of the secrets is read or changed where nothing keeps the kernel in.
bool succeeds(Arena& arena, const Form& form, const Trick& trick, const std::string& engine) {
  const auto kernel = Kernel::make(kernel_of(form, trick), engine, Translation::direct);
  for (const Target& target : arena.targets()) {
    const Arena::Outcome outcome = arena.attack(*kernel, target.address, Translation::direct);
    const bool was_whole = arena.restore();
    if (!was_whole || read_something(outcome)) return true;
  }
  return false;
}

// The generator is worth something: without windows its kernels read and change what is not theirs.
TEST_P(Attacks, SucceedWithoutWindows) {
  Arena arena;
  for (const Form& form : forms())
    if (form.reads || form.writes) EXPECT_TRUE(succeeds(arena, form, tricks()[0], GetParam())) << form.name;
}

// Code is no exception, of this program nor of compiled kernels.
TEST_P(Attacks, ReadCodeWithoutWindows) {
  Arena arena;
  const auto load = std::ranges::find_if(
      forms(), [](const Form& form) { return std::string_view(form.name) == "ld.global.u64"; });
  const auto kernel = Kernel::make(kernel_of(*load, tricks()[0]), GetParam(), Translation::direct);
  std::size_t read = 0;
  for (const Target& target : arena.targets()) {
    if (!target.is_code) continue;
    EXPECT_TRUE(has_secret(arena, arena.attack(*kernel, target.address, Translation::direct))) << target.name;
    ++read;
  }
  EXPECT_EQ(read, engines().size()) << "compiled kernels have code of their own";
}

TEST_P(Attacks, SucceedByEveryTrickWithoutWindows) {
  Arena arena;
  for (const Trick& trick : tricks()) {
    if (trick.of_compiled_code && GetParam() != "jit") continue;
    EXPECT_TRUE(std::ranges::any_of(forms(), [&](const Form& form) {
      return (form.reads || form.writes) && succeeds(arena, form, trick, GetParam());
    })) << trick.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Attacks, ::testing::ValuesIn(engines()));

}  // namespace
}  // namespace raddle::attacks
