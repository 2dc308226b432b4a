// Kernels that go wrong, on every engine: what the error says, that the process lives on, that the device
// keeps the error, and that a new device in the same process works.
#include <algorithm>

#include "kernel_test.h"

namespace {

class Faults : public KernelTest {
 protected:
  /// Runs a kernel that must fail. @returns the error's text
  template <class... Arguments>
  std::string fault(const char* name, const Arguments&... arguments) {
    auto failed = try_run(kernel("calls.ptx", name), {.grid = {1}, .block = {threads_}}, arguments...);
    if (failed.ok()) {
      ADD_FAILURE() << name << " ended well";
      return {};
    }
    EXPECT_EQ(failed.error().code, raddle::ErrorCode::kernel_fault);
    return failed.error().message;
  }

  /// After a fault every use of the device says so; a device opened next to it is not concerned.
  void expect_sticky(const std::string& message, raddle::Buffer<int>& buffer) {
    EXPECT_EQ(device().status().error().message, message);
    EXPECT_EQ(device().synchronize().error().message, message);
    std::vector<int> values(buffer.size());
    EXPECT_EQ(buffer.read(values).error().message, message);
    EXPECT_EQ(buffer.write(values).error().message, message);
    EXPECT_EQ(device().default_stream().synchronize().error().message, message);
    auto again = try_run(kernel("calls.ptx", "fine"), {.grid = {1}, .block = {64}}, buffer);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, raddle::ErrorCode::kernel_fault);
    EXPECT_EQ(again.error().message, message);

    auto other = raddle::Device::open(options_);
    ASSERT_TRUE(other.ok()) << other.error().to_string();
    auto module = other->load_file(RADDLE_KERNEL_TESTS "/calls.ptx");
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    auto out = other->buffer(std::vector<int>(64));
    auto launch = module->kernel("fine")->launch({.grid = {1}, .block = {64}}, *out);
    ASSERT_TRUE(launch.ok()) << launch.error().to_string();
    ASSERT_TRUE(launch->wait().ok());
    ASSERT_TRUE(out->read(values).ok());
    for (int i = 0; i < 64; ++i) EXPECT_EQ(values[i], i);
  }

  unsigned threads_ = 64;

  bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
};
ON_EVERY_ENGINE(Faults);

// proves: K-12d, K-12h, K-20b
TEST_P(Faults, AssertionsSayWhereAndWhat) {
  auto p = buffer(std::vector<int>(64));
  const std::string message = fault("asserts", 40);
  EXPECT_EQ(
      printed_,
      "calls.cu:68: void asserts(int): block: [0,0,0], thread: [40,0,0] Assertion `(int)threadIdx.x < limit "
      "&& \"small\"` failed.\n");
  EXPECT_EQ(message.find("assertion failed in kernel asserts, block (0,0,0), thread (40,0,0)"), 0u)
      << message;
  expect_sticky(message, p);
}

TEST_P(Faults, AnAssertionThatHoldsPrintsNothing) {
  run(kernel("calls.ptx", "asserts"), {.grid = {3}, .block = {64}}, 64);
  EXPECT_EQ(printed_, "");
}

// proves: K-12d, K-12h, K-20c
TEST_P(Faults, TrapsNameThreadAndLine) {
  auto p = buffer(std::vector<int>(64));
  const std::string message = fault("traps", 37);
  EXPECT_EQ(message.find("trap in kernel traps, block (0,0,0), thread (37,0,0), PTX line "), 0u) << message;
  expect_sticky(message, p);
}

// proves: K-12f, K-12h
TEST_P(Faults, WildAccessesNameAddressAndAllocation) {
  auto p = buffer(std::vector<int>(64));
  const std::string message = fault("wild", p, std::uint64_t{16}, 40);
  EXPECT_EQ(message.find("illegal address 0x10 in kernel wild, block (0,0,0)"), 0u) << message;
  EXPECT_TRUE(has(message, ": write, ")) << message;
  EXPECT_TRUE(has(message, " bytes before ")) << message;
  // The JIT knows neither thread nor line of an access (requirement K-12).
  if (interpreted()) EXPECT_TRUE(has(message, ", thread (40,0,0), PTX line ")) << message;
  expect_sticky(message, p);
}

TEST_P(Faults, AccessesBehindAGuardedAllocationNameTheDistance) {
  auto p = buffer(std::vector<int>(64));
  auto big = buffer(std::vector<int>(1 << 16));
  const std::string message = fault("wild", p, big.address().value + (sizeof(int) << 16) + 8, 3);
  EXPECT_TRUE(has(message, "write, 8 bytes past the end of the allocation")) << message;
}

// A wrong index does not reach the host's data: the process can go on.
// proves: K-12g
TEST_P(Faults, AccessesFarFromAnAllocationMeetNothing) {
  constexpr std::uint64_t kBytes = sizeof(int) << 16, kFar = 1 << 29;
  for (const std::uint64_t offset : {0 - kFar, 0 - kBytes, kBytes + 8192, kBytes + kFar}) {
    close();
    auto p = buffer(std::vector<int>(64));
    auto big = buffer(std::vector<int>(1 << 16));
    const std::string message = fault("wild", p, big.address().value + offset, 3);
    EXPECT_EQ(message.find("illegal address 0x"), 0u) << message;
  }
}

#if defined(__x86_64__)
TEST_P(Faults, NonCanonicalAddressesAreNamed) {
  auto p = buffer(std::vector<int>(64));
  const std::string message = fault("wild", p, std::uint64_t{0x1234567890abcdec}, 0);
  EXPECT_EQ(message.find("illegal address 0x1234567890abcdec in kernel wild, block (0,0,0)"), 0u) << message;
}
#endif

// proves: K-12h
TEST_P(Faults, EndlessRecursionIsAStackOverflow) {
  auto p = buffer(std::vector<int>(64));
  threads_ = 1;  // slow with sanitizers
  const std::string message = fault("deep", p);
  EXPECT_EQ(message.find("stack overflow in kernel deep, block (0,0,0)"), 0u) << message;
  if (interpreted()) EXPECT_TRUE(has(message, ", PTX line ")) << message;
  expect_sticky(message, p);
}

// Many faults one after another: abandoned blocks leave nothing behind.
TEST_P(Faults, ManyDevicesFailAndTheNextWorks) {
  for (int k = 0; k < 20; ++k) {
    auto other = raddle::Device::open(options_);
    ASSERT_TRUE(other.ok());
    auto module = other->load_file(RADDLE_KERNEL_TESTS "/calls.ptx");
    ASSERT_TRUE(module.ok());
    auto p = other->buffer(std::vector<int>(64));
    const raddle::LaunchConfig config{.grid = {8}, .block = {64}};
    auto launch = k % 5 == 0   ? module->kernel("deep")->launch({}, *p)
                  : k % 2 == 0 ? module->kernel("wild")->launch(config, *p, std::uint64_t{32}, k)
                               : module->kernel("traps")->launch(config, k);
    ASSERT_TRUE(launch.ok());
    EXPECT_FALSE(launch->wait().ok());
  }
  auto out = buffer(std::vector<int>(64));
  run(kernel("calls.ptx", "fine"), {.grid = {1}, .block = {64}}, out);
  EXPECT_EQ(contents(out)[63], 63);
}

// A fault in a warp that was resumed by another one's end is the kernel's, not the process's.
// proves: K-12f
TEST_P(Faults, AfterAnotherWarpEnded) {
  auto failed = try_run(kernel("waits.ptx", "faults_after_another_warp_ended"), {.block = {64}});
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(has(failed.error().message, "illegal address 0x40")) << failed.error().message;
}

}  // namespace
