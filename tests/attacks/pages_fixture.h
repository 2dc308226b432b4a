// Two modelled spaces on one machine, whose pages the test enters itself, and a kernel that adds to two
// words.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "arena.h"

namespace raddle::attacks {

using machine::Aperture;
using machine::FrameRun;
using machine::PagedSpace;
using machine::Permissions;

inline constexpr std::uint64_t kFrame = 4096;

/// Adds 1 to the words at two addresses and gives what was there, from one lane.
inline constexpr const char* kTwoWords = R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry two_words(.param .u64 first, .param .u64 second, .param .u64 out)
{
  .reg .u64 %a<3>, %x<2>;
  .reg .u32 %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p bra done;
  ld.param.u64 %a0, [first];
  ld.param.u64 %a1, [second];
  ld.param.u64 %a2, [out];
  ld.global.u64 %x0, [%a0];
  ld.global.u64 %x1, [%a1];
  st.global.u64 [%a2], %x0;
  st.global.u64 [%a2+8], %x1;
  add.u64 %x0, %x0, 1;
  add.u64 %x1, %x1, 1;
  st.global.u64 [%a0], %x0;
  st.global.u64 [%a1], %x1;
done:
  ret;
}
)";

class PagesTest : public testing::TestWithParam<std::string> {
 protected:
  PagesTest() { restart({}); }

  void restart(const machine::MmuSpec& spec, std::optional<ContextMode> contexts = {}, unsigned workers = 0,
               bool deterministic = false) {
    for (auto& space : spaces_) space.reset();
    machine::MachineOptions options;
    options.shape = *machine::preset_shape("tiny", 2);
    options.workers = workers;
    if (deterministic) options.deterministic = 3;
    options.pin = false;
    options.mmu = spec;
    options.contexts = contexts;
    machine_ = *machine::Machine::create(options);
    for (unsigned i = 0; i < spaces_.size(); ++i) spaces_[i] = opened(contexts ? std::to_string(i + 1) : "");
    kernel_ = Kernel::make(kTwoWords, GetParam(), Translation::modelled);
  }
  std::unique_ptr<machine::AddressSpace> opened(const std::string& context = "") {
    auto space =
        machine::AddressSpace::open(machine_, {.translation = Translation::modelled, .context = context});
    EXPECT_TRUE(space.ok()) << space.error().to_string();
    return std::move(*space);
  }
  PagedSpace& pages(unsigned space) { return *spaces_[space]->pages(); }
  machine::Mmu& mmu() { return pages(0).mmu(); }
  std::uint64_t& word(std::uint64_t physical) {
    return *reinterpret_cast<std::uint64_t*>(mmu().memory().host(physical));
  }
  FrameRun frames(std::uint64_t first, std::uint64_t count) {
    const FrameRun run{first * kFrame, count * kFrame};
    EXPECT_TRUE(mmu().memory().take_at(run));
    return run;
  }
  void enter(unsigned space, std::uint64_t address, FrameRun run, Permissions permissions = {}) {
    const auto entered = pages(space).enter(address, run, permissions);
    ASSERT_TRUE(entered.ok()) << entered.error().to_string();
  }
  exec::Fault run_on(unsigned space, std::uint64_t first, std::uint64_t second, std::uint64_t out) {
    return run(*spaces_[space], *kernel_, {first, second, out});
  }

  std::shared_ptr<machine::Machine> machine_;
  std::array<std::unique_ptr<machine::AddressSpace>, 2> spaces_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace raddle::attacks
