// Clients that die, talk nonsense or break the rules: the server stays, others get their results, and what
// the client had comes back.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "proxy/channel.h"
#include "serve/requests.h"
#include "serve/server_process.h"
#include "serve/steps.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

std::uint64_t seed() {
  const char* wanted = std::getenv("RADDLE_TEST_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : 1;
}

int add_once(const std::string& path) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  Buffer<std::uint32_t> data = device.buffer(std::vector<std::uint32_t>(64)).value();
  if (!add.launch({.grid = {1}, .block = {64}}, data, 64u, 3u).value().wait()) return 1;
  std::vector<std::uint32_t> now(64);
  if (!data.read(now)) return 90;
  return now[63] == 3 ? 0 : 2;
}

/// Nobody is left of those that were there, nor anything of theirs, and the server is as good as new.
void expect_untouched(ServerProcess& server) {
  const auto is_empty = [](const nlohmann::json& status) {
    bool empty = status["clients"].empty();
    for (const auto& gpc : status["blocks by gpc"])
      for (const auto& blocks : gpc) empty &= blocks == 0;
    for (const auto& instance : status["instances"]) empty &= instance["memory"] == 0;
    return empty;
  };
  const nlohmann::json status = server.status_when(is_empty);
  EXPECT_TRUE(is_empty(status)) << status.dump();
  EXPECT_EQ(run(server, add_once), 0);
}

/// Words that the processes of a test see.
struct Bystander {
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
};

/// Does its work again and again: @returns 0 if all results were right.
int stand_by(const std::string& path, Bystander* words) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  Buffer<std::uint32_t> data = device.buffer(std::vector<std::uint32_t>(1000)).value();
  for (std::uint32_t round = 1; !words->stop; ++round) {
    if (!add.launch({.grid = {8}, .block = {128}}, data, 1000u, 1u).value().wait()) return 1;
    std::vector<std::uint32_t> now(1000);
    if (!data.read(now)) return 90;
    if (std::ranges::count(now, round) != 1000) return 2;
    words->rounds = static_cast<int>(round);
  }
  return 0;
}

TEST(BadClients, TheStepsAreThoseOfAProgram) {
  ServerProcess server;
  EXPECT_EQ(run(server,
                [](const std::string& path) {
                  Steps steps(path);
                  steps.take(Steps::kCount);
                  return steps.ended() ? 0 : 1;
                }),
            0);
  expect_untouched(server);
}

// While one program works, others die; as many places are there as they and it need.
// proves: A-20a, A-20d, A-20e, A-20f
TEST(BadClients, KilledAfterEachStep) {
  ServerProcess server({"--clients", "9", "--workers", "1"});
#if __has_feature(address_sanitizer)
  constexpr int kKills = 10 * Steps::kCount;  // each takes ten times as long
#else
  constexpr int kKills = 1000;
#endif
  EXPECT_EQ(run(server, add_once), 0);
  EXPECT_TRUE(wait_until([&] { return server.shared_mappings() == 0; }));
  const std::size_t descriptors = server.descriptors();
  Bystander* const words = new (shared_page()) Bystander;
  const pid_t bystander = start(server, [=](const std::string& path) { return stand_by(path, words); });
  constexpr int kAtOnce = 4;  // and as many that the server is about to miss
  for (int i = 0; i < kKills; i += kAtOnce) {
    const int rounds = words->rounds;
    std::vector<pid_t> clients;
    for (int step = i; step < std::min(i + kAtOnce, kKills); ++step)
      clients.push_back(start(server, [step](const std::string& path) {
        const int steps = 1 + step % Steps::kCount;
        Steps client(path);
        client.take(steps);
        if (!client.ended()) return 1;
        kill(getpid(), SIGKILL);
        return 0;
      }));
    for (const pid_t client : clients) ASSERT_EQ(wait_for(client), 256 + SIGKILL);
    if (i % (4 * kAtOnce) != 0) continue;
    EXPECT_EQ(server.clients(1).size(), 1u);
    EXPECT_TRUE(wait_until([&] { return words->rounds > rounds; })) << "the bystander gets on";
  }
  words->stop = true;
  EXPECT_EQ(wait_for(bystander), 0);
  expect_untouched(server);
  EXPECT_TRUE(wait_until([&] { return server.shared_mappings() == 0; })) << server.shared_mappings();
  EXPECT_TRUE(wait_until([&] { return server.descriptors() <= descriptors; })) << server.descriptors();
}

