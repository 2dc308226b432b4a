// Instances of a served machine: what their clients see, and that nobody leaves his own (A-21).
#include "serve/instances.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <set>

#include "machine/shape/shape_file.h"
#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

/// Four GPCs of four SMs.
constexpr const char* kShape = R"({
  "name": "sixteen", "memory_bytes": "1G", "gpcs": [{"count": 4, "cpcs": [2]}], "sms": 2
})";

constexpr const char* kWhere = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry where(.param .u64 sms) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [sms];
  mov.u32 %r0, %smid; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd0, %rd0, %rd1;
  st.global.u32 [%rd0], %r0;
  ret;
}
)";

std::vector<std::string> with_shape(std::vector<std::string> options) {
  const std::string path = testing::TempDir() + "raddle-sixteen.json";
  std::ofstream(path) << kShape;
  options.insert(options.end(), {"--shape", path});
  return options;
}

using Sms = std::set<std::uint32_t>;
Sms range(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> sms(count);
  std::iota(sms.begin(), sms.end(), first);
  return {sms.begin(), sms.end()};
}

/// The SMs on which the blocks of a grid were.
Sms sms_of(Kernel& kernel, Device& device, const LaunchConfig& config) {
  Buffer<std::uint32_t> where = device.buffer(std::vector<std::uint32_t>(config.grid.x)).value();
  if (!kernel.launch(config, where).value().wait()) return {};
  std::vector<std::uint32_t> sms(config.grid.x);
  return where.read(sms) ? Sms(sms.begin(), sms.end()) : Sms{};
}

struct Expected {
  std::string name;  // of the machine that the client sees
  Sms sms;
  std::uint64_t memory;
  bool alone = true;  ///< nobody else has work there
};

/// 0: the client sees that, and neither grids nor clusters go elsewhere.
int look(const std::string& server, const Expected& expected) {
  Device device = open_device(server);
  const DeviceProperties properties = device.properties();
  if (properties.shape != expected.name || properties.sm_count != expected.sms.size() ||
      properties.memory_bytes != expected.memory)
    return 1;
  Module module = device.load(kWhere).value();
  Kernel where = module.kernel("where").value();
  const auto leaves = [&](const Sms& sms) {
    return sms.empty() || !std::ranges::includes(expected.sms, sms);
  };
  const Sms all = sms_of(where, device, {.grid = {4000}, .block = {1024}});
  if (expected.alone ? all != expected.sms : leaves(all)) return 2;  // others may hold some until it is over
  if (leaves(sms_of(where, device, {.grid = {64}, .block = {1024}, .cluster = {4}}))) return 3;
  const auto most = static_cast<std::uint32_t>(2 * expected.sms.size());
  if (leaves(sms_of(where, device, {.grid = {most}, .block = {1024}, .cooperative = true}))) return 4;
  Buffer<std::uint32_t> room = device.buffer(std::vector<std::uint32_t>(most + 1)).value();
  if (where.launch({.grid = {most + 1}, .block = {1024}, .cooperative = true}, room)) return 5;
  return device.allocate(expected.memory) ? 6 : 0;
}

int look_at(ServerProcess& server, const std::string& suffix, const Expected& expected) {
  return run(server, [&](const std::string& path) { return look(path + suffix, expected); });
}

// proves: A-21a, A-21b
TEST(Instances, AClientHasWhatItsInstanceHas) {
  ServerProcess server(with_shape({"--instance", "large=gpcs:2,memory:512M", "--instance",
                                   "small=sms:2,memory:64M,clients:3", "--workers", "2"}));
  EXPECT_EQ(look_at(server, "#large", {"sixteen instance large", range(0, 8), 512 << 20}), 0);
  EXPECT_EQ(look_at(server, "#small", {"sixteen instance small", range(8, 2), 64 << 20}), 0);
  EXPECT_EQ(look_at(server, "", {"sixteen", range(10, 6), 448 << 20}), 0) << "what is left";
  EXPECT_EQ(look_at(server, "#", {"sixteen", range(10, 6), 448 << 20}), 0);
}

/// All at once, each with more work than its instance holds.
TEST(Instances, NobodyLeavesHisOwnWhileOthersRun) {
  ServerProcess server(with_shape(
      {"--instance", "one=gpcs:2,memory:256M", "--instance", "other=gpcs:2,memory:256M", "--workers", "2"}));
  std::vector<pid_t> clients;
  for (int i = 0; i < 6; ++i)
    clients.push_back(start(server, [i](const std::string& path) {
      const bool is_one = i % 2 == 0;
      return look(path + (is_one ? "#one" : "#other"),
                  {is_one ? "sixteen instance one" : "sixteen instance other", range(is_one ? 0 : 8, 8),
                   256 << 20, false});
    }));
  for (const pid_t client : clients) EXPECT_EQ(wait_for(client), 0);
}

/// @returns 0 if it gets so much, 1 if memory is lacking
int take(const std::string& server, std::uint64_t bytes) {
  Device device = open_device(server);
  const auto taken = device.allocate(bytes);
  if (!taken && taken.error().code != ErrorCode::out_of_memory) return 2;
  return taken ? 0 : 1;
}

