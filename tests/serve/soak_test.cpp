// Eight programs at a time come and go for as long as RADDLE_SOAK says (seconds; a moment otherwise): what
// they took of the server is there again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "sanitized.h"
#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

constexpr std::uint32_t kLaunches = kSanitized ? 10 : 50;

/// Every third program is killed in its middle, every fourth one has a kernel that faults.
int some_program(const std::string& path, int number) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value(), store = module.kernel("store").value();
  const std::size_t count = 1000u << number % 8;
  Buffer<std::uint32_t> data = device.buffer(std::vector<std::uint32_t>(count)).value();
  for (std::uint32_t i = 1; i <= kLaunches; ++i)
    (void)add
        .launch({.grid = {static_cast<std::uint32_t>(count / 125)}, .block = {128}}, data,
                static_cast<std::uint32_t>(count), i)
        .value();
  if (number % 3 == 0) raise(SIGKILL);
  std::vector<std::uint32_t> sums(count);
  if (!data.read(sums)) return 90;
  for (const std::uint32_t sum : sums)
    if (sum != kLaunches * (kLaunches + 1) / 2) return 1;
  if (number % 4 != 0) return 0;
  return store.launch({.grid = {1}, .block = {1}}, std::uint64_t{8}).value().wait() ? 2 : 0;
}

/// Bytes that a process has in memory.
std::uint64_t resident(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096;
}

TEST(Soak, WhatProgramsTookComesBack) {
  constexpr int kAtOnce = 8, kWarm = 64;
  const char* const wanted = std::getenv("RADDLE_SOAK");
  const std::chrono::seconds soak(wanted != nullptr ? std::atoi(wanted) : 1);
  ServerProcess server({"--workers", "2"});
  int started = 0, ended = 0;
  const auto end_one = [&] {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    ++ended;
    if (WIFSIGNALED(status))
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    else
      EXPECT_EQ(WEXITSTATUS(status), 0);
  };
  const auto keep_busy = [&](const auto& goes_on) {
    while (goes_on()) {
      if (started - ended == kAtOnce) end_one();
      const int number = started++;
      start(server, [number](const std::string& path) { return some_program(path, number); });
    }
    while (ended != started) end_one();
    EXPECT_EQ(server.clients(0).size(), 0u);
    EXPECT_TRUE(wait_until([&] { return server.shared_mappings() == 0; })) << server.shared_mappings();
  };
  keep_busy([&] { return started < kWarm; });
  const std::size_t descriptors = server.descriptors();
  [[maybe_unused]] const std::uint64_t bytes = resident(server.process());
  const auto until = std::chrono::steady_clock::now() + soak;
  keep_busy([&] { return std::chrono::steady_clock::now() < until; });
  EXPECT_TRUE(wait_until([&] { return server.descriptors() <= descriptors; })) << server.descriptors();
#if !__has_feature(address_sanitizer)  // which keeps what was freed
  EXPECT_LT(resident(server.process()), bytes + (16 << 20)) << "after " << ended << " programs";
#endif
  if (wanted != nullptr) fmt::print("{} programs in {} s\n", ended, soak.count());
}

}  // namespace
}  // namespace raddle::serve
