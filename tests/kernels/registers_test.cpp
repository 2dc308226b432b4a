// Every special register in every component, in a grid of clusters and in one without: each engine reads what
// the interpreter reads, and values are equal where the register's row says so.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "isa/special_registers/special_registers.h"
#include "kernel_test.h"

namespace {

using raddle::isa::RegisterScope;
using raddle::isa::SpecialRegister;

class Registers : public KernelTest {};
ON_EVERY_ENGINE(Registers);

/// Stores a register's component as 64 bits, by thread of the grid.
std::string register_kernel(SpecialRegister which, unsigned component, bool clusters) {
  const auto type = raddle::isa::row_of(which).type;
  const std::string name = raddle::isa::spelling(which, component);
  const std::string value =
      type == raddle::isa::Type::pred  ? fmt::format("mov.pred %p, {}; selp.u64 %v, 1, 0, %p;", name)
      : type == raddle::isa::Type::u64 ? fmt::format("mov.u64 %v, {};", name)
                                       : fmt::format("mov.u32 %w, {}; cvt.u64.u32 %v, %w;", name);
  return fmt::format(R"(.version 8.6
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out) {}
{{
.reg .pred %p; .reg .b32 %w, %t, %n, %x; .reg .b64 %v, %out, %at;
.shared .align 4 .b8 fixed[100];
  {}
  mov.u32 %x, fixed;
  st.shared.u32 [%x], %x;
  mov.u32 %x, dynamic;
  ld.param.u64 %out, [out];
  mov.u32 %t, %ctaid.y; mov.u32 %n, %nctaid.x; mov.u32 %x, %ctaid.x; mad.lo.u32 %t, %t, %n, %x;
  mov.u32 %n, %ntid.y; mov.u32 %x, %tid.y; mad.lo.u32 %t, %t, %n, %x;
  mov.u32 %n, %ntid.x; mov.u32 %x, %tid.x; mad.lo.u32 %t, %t, %n, %x;
  mul.wide.u32 %at, %t, 8;
  add.u64 %out, %out, %at;
  st.global.u64 [%out], %v;
  ret;
}})",
                     clusters ? ".reqnctapercluster 2, 1, 1" : "", value);
}

constexpr unsigned kDynamic = 60;
constexpr raddle::Dim3 kGrid{4, 3, 1}, kBlock{20, 4, 1};
constexpr unsigned kThreads = 20 * 4, kBlocks = 4 * 3;

std::vector<std::uint64_t> values_on(raddle::Device& device, SpecialRegister which, unsigned component,
                                     bool clusters) {
  std::vector<std::uint64_t> values(kThreads * kBlocks);
  auto module = device.load(register_kernel(which, component, clusters), "registers");
  if (!module.ok()) return ADD_FAILURE() << module.error().to_string(), values;
  auto out = device.buffer(values);
  auto launch = module->kernel("k")->launch({.grid = kGrid, .block = kBlock, .shared_bytes = kDynamic}, *out);
  if (!launch.ok()) return ADD_FAILURE() << launch.error().to_string(), values;
  auto done = launch->wait();
  EXPECT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_TRUE(out->read(values).ok());
  return values;
}

/// Threads whose values are equal, by number.
unsigned group_of(RegisterScope scope, unsigned thread) {
  switch (scope) {
    case RegisterScope::warp:
      return thread / kThreads * 100 + thread % kThreads / 32;
    case RegisterScope::cta:
    case RegisterScope::reserved:
      return thread / kThreads;
    case RegisterScope::extent:
    case RegisterScope::grid:
      return 0;
    default:
      return thread;
  }
}

TEST_P(Registers, AreTheInterpretersAndEqualAsTheRowSays) {
  auto options = options_;
  options.engine = "interp";
  auto interpreter = raddle::Device::open(options);
  ASSERT_TRUE(interpreter.ok()) << interpreter.error().to_string();
  for (const bool clusters : {false, true})
    for (unsigned r = 0; r < raddle::isa::kSpecialRegisters.size(); ++r) {
      const auto which = static_cast<SpecialRegister>(r);
      const auto& row = raddle::isa::row_of(which);
      for (unsigned component = 0; component < std::min(row.components, 4u); ++component) {
        SCOPED_TRACE(raddle::isa::spelling(which, component) + (clusters ? " in clusters" : ""));
        const auto found = values_on(device(), which, component, clusters);
        // Where blocks run and how many grids there were is the run's.
        if (row.scope != RegisterScope::moment && which != SpecialRegister::smid &&
            which != SpecialRegister::gridid)
          EXPECT_EQ(found, values_on(*interpreter, which, component, clusters));
        std::map<unsigned, std::uint64_t> first;
        for (unsigned thread = 0; thread < found.size(); ++thread)
          ASSERT_EQ(first.emplace(group_of(row.scope, thread), found[thread]).first->second, found[thread])
              << thread;
      }
    }
}

// 100 static bytes and the dynamic ones behind, with CUDA's reserved bytes, in the units that SMs grant.
TEST_P(Registers, OfSharedMemoryCountWhatTheManualSays) {
  const std::map<SpecialRegister, std::uint64_t> want{{SpecialRegister::dynamic_smem_size, kDynamic},
                                                      {SpecialRegister::reserved_smem_offset_cap, 1024}};
  for (const auto& [which, value] : want) EXPECT_EQ(values_on(device(), which, 0, false)[0], value);
  const auto total = values_on(device(), SpecialRegister::total_smem_size, 0, false)[0];
  EXPECT_EQ(total % 128, 0u);
  EXPECT_GE(total, 100 + kDynamic);
  EXPECT_EQ(values_on(device(), SpecialRegister::aggr_smem_size, 0, false)[0], total + 1024);
}

}  // namespace