// proves: A-21b
TEST(Instances, ClientsShareTheMemoryOfTheirInstance) {
  ServerProcess server(
      with_shape({"--instance", "one=gpcs:1,memory:256M", "--instance", "other=gpcs:1,memory:256M"}));
  const auto take_in = [&](const std::string& suffix, std::uint64_t megabytes) {
    return run(server, [&](const std::string& path) { return take(path + suffix, megabytes << 20); });
  };
  const pid_t holder = start(server, [](const std::string& path) {
    Device device = open_device(path + "#one");
    if (!device.allocate(160 << 20)) return 1;
    for (;;) pause();
    return 0;
  });
  const auto holds = [](const nlohmann::json& status) {
    return status["instances"][0]["memory"].get<std::uint64_t>() >= 160u << 20;
  };
  EXPECT_TRUE(holds(server.status_when(holds)));
  EXPECT_EQ(take_in("#one", 128), 1);
  EXPECT_EQ(take_in("#one", 32), 0);
  EXPECT_EQ(take_in("#other", 200), 0);
  kill(holder, SIGKILL);
  wait_for(holder);
  server.clients(0);
  EXPECT_EQ(take_in("#one", 200), 0) << "what a client had has returned";
}

std::string refusal(ServerProcess& server, const std::string& instance) {
  const proxy::Descriptor connection = proxy::connect_to(server.path()).value();
  const auto answer = proxy::exchange(
      connection.number(), {{"ask", "hello"}, {"version", proxy::kVersion}, {"instance", instance}});
  return answer ? "" : answer.error().message;
}

TEST(Instances, WhoAsksForNoneThatIsThere) {
  ServerProcess server(with_shape(
      {"--instance", "one=gpcs:2,memory:256M,clients:1", "--instance", "other=gpcs:2,memory:256M"}));
  EXPECT_EQ(refusal(server, "third"),
            "the server has no instance 'third'; there are one, other (RADDLE_SERVER=PATH#NAME)");
  EXPECT_EQ(refusal(server, ""),
            "the server's instances have all its SMs or memory; there are one, other "
            "(RADDLE_SERVER=PATH#NAME)");
  ServerProcess whole;
  EXPECT_EQ(refusal(whole, "one"), "the server has no instance 'one'; it has none");
  nlohmann::json welcome;
  const proxy::Descriptor connection = proxy::connect_to(server.path()).value();
  ASSERT_TRUE(proxy::exchange(connection.number(),
                              {{"ask", "hello"}, {"version", proxy::kVersion}, {"instance", "one"}}));
  EXPECT_EQ(refusal(server, "one"), "instance 'one' has 1 clients, as many as it takes");
}

Result<Instances> cut(std::vector<std::string> texts) {
  std::vector<InstanceOptions> wanted;
  for (const std::string& text : texts) {
    TRY_ASSIGN(InstanceOptions one, parse_instance(text));
    wanted.push_back(std::move(one));
  }
  return Instances::cut(machine::read_shape(kShape, "test").value(), 1 << 30, wanted);
}

TEST(Instances, WhatCannotBeCut) {
  const auto message = [](std::vector<std::string> texts) {
    const auto made = cut(std::move(texts));
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message({"a=gpcs:3,memory:1M", "b=gpcs:2,memory:1M"}), "instance 'b' wants 2 GPCs, 1 are left");
  EXPECT_EQ(message({"a=sms:6,memory:1M"}),
            "instance 'a' wants 6 SMs, and no GPC has whole TPCs of so many left");
  EXPECT_EQ(message({"a=sms:3,memory:1M"}),
            "instance 'a' wants 3 SMs, and no GPC has whole TPCs of so many left");
  EXPECT_EQ(message({"a=gpcs:1,memory:1M", "a=gpcs:1,memory:1M"}), "two instances are called 'a'");
  EXPECT_EQ(message({"a=gpcs:1,memory:1G", "b=gpcs:1,memory:1M"}),
            "instance 'b' wants 1M of memory, 0 of 1G are left");
  for (const char* text : {"a", "=gpcs:1,memory:1M", "a#b=gpcs:1,memory:1M"})
    EXPECT_NE(message({text}).find("an instance is NAME="), std::string::npos) << text;
  for (const char* text : {"a=gpcs:1", "a=memory:1M", "a=gpcs:1,sms:2,memory:1M"})
    EXPECT_NE(message({text}).find("either gpcs or sms, and memory"), std::string::npos) << text;
  EXPECT_NE(message({"a=gpcs:1,memory:1M,tpcs:3"}).find("no 'tpcs'"), std::string::npos);
  EXPECT_FALSE(cut({"a=gpcs:0,memory:1M"}));
  EXPECT_FALSE(cut({"a=gpcs:1,memory:"}));
}

TEST(Instances, SmallOnesShareAGpc) {
  const auto made = cut({"a=sms:2,memory:1M", "b=gpcs:1,memory:1M", "c=sms:2,memory:1M"});
  ASSERT_TRUE(made);
  const auto sms = [&](const char* name) { return made->find(name).value()->confinement(); };
  EXPECT_EQ(sms("a"), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(sms("b"), (std::vector<std::uint32_t>{4, 5, 6, 7}));
  EXPECT_EQ(sms("c"), (std::vector<std::uint32_t>{2, 3}));
  const machine::MachineShape& rest = made->find("").value()->shape();
  EXPECT_EQ(rest.sm_count(), 8u);
  EXPECT_EQ(rest.domains(machine::Level::gpc).size(), 2u);
}

}  // namespace
}  // namespace raddle::serve
