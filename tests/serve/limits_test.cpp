// What a client may have: memory, time, one of so many places; and who may be one at all.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST(ServeLimits, NoOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ServerProcess server;
  const auto as_nobody = [](const std::string& path) {
    if (setuid(65534) != 0) return 2;
    return greeted(path) ? 1 : 0;
  };
  EXPECT_EQ(run(server, as_nobody), 0);
  chmod(server.path().c_str(), 0666);  // who gets in all the same is refused
  EXPECT_EQ(run(server, as_nobody), 0);
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
