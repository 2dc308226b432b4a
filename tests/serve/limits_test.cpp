// What a client may have: memory, time, one of so many places; and who may be one at all.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <thread>

#include "machine/memory/mapping.h"
#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

int use_all_memory(const std::string& path) {
  Device device = open_device(path);
  const auto first = device.allocate(40 << 20);
  const auto second = device.allocate(40 << 20);
  if (!first || second || second.error().code != ErrorCode::out_of_memory) return 1;
  return device.free(*first) && device.allocate(40 << 20) ? 0 : 2;
}

// proves: A-20h
TEST(ServeLimits, MemoryOfAClient) {
  ServerProcess server({"--memory", "64M"});
  EXPECT_EQ(run(server, use_all_memory), 0);
  EXPECT_EQ(run(server, use_all_memory), 0);
}

/// What kernels may take by malloc is memory, too.
int open_large_heaps(const std::string& path) {
  DeviceOptions options;
  options.server = path;
  options.heap_bytes = 40 << 20;
  {
    const Result<Device> one = Device::open(options), other = Device::open(options);
    if (!one || other || other.error().code != ErrorCode::out_of_memory) return 1;
  }
  Result<Device> again = Device::open(options);
  return again && !again->set_limit(Limit::heap_bytes, 100 << 20) &&
                 again->set_limit(Limit::heap_bytes, 8 << 20)
             ? 0
             : 2;
}

TEST(ServeLimits, HeapsOfKernels) {
  ServerProcess server({"--memory", "64M"});
  EXPECT_EQ(run(server, open_large_heaps), 0);
}

/// Two contexts, a block each, at one time: @returns 10 * the SM of one + that of the other.
int find_sms(const std::string& path) {
  Spinning contexts[] = {Spinning(path), Spinning(path)};
  int sms = 0;
  for (const Spinning& one : contexts) {
    if (!wait_until([&] { return one.words()[1] != 0; })) return 200;
    sms = 10 * sms + static_cast<int>(one.words()[1]) - 1;
  }
  for (const Spinning& one : contexts) one.words()[0] = 1;
  for (Spinning& one : contexts)
    if (!one.launch.wait()) return 201;
  return sms;
}

// proves: A-20i
TEST(ServeLimits, ShareOfTheSms) {
  ServerProcess one({"--sms", "1"}), all;
  const int sms = run(one, find_sms);
  EXPECT_EQ(sms / 10, sms % 10) << sms;
  const int others = run(all, find_sms);
  EXPECT_NE(others / 10, others % 10) << others;
}

constexpr const char* kCounting = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 words) {
  .reg .pred %p; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [words];
LOOP:
  ld.volatile.global.u64 %rd1, [%rd0+8]; add.u64 %rd1, %rd1, 1; st.volatile.global.u64 [%rd0+8], %rd1;
  ld.volatile.global.u64 %rd2, [%rd0];
  setp.eq.u64 %p, %rd2, 0;
  @%p bra LOOP;
  ret;
}
)";

/// A grid with more blocks than all SMs hold, which wait until the test says so.
int fill_sms(const std::string& path, const std::atomic<bool>* go) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Buffer<std::uint32_t> flag = device.buffer(std::vector<std::uint32_t>(2)).value();
  Launch launch = module.kernel("spin").value().launch({.grid = {100}, .block = {1024}}, flag).value();
  if (!wait_until([&] { return go->load(); })) return 2;
  *reinterpret_cast<volatile std::uint32_t*>(flag.address().value) = 1;
  return launch.wait() ? 0 : 1;
}

// Each of two clients has all of its share at one time, and never more.
// proves: A-20i
TEST(ServeLimits, ShareOfTheSmsOfALargeGrid) {
  const std::string shape = testing::TempDir() + "raddle-limits.json";
  std::ofstream(shape) << R"({"name": "four", "memory_bytes": "1G", "sms": 4})";
  for (const int share : {1, 2}) {
    ServerProcess server({"--sms", std::to_string(share), "--shape", shape});
    auto* const go = new (shared_page()) std::atomic<bool>(false);
    const pid_t one = start(server, [=](const std::string& path) { return fill_sms(path, go); });
    const pid_t other = start(server, [=](const std::string& path) { return fill_sms(path, go); });
    const auto have = [&](const nlohmann::json& status) {
      const nlohmann::json& clients = status["clients"];
      return clients.size() == 2 && clients[0]["sms"] == share && clients[1]["sms"] == share;
    };
    for (int times = 0; times < 10; ++times) {
      const nlohmann::json status = server.status_when(have);
      EXPECT_TRUE(have(status)) << status.dump();
    }
    *go = true;
    EXPECT_EQ(wait_for(one), 0);
    EXPECT_EQ(wait_for(other), 0);
  }
}

/// Words that two processes of a test see.
struct Progress {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> count{0}, published{0};
};