/// Asks, and never listens, until the system takes no more of its requests.
void ask_without_listening(int connection) {
  const std::string request = proxy::text_of({{"ask", "nothing"}, {"more", std::string(2000, 'x')}});
  while (::send(connection, request.data(), request.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
}

// After each step a client stops for ever, while its kernels run on; another asks and never reads an answer.
// proves: A-20b, A-20e, A-20f
TEST(BadClients, WhoHangsKeepsNobody) {
  ServerProcess server({"--workers", "1"});
  std::vector<pid_t> hanging;
  for (int step = 1; step <= Steps::kCount; ++step)
    for (const bool asks : {false, true}) {
      hanging.push_back(start(server, [=](const std::string& path) {
        Steps client(path);
        client.take(step);
        if (asks) ask_without_listening(client.connection());
        raise(SIGSTOP);
        return 0;
      }));
      int status = 0;
      ASSERT_EQ(waitpid(hanging.back(), &status, WUNTRACED), hanging.back());
      ASSERT_TRUE(WIFSTOPPED(status));
    }
  Bystander* const words = new (shared_page()) Bystander;
  const pid_t bystander = start(server, [=](const std::string& path) { return stand_by(path, words); });
  EXPECT_TRUE(wait_until([&] { return words->rounds >= 20; }));
  words->stop = true;
  EXPECT_EQ(wait_for(bystander), 0);
  for (const pid_t client : hanging) kill(client, SIGKILL), wait_for(client);
  expect_untouched(server);
}

/// Messages that are nearly right.
nlohmann::json draw_request(std::mt19937_64& random) {
  static const std::vector<std::string_view> names = request_names();
  static const char* const kMembers[] = {"space",   "module",  "kernel",     "x",       "y",     "z",
                                         "address", "bytes",   "head",       "offset",  "which", "value",
                                         "image",   "number",  "heap",       "stack",   "print", "limit",
                                         "handle",  "sampler", "protection", "priority"};
  nlohmann::json request = {{"ask", names[random() % names.size()]}};
  for (unsigned i = random() % 8; i > 0; --i) {
    nlohmann::json& member = request[kMembers[random() % std::size(kMembers)]];
    switch (random() % 6) {
      case 0:
        member = random();
        break;
      case 1:
        member = random() % 4;
        break;
      case 2:
        member = std::uint64_t{32} << 40 | (random() & 0xffff'ffff'f000);
        break;
      case 3:
        member = -1;
        break;
      case 4:
        member = "text";
        break;
      case 5:
        member = {{"address", random()}, {"levels", {1, 2}}};
        break;
    }
  }
  return request;
}

int talk_nonsense(const std::string& path, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Steps steps(path);
  steps.take(static_cast<int>(random() % 10));
  if (steps.connection() < 0) return 0;
  for (int i = 0; i < 100; ++i) {
    std::string bytes = proxy::text_of(draw_request(random));
    if (random() % 4 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 16 == 0) bytes.assign(random() % 4096, static_cast<char>(random()));
    if (random() % 16 == 0) bytes.assign(30000, '[');
    if (::write(steps.connection(), bytes.data(), bytes.size()) < 0) return 0;
    if (!bytes.empty() && !proxy::receive(steps.connection()) && random() % 8 == 0) return 0;
  }
  return 0;
}

// proves: A-20c
TEST(BadClients, TalkNonsense) {
  ServerProcess server({"--kernel-time", "1000"});
  for (unsigned i = 0; i < 25; ++i)
    EXPECT_EQ(run(server, [i](const std::string& path) { return talk_nonsense(path, 1000 * seed() + i); }),
              0);
  expect_untouched(server);
}

int push_nonsense(const std::string& path, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Steps steps(path);
  steps.take(9);
  proxy::PushBuffer* const buffer = steps.push_buffer();
  if (buffer == nullptr) return 1;
  for (auto& byte : buffer->streams) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
  for (std::uint32_t i = 0; i < proxy::PushBuffer::kPieces; ++i) {
    proxy::LaunchCommand command;  // nearly right
    command.number = i + 1;
    command.module = steps.module();
    command.kernel = 1;
    command.parameter_bytes = random() % 4 == 0 ? static_cast<std::uint32_t>(random()) : 8;
    for (int d = 0; d < 3; ++d) command.grid[d] = command.block[d] = static_cast<std::uint32_t>(random() % 3);
    auto* const bytes = reinterpret_cast<unsigned char*>(&command);
    for (unsigned k = random() % 4; k > 0; --k)
      bytes[random() % sizeof command] = static_cast<unsigned char>(random());
    const std::uint32_t at = i * 512;
    std::memcpy(buffer->streams.data() + at, &command, sizeof command);
    buffer->pieces[i] = {at, static_cast<std::uint32_t>(sizeof command + 16)};
    if (random() % 32 == 0)
      buffer->pieces[i] = {random() % 2 == 0 ? random() : static_cast<std::uint32_t>(random()),
                           static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random() % 3)};
  }
  buffer->put = static_cast<std::uint32_t>(random() % 8 == 0 ? random() : random() % 1000);
  (void)proxy::exchange(steps.connection(), {{"ask", "nothing"}});  // a moment
  return 0;
}

// proves: A-20c
TEST(BadClients, PushNonsense) {
  ServerProcess server({"--kernel-time", "100"});
  for (unsigned i = 0; i < 50; ++i)
    EXPECT_EQ(run(server, [i](const std::string& path) { return push_nonsense(path, 1000 * seed() + i); }),
              0);
  expect_untouched(server);
}

/// The module of a kernel that runs is unloaded, then its memory unmapped: it faults, in code that is there.
int pull_from_under(const std::string& path) {
  Steps steps(path);
  steps.take(10);
  proxy::Channel& channel = steps.channel_memory();
  if (!wait_until([&] { return steps.words()[1] != 0; })) return 1;
  if (!proxy::exchange(steps.connection(), {{"ask", "unload"}, {"module", steps.module()}})) return 2;
  give_others_a_chance();
  if (channel.completed != 0) return 3;
  if (!proxy::exchange(steps.connection(),
                       {{"ask", "unmap"}, {"address", steps.memory_address()}, {"bytes", 1u << 20}}))
    return 4;
  if (!wait_until([&] { return channel.completed == 1; })) return 5;
  return channel.completions[0].outcome == static_cast<std::uint32_t>(FaultKind::illegal_address) ? 0 : 6;
}

TEST(BadClients, PullThingsFromUnderTheirKernels) {
  ServerProcess server;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(server, pull_from_under), 0);
  expect_untouched(server);
}

TEST(BadClients, WhoSaysNothingKeepsNobody) {
  ServerProcess server;
  const proxy::Descriptor silent = proxy::connect_to(server.path()).value();
  EXPECT_EQ(run(server, add_once), 0);
}

/// An endless kernel beside one of another program, on one worker.
TEST(BadClients, AnEndlessKernelKeepsNobody) {
  ServerProcess server({"--workers", "1", "--kernel-time", "3000"});
  const pid_t endless = start(server, [](const std::string& path) {
    Steps steps(path);
    steps.take(10);
    (void)proxy::exchange(steps.connection(), {{"ask", "unmap"}, {"address", 0u}, {"bytes", 0u}});
    for (;;) pause();
    return 0;
  });
  EXPECT_EQ(server.clients(1).size(), 1u);
  EXPECT_EQ(run(server, add_once), 0);
  kill(endless, SIGKILL);
  wait_for(endless);
  expect_untouched(server);
}

}  // namespace
}  // namespace raddle::serve
