// A kernel that writes to its parameters, or beside them, faults, however it was launched; what it reads
// stays what the launch said, and the host's heap is out of reach.
#include <gmock/gmock.h>

#include <cstdint>

#include "kernel_test.h"

namespace {

using testing::HasSubstr;

constexpr const char* kParametersFile = "parameters.ptx";
constexpr std::int64_t kFar = std::int64_t{1} << 29;  // far beyond one page; an index may be wrong by as much

struct Settings {
  std::int64_t offset;
  std::int32_t thread = 5;
  raddle::DevicePtr out;
};
struct Many {
  std::int64_t offset;
  std::int32_t values[1000];
};

class Parameters : public KernelTest {
 protected:
  /// Launches on a device of its own. @returns what the fault says
  template <class... Arguments>
  std::string fault(const char* name, raddle::LaunchConfig config, const Arguments&... arguments) {
    close();
    auto failed = try_run(kernel(kParametersFile, name), config, arguments...);
    if (failed.ok()) {
      ADD_FAILURE() << name << " ended well";
      return {};
    }
    EXPECT_EQ(failed.error().code, raddle::ErrorCode::kernel_fault);
    EXPECT_EQ(failed.error().message.find("illegal address "), 0u) << failed.error().message;
    return failed.error().message;
  }

  /// Writes at an offset from the parameters, in launches of this kind.
  std::string write_at(std::int64_t offset, raddle::LaunchConfig config) {
    close();
    auto out = buffer(std::vector<int>(64));
    const Settings settings{offset, 5, out.address()};
    auto failed = try_run(kernel(kParametersFile, "writes_parameters"), config,
                          raddle::Argument(&settings, sizeof settings));
    return failed.ok() ? "ended well" : failed.error().message;
  }
};
ON_EVERY_ENGINE(Parameters);

TEST_P(Parameters, WritesAreFaults) {
  for (const std::int64_t offset : {0, 8, 20}) {
    const std::string message = write_at(offset, {.grid = {2}, .block = {32}});
    EXPECT_THAT(message, HasSubstr("in kernel writes_parameters"));
    EXPECT_THAT(message, HasSubstr("write, offset " + std::to_string(offset) +
                                   " of the launch's parameters, which are 24 bytes and read-only"));
    if (interpreted()) EXPECT_THAT(message, HasSubstr("thread (5,0,0), PTX line "));
  }
}

TEST_P(Parameters, WritesBesideThemAreFaults) {
  for (const std::int64_t offset :
       {std::int64_t{-8}, std::int64_t{-4096}, std::int64_t{24}, std::int64_t{4096}, -kFar, kFar})
    EXPECT_THAT(write_at(offset, {.grid = {2}, .block = {32}}), HasSubstr("illegal address ")) << offset;
}

TEST_P(Parameters, WhateverTheLaunchIs) {
  for (const std::int64_t offset : {0, -8, 24}) {
    const raddle::LaunchConfig clusters{.grid = {4}, .block = {16}, .cluster = {2}};
    EXPECT_THAT(write_at(offset, clusters), HasSubstr("illegal address ")) << offset;
    const raddle::LaunchConfig cooperative{.grid = {2}, .block = {32}, .cooperative = true};
    EXPECT_THAT(write_at(offset, cooperative), HasSubstr("illegal address ")) << offset;
  }
}

TEST_P(Parameters, WhateverWrites) {
  const Settings settings{0, 0, {}};
  const raddle::Argument argument(&settings, sizeof settings);
  EXPECT_THAT(fault("adds_to_parameters", {.block = {32}}, argument), HasSubstr("read-only"));
  EXPECT_THAT(fault("writes_vectors", {.block = {32}}, argument), HasSubstr("read-only"));
}

TEST_P(Parameters, ManyAreReadOnlyToo) {
  Many many{-1, {}};
  for (int i = 0; i < 1000; ++i) many.values[i] = 3 * i;
  for (int round = 0; round < 3; ++round) {  // pieces are used again
    auto out = buffer(std::vector<int>(1000));
    many.values[999] = round;
    run(kernel(kParametersFile, "writes_many"), {.block = {1000}}, raddle::Argument(&many, sizeof many), out);
    EXPECT_EQ(contents(out)[998], 3 * 998);
    EXPECT_EQ(contents(out)[999], round);
  }
  for (const std::int64_t offset : {std::int64_t{4000}, std::int64_t{4008}, std::int64_t{40000}, kFar}) {
    many.offset = offset;
    close();
    auto other = buffer(std::vector<int>(1000));
    auto failed = try_run(kernel(kParametersFile, "writes_many"), {.block = {1}},
                          raddle::Argument(&many, sizeof many), other);
    ASSERT_FALSE(failed.ok()) << offset;
    EXPECT_THAT(failed.error().message, HasSubstr("illegal address ")) << offset;
  }
}

TEST_P(Parameters, OfKernelsThatKernelsLaunch) {
  {
    auto out = buffer(std::vector<int>(64));
    Settings settings{0, 40, out.address()};  // a thread that is not there
    run(kernel(kParametersFile, "launches_writer"), {}, raddle::Argument(&settings, sizeof settings));
    EXPECT_EQ(contents(out)[31], 40);
  }
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{16}, std::int64_t{-8}, kFar}) {
    close();
    auto out = buffer(std::vector<int>(64));
    const Settings settings{offset, 5, out.address()};
    auto failed =
        try_run(kernel(kParametersFile, "launches_writer"), {}, raddle::Argument(&settings, sizeof settings));
    ASSERT_FALSE(failed.ok()) << offset;
    EXPECT_THAT(failed.error().message, HasSubstr("in kernel writes_parameters")) << offset;
  }
}

// What a kernel fills in for another one, and a cooperative grid's workspace, may be written; the host's data
// do not lie beside them.
TEST_P(Parameters, BuffersOfLaunchesAreFarFromTheHosts) {
  run(kernel(kParametersFile, "overruns_child_parameters"), {}, std::int64_t{0});
  run(kernel(kParametersFile, "writes_workspace"), {.cooperative = true}, std::int64_t{4});
  for (const std::int64_t offset : {std::int64_t{-8}, -kFar, kFar}) {
    fault("overruns_child_parameters", {}, offset);
    fault("writes_workspace", {.cooperative = true}, offset);
  }
}

// Launches that overlap have parameters of their own.
TEST_P(Parameters, OfManyLaunchesInFlight) {
  auto out = buffer(std::vector<int>(200 * 32));
  raddle::Kernel writes = kernel(kParametersFile, "writes_parameters");
  for (int i = 0; i < 200; ++i) {
    const Settings settings{0, 1000 + i, out.address() + 4 * 32 * static_cast<std::uint64_t>(i)};
    ASSERT_TRUE(
        writes.launch({.grid = {1}, .block = {32}}, raddle::Argument(&settings, sizeof settings)).ok());
  }
  ASSERT_TRUE(device().synchronize().ok());
  const std::vector<int> values = contents(out);
  for (int i = 0; i < 200 * 32; ++i) ASSERT_EQ(values[i], 1000 + i / 32) << i;
}

}  // namespace
