// What the code generator is told for the whole process.
#include "jit/host.h"

#include <gtest/gtest.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetMachine.h>

namespace raddle::jit {
namespace {

template <typename Value>
Value option(const char* name) {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(name);
  if (found == options.end()) return Value();
  return static_cast<const llvm::cl::opt<Value>*>(found->second)->getValue();
}

// An option whose name LLVM no longer knows is left out in silence, and costs compile time only.
TEST(HostTest, LlvmKnowsTheBoundsOfCompilation) {
  make_target_machine(host_target(SimdLevel::host), Tier::optimised);
  EXPECT_EQ(option<unsigned long>("grow-region-complexity-budget"), 200ul);
  EXPECT_EQ(option<unsigned>("late-remat-update-threshold"), 1u);
  EXPECT_EQ(option<unsigned>("dag-maps-huge-region"), 300u);
  EXPECT_TRUE(option<bool>("disable-lsr"));
}

}  // namespace
}  // namespace raddle::jit