int count_until_told(const std::string& path, Progress* progress) {
  Device device = open_device(path);
  Module module = device.load(kCounting).value();
  Buffer<std::uint64_t> words = device.buffer(std::vector<std::uint64_t>(2)).value();
  auto* const seen = reinterpret_cast<volatile std::uint64_t*>(words.address().value);
  Launch launch = module.kernel("count").value().launch({.grid = {1}, .block = {1}}, words).value();
  while (!progress->stop) {
    progress->count = seen[1];
    ++progress->published;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  seen[0] = 1;
  return launch.wait() ? 0 : 1;
}

/// @returns 0: the other kernel got on at least half as well as this endless one did, until that was stopped
int count_without_end(const std::string& path, Progress* other, unsigned blocks) {
  DeviceOptions options;
  options.server = path;
  options.time_limit = std::chrono::milliseconds(1500);
  Device device = Device::open(options).value();
  Module module = device.load(kCounting).value();
  Buffer<std::uint64_t> words = device.buffer(std::vector<std::uint64_t>(2)).value();
  const auto* const seen = reinterpret_cast<const volatile std::uint64_t*>(words.address().value);
  const auto count_now = [&] {  // what is published may be old
    const std::uint64_t published = other->published;
    return wait_until([&] { return other->published >= published + 2; }) ? other->count.load() : 0;
  };
  // On one worker no block is suspended between its load and its store, so one word counts for all.
  Launch launch = module.kernel("count").value().launch({.grid = {blocks}, .block = {1}}, words).value();
  if (!wait_until([&] { return seen[1] != 0; })) return 1;
  const std::uint64_t before = count_now();
  const auto report = launch.wait();
  if (report || report.error().code != ErrorCode::timeout) return 2;
  const std::uint64_t others = count_now() - before, mine = seen[1];
  fmt::print(stderr, "{} of the endless kernel, {} of the other\n", mine, others);
  return 2 * others >= mine ? 0 : 3;
}

// On one worker, which both want for themselves: an equal share, but for what the system's scheduler does,
// also if the endless kernel has many blocks.
// proves: A-20b, A-20d, A-20g
TEST(ServeLimits, AnEndlessKernelLeavesOthersTheirShare) {
  Progress* const progress = new (shared_page()) Progress;
  ServerProcess server({"--workers", "1"});
  const pid_t other =
      start(server, [=](const std::string& path) { return count_until_told(path, progress); });
  EXPECT_TRUE(wait_until([&] { return progress->count != 0; }));
  for (const unsigned blocks : {1u, 64u})
    EXPECT_EQ(run(server, [=](const std::string& path) { return count_without_end(path, progress, blocks); }),
              0)
        << blocks;
  progress->stop = true;
  EXPECT_EQ(wait_for(other), 0);
}

/// The protocol by hand: the server counts, whatever the program believes.
TEST(ServeLimits, MemoryThatAClientTakesByItself) {
  ServerProcess server({"--memory", "64M"});
  nlohmann::json welcome;
  const proxy::Descriptor connection = greeted(server.path(), &welcome);
  const auto file = machine::MemoryFile::create("test", 48 << 20).value();
  const std::uint64_t window = welcome["window"].get<std::uint64_t>() + (32 << 20);
  const auto map = [&](std::uint64_t address) {
    return proxy::exchange(
        connection.number(),
        {{"ask", "map"}, {"address", address}, {"bytes", 48 << 20}, {"offset", 0u}, {"protection", 2u}},
        file.descriptor());
  };
  EXPECT_TRUE(map(window));
  EXPECT_FALSE(map(window)) << "two at the same addresses";
  const auto second = map(window + (64 << 20));
  EXPECT_EQ(second.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(
      proxy::exchange(connection.number(), {{"ask", "unmap"}, {"address", window}, {"bytes", 48 << 20}}));
  EXPECT_TRUE(map(window + (64 << 20)));
}

/// Refused for its size, before anybody reads it.
TEST(ServeLimits, TheDescriptionOfAProgram) {
  constexpr std::size_t kBytes = 9 << 20;
  ServerProcess server;
  const proxy::Descriptor connection = greeted(server.path());
  const auto file = proxy::file_of(std::string(kBytes, '['));
  const auto answer = proxy::exchange(connection.number(), {{"ask", "load"}, {"space", 1u}, {"head", kBytes}},
                                      file->number());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "a program's description has 9437184 bytes");
}

int run_endless(const std::string& path) {
  const auto report = Spinning(path).launch.wait();
  return !report && report.error().code == ErrorCode::timeout ? 0 : 1;
}

// proves: A-20g
TEST(ServeLimits, TimeOfALaunch) {
  ServerProcess server({"--kernel-time", "100"});
  EXPECT_EQ(run(server, run_endless), 0);
}

TEST(ServeLimits, Clients) {
  ServerProcess server({"--clients", "2"});
  const proxy::Descriptor one = greeted(server.path()), other = greeted(server.path());
  EXPECT_TRUE(one && other);
  EXPECT_FALSE(greeted(server.path()));
}

/// 0: refused, with a reason that contains `why`.
int ask_as_nobody(const std::string& path, const char* why) {
  if (setuid(65534) != 0) return 2;
  const Result<Device> device = Device::open({.server = path});
  if (device) return 1;
  return device.error().code == ErrorCode::server && device.error().message.find(why) != std::string::npos
             ? 0
             : 3;
}

TEST(ServeLimits, NoOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ServerProcess server;
  const auto as_nobody = [&](const char* why) {
    return run(server, [why](const std::string& path) { return ask_as_nobody(path, why); });
  };
  EXPECT_EQ(as_nobody("Permission denied"), 0);
  chmod(server.path().c_str(), 0666);  // who gets in all the same is refused
  EXPECT_EQ(as_nobody("the server is another user's"), 0);
  EXPECT_EQ(server.clients(0).size(), 0u);
  EXPECT_TRUE(greeted(server.path()));
}

TEST(ServeLimits, AnotherVersionIsRefused) {
  ServerProcess server;
  const proxy::Descriptor connection = proxy::connect_to(server.path()).value();
  const auto answer = proxy::exchange(connection.number(), {{"ask", "hello"}, {"version", 0u}});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("version"), std::string::npos);
}

}  // namespace
}  // namespace raddle::serve
