// Device contexts of a served machine: programs choose one by name; the server's contexts run in turns, or at
// once.
#include <gtest/gtest.h>

#include <set>

#include "sanitized.h"
#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

/// 0: kernels add up, launch after launch.
int add_up(const std::string& server, std::uint32_t launches) {
  Device device = open_device(server);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  constexpr std::uint32_t kWords = 40000;
  Buffer<std::uint32_t> words = device.buffer(std::vector<std::uint32_t>(kWords)).value();
  for (std::uint32_t i = 1; i <= launches; ++i)
    if (!add.launch({.grid = {kWords / 256 + 1}, .block = {256}}, words, kWords, i)) return 1;
  if (!device.synchronize()) return 2;
  std::vector<std::uint32_t> found(kWords);
  if (!words.read(found)) return 3;
  const std::uint32_t sum = launches * (launches + 1) / 2;
  return std::ranges::all_of(found, [&](std::uint32_t word) { return word == sum; }) ? 0 : 4;
}

std::string context_refusal(const ServerProcess& server, const std::string& context) {
  const proxy::Descriptor connection = proxy::connect_to(server.path()).value();
  const auto answer = proxy::exchange(connection.number(),
                                      {{"ask", "hello"}, {"version", proxy::kVersion}, {"context", context}});
  return answer ? "" : answer.error().message;
}

TEST(ServedContexts, AreThereIfTheServerIsAsked) {
  ServerProcess one;
  EXPECT_EQ(context_refusal(one, "batch"),
            "the server has no device context 'batch', but one for all (raddle serve --contexts)");
  EXPECT_EQ(run(one, [](const std::string& path) { return add_up(path, 3); }), 0);
  ServerProcess several({"--contexts", "queued"});
  EXPECT_EQ(context_refusal(several, "batch"), "");
}

// proves: A-23e
TEST(ServedContexts, ProgramsOfAllGetTheirResults) {
  constexpr std::uint32_t kLaunches = kSanitized ? 16 : 200;  // many time slices
  for (const char* mode : {"queued", "concurrent"}) {
    ServerProcess server({"--contexts", mode, "--workers", "2"});
    std::vector<pid_t> clients;
    for (const char* name : {"", "#@one", "#@two", "#@one", "#@three", ""})
      clients.push_back(
          start(server, [name](const std::string& path) { return add_up(path + name, kLaunches); }));
    for (const pid_t client : clients) EXPECT_EQ(wait_for(client), 0) << mode;
  }
}

/// A program whose kernel runs until it is killed.
int spin(const std::string& server) {
  Spinning spinning(server);
  if (!wait_until([&] { return spinning.words()[1] != 0; })) return 1;
  for (;;) pause();
}

bool runs_one(const nlohmann::json& client) { return client["launches running"] == 1u; }

// Kernels of others that only wait do not keep a program from its turn, nor does a program that is killed.
TEST(ServedContexts, NobodyWaitsForEver) {
  for (const char* workers : {"1", "2"}) {
    ServerProcess server({"--contexts", "queued", "--workers", workers});
    std::vector<pid_t> spinning;
    for (const char* name : {"#@one", "#@two"})
      spinning.push_back(start(server, [name](const std::string& path) { return spin(path + name); }));
    const auto both_run = [](const nlohmann::json& status) {
      return status["clients"].size() == 2 && std::ranges::all_of(status["clients"], runs_one);
    };
    const nlohmann::json status = server.status_when(both_run);
    EXPECT_TRUE(both_run(status)) << status.dump(2);
    EXPECT_EQ(status["contexts"], "queued");
    std::set<std::string> names;
    for (const auto& client : status["clients"]) names.insert(client["context"].get<std::string>());
    EXPECT_EQ(names, (std::set<std::string>{"one", "two"}));
    EXPECT_EQ(run(server, [](const std::string& path) { return add_up(path + "#@three", 20); }), 0);
    EXPECT_EQ(run(server, [](const std::string& path) { return add_up(path + "#@two", 20); }), 0);
    for (const pid_t client : spinning) {
      kill(client, SIGKILL);
      wait_for(client);
      EXPECT_EQ(run(server, [](const std::string& path) { return add_up(path + "#@one", 20); }), 0);
    }
    server.clients(0);
  }
}

// A context and an instance are named together.
TEST(ServedContexts, MayBeChosenWithAnInstance) {
  ServerProcess server({"--contexts", "queued", "--instance", "half=sms:2,memory:64M", "--workers", "2"});
  std::vector<pid_t> clients;
  for (const char* name : {"#half@one", "#half@two", "#half@one", "#half"})
    clients.push_back(start(server, [name](const std::string& path) { return add_up(path + name, 30); }));
  for (const pid_t client : clients) EXPECT_EQ(wait_for(client), 0);
}

}  // namespace
}  // namespace raddle::serve
