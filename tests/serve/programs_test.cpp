// What programs get from a server: their results, beside each other, and each its own faults.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

/// Words that all processes of a test see.
std::atomic<int>* shared_words() { return static_cast<std::atomic<int>*>(shared_page()); }

int add_many(const std::string& path) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  const std::vector<std::uint32_t> zeros(1000);
  Buffer<std::uint32_t> data = device.buffer(zeros).value();
  for (std::uint32_t i = 1; i <= 100; ++i)
    (void)add.launch({.grid = {8}, .block = {128}}, data, 1000u, i).value();
  if (!device.synchronize()) return 1;
  std::vector<std::uint32_t> sums(1000);
  if (!data.read(sums)) return 90;
  for (const std::uint32_t sum : sums)
    if (sum != 5050) return 2;
  return 0;
}

TEST(Serve, OneProgramGetsItsResults) {
  ServerProcess server;
  EXPECT_EQ(run(server, add_many), 0);
  EXPECT_EQ(server.clients(0).size(), 0u);
}

int add_in_parts(const std::string& path) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  Buffer<std::uint32_t> data = device.buffer(std::vector<std::uint32_t>(1000)).value();
  LaunchConfig config{.grid = {8}, .block = {128}, .part = GridPart{{2, 0, 0}, {3, 1, 1}}};
  if (!add.launch(config, data, 1000u, 7u).value().wait()) return 1;
  std::vector<std::uint32_t> sums(1000);
  if (!data.read(sums)) return 2;
  for (std::uint32_t i = 0; i < sums.size(); ++i)
    if (sums[i] != (i / 128 >= 2 && i / 128 < 5 ? 7u : 0u)) return 3;
  config.part->extent.x = 7;
  return add.launch(config, data, 1000u, 7u).ok() ? 4 : 0;
}

TEST(Serve, PartsOfGrids) {
  ServerProcess server;
  EXPECT_EQ(run(server, add_in_parts), 0);
}

int launch_a_record(const std::string& path) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel add = module.kernel("add").value();
  Buffer<std::uint32_t> data = device.buffer(std::vector<std::uint32_t>(100)).value();
  const TaskRecord record = add.record({.grid = {1}, .block = {128}}, data, 100u, 3u).value();
  const DevicePtr there = device.allocate(sizeof record).value();
  if (!device.write(there, &record, sizeof record)) return 1;
  const Result<Launch> launched = device.default_stream().launch(there);
  if (launched || launched.error().code != ErrorCode::unsupported) return 2;
  return launched.error().message.find("task records") != std::string::npos && device.status() ? 0 : 3;
}

TEST(Serve, RecordsOfTasksAreRefusedByName) {
  ServerProcess server;
  EXPECT_EQ(run(server, launch_a_record), 0);
}

TEST(Serve, AServiceManagerMayOpenTheSocket) {
  std::string path;
  {
    ServerProcess server({}, true);
    path = server.path();
    EXPECT_EQ(run(server, add_many), 0);
  }
  EXPECT_EQ(access(path.c_str(), F_OK), 0);  // it is the manager's
  unlink(path.c_str());
}

TEST(Serve, ManyProgramsGetTheirs) {
  ServerProcess server;
  std::vector<pid_t> programs;
  for (int i = 0; i < 8; ++i) programs.push_back(start(server, add_many));
  for (const pid_t program : programs) EXPECT_EQ(wait_for(program), 0);
}

/// Its kernel runs until the test says so.
int meet(const std::string& path, std::atomic<int>* words, int me) {
  Spinning spinning(path);
  volatile std::uint32_t* const seen = spinning.words();  // host and kernel see the same pages (A-19a)
  while (seen[1] == 0) std::this_thread::yield();
  words[me] = 1;
  while (words[2] == 0) std::this_thread::yield();
  seen[0] = 1;
  return spinning.launch.wait() ? 0 : 1;
}

// proves: A-5a, A-5c, A-18a, A-18b, A-18c, A-18d, A-18e, A-18f, A-18g, A-19a
TEST(Serve, KernelsOfTwoProgramsRunAtTheSameTime) {
  ServerProcess server({"--workers", "1"});
  std::atomic<int>* const words = shared_words();
  const pid_t one = start(server, [&](const std::string& path) { return meet(path, words, 0); });
  const pid_t other = start(server, [&](const std::string& path) { return meet(path, words, 1); });
  EXPECT_TRUE(wait_until([&] { return words[0] == 1 && words[1] == 1; }));
  const nlohmann::json clients = server.clients(2);  // of one moment: the distributor's lock is held for it
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_NE(clients[0]["space id"], clients[1]["space id"]);
  EXPECT_EQ((std::set<pid_t>{clients[0]["process"], clients[1]["process"]}), (std::set{one, other}));
  for (const nlohmann::json& client : clients) {
    EXPECT_EQ(client["sms"], 1) << "a block of each is there";
    EXPECT_EQ(client["launches running"], 1);
    EXPECT_EQ(std::tuple(client["spaces"], client["modules"]), std::tuple(1, 1));
    EXPECT_GT(client["memory"], (8u << 20) + sizeof(std::uint32_t)) << "the heap, and what was allocated";
  }
  words[2] = 1;
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(other), 0);
}

/// The kernel's name tells the process.
int meet_by_name(const std::string& path, std::atomic<int>* words, int me) {
  std::string text = kKernels;
  const std::string_view plain = "entry spin(";
  text.replace(text.find(plain), plain.size(), fmt::format("entry spin_of_{}(", getpid()));
  Device device = open_device(path);
  Module module = device.load(text).value();
  Kernel kernel = module.kernel(fmt::format("spin_of_{}", getpid())).value();
  Buffer<std::uint32_t> flag = device.buffer(std::vector<std::uint32_t>(2)).value();
  auto* const seen = reinterpret_cast<volatile std::uint32_t*>(flag.address().value);
  Launch launch = kernel.launch({.grid = {1}, .block = {1}}, flag).value();
  if (!wait_until([&] { return seen[1] != 0; })) return 1;
  words[me] = 1;
  if (!wait_until([&] { return words[1 - me] == 1; })) return 2;
  seen[0] = 1;
  return launch.wait() ? 0 : 3;
}

/// Kernels that have blocks on the machine at one moment of a trace, at most.
std::set<std::string> most_at_once(const std::string& trace) {
  std::map<std::uint64_t, std::string> names;
  std::map<std::string, std::size_t> resident;
  std::set<std::string> most;
  std::ifstream file(trace);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json step = nlohmann::json::parse(line);
    if (step.contains("name")) names[step["grid"]] = step["name"];
    if (!step.contains("step")) continue;
    const std::string kind = step["step"];
    const std::string& name = names[step["grid"].get<std::uint64_t>()];
    if (kind == "launch") resident[name] += step["sms"].size();
    if (kind == "complete" && (resident[name] -= step["sms"].size()) == 0) resident.erase(name);
    std::set<std::string> now;
    for (const auto& [kernel, blocks] : resident) now.insert(kernel);
    if (now.size() > most.size()) most = now;
  }
  return most;
}

// proves: A-5a, A-18a, A-18c
TEST(Serve, ATraceShowsBlocksOfTwoProgramsAtTheSameTime) {
  const std::string trace = testing::TempDir() + fmt::format("raddle-trace-{}", getpid());
  std::atomic<int>* const words = shared_words();
  pid_t programs[2];
  setenv("RADDLE_DECISIONS", trace.c_str(), 1);
  {
    ServerProcess server({"--workers", "1"});
    unsetenv("RADDLE_DECISIONS");
    for (int i : {0, 1})
      programs[i] = start(server, [=](const std::string& path) { return meet_by_name(path, words, i); });
    for (const pid_t program : programs) EXPECT_EQ(wait_for(program), 0);
  }  // which writes the trace to its end
  std::set<std::string> expected;
  for (const pid_t program : programs) expected.insert(fmt::format("spin_of_{}", program));
  EXPECT_EQ(most_at_once(trace), expected);
  unlink(trace.c_str());
}

/// When a block ran, and where.
struct Stay {
  std::uint64_t begin, end, sm;  // nanoseconds of the machine's clock
};
constexpr const char* kStaying = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry stay(.param .u64 words) {
  .reg .pred %p, %first; .reg .b32 %r; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [words];
  mov.u32 %r, %smid; cvt.u64.u32 %rd1, %r; st.global.u64 [%rd0+24], %rd1;
  mov.u32 %r, %tid.x; setp.eq.u32 %first, %r, 0;  // other warps may begin when the first has been seen
  mov.u64 %rd1, %globaltimer; @%first st.volatile.global.u64 [%rd0+8], %rd1;
LOOP:
  ld.volatile.global.u64 %rd2, [%rd0];
  setp.eq.u64 %p, %rd2, 0;
  @%p bra LOOP;
  mov.u64 %rd1, %globaltimer; st.volatile.global.u64 [%rd0+16], %rd1;
  ret;
}
)";

/// A block that keeps half of an SM until the blocks of all programs are there.
int stay(const std::string& path, std::atomic<int>* words, int programs, Stay* stays, int number) {
  Device device = open_device(path);
  Module module = device.load(kStaying).value();
  Buffer<std::uint64_t> buffer = device.buffer(std::vector<std::uint64_t>(4)).value();
  auto* const seen = reinterpret_cast<volatile std::uint64_t*>(buffer.address().value);
  Launch launch = module.kernel("stay").value().launch({.grid = {1}, .block = {1024}}, buffer).value();
  if (!wait_until([&] { return seen[1] != 0; })) return 1;
  words[0] += 1;
  if (!wait_until([&] { return words[0] == programs; })) return 2;
  seen[0] = 1;
  if (!launch.wait()) return 3;
  stays[number] = {seen[1], seen[2], seen[3]};
  return 0;
}

// As many as the machine has SMs: none of them waits for another one's end, each has an SM to itself.
// bench_serve has the times of blocks that compute.
// proves: A-26a
TEST(Serve, ProgramsOfOneSmEachEndTogether) {
  constexpr int kPrograms = 4;
  const std::string shape = testing::TempDir() + "four.json";
  std::ofstream(shape) << R"({"name": "four", "memory_bytes": "1G", "sms": 4})";
  ServerProcess server({"--shape", shape});
  std::atomic<int>* const words = shared_words();
  Stay* const stays = static_cast<Stay*>(shared_page());
  std::vector<pid_t> programs;
  for (int i = 0; i < kPrograms; ++i)
    programs.push_back(
        start(server, [=](const std::string& path) { return stay(path, words, kPrograms, stays, i); }));
  for (const pid_t program : programs) EXPECT_EQ(wait_for(program), 0);
  const std::span all(stays, kPrograms);
  EXPECT_LT(std::ranges::max(all, {}, &Stay::begin).begin, std::ranges::min(all, {}, &Stay::end).end);
  std::set<std::uint64_t> sms;
  for (const Stay& one : all) sms.insert(one.sm);
  EXPECT_EQ(sms.size(), std::size_t{kPrograms});
}

/// Holds a secret while a kernel of its own runs, tells where, and says whether all is still there.
int keep_secret(const std::string& path, std::atomic<std::uint64_t>* words) {
  Spinning spinning(path);
  const DevicePtr secret = spinning.device.allocate(8).value();
  auto* const place = reinterpret_cast<volatile std::uint64_t*>(secret.value);
  *place = 0x5ec2e7;
  if (!wait_until([&] { return spinning.words()[1] != 0; })) return 3;
  words[0] = secret.value;
  if (!wait_until([&] { return words[1] != 0; })) return 4;
  if (spinning.launch.done()) return 2;
  spinning.words()[0] = 1;
  if (!spinning.launch.wait() || *place != 0x5ec2e7) return 1;
  return spinning.device.synchronize() ? add_many(path) : 5;
}

int attack(const std::string& path, std::uint64_t secret, bool is_store) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Buffer<std::uint64_t> found = device.buffer(std::vector<std::uint64_t>(1)).value();
  Kernel kernel = module.kernel(is_store ? "store" : "load").value();
  Result<Launch> launch = is_store ? kernel.launch({.grid = {1}, .block = {1}}, secret)
                                   : kernel.launch({.grid = {1}, .block = {1}}, found, secret);
  const auto report = launch.value().wait();
  // The device is a failed one, but the memory is this process's.
  const auto* const read = reinterpret_cast<const volatile std::uint64_t*>(found.address().value);
  if (report || report.error().code != ErrorCode::kernel_fault || *read != 0) return 1;
  return report.error().message.find(fmt::format("{:#x}", secret)) != std::string::npos ? 0 : 2;
}

// On one worker, and on several.
// proves: A-9g, A-9i, A-10a, A-10b
TEST(Serve, AProgramReachesNothingOfAnother) {
  for (const char* workers : {"1", "2"}) {
    ServerProcess server({"--workers", workers});
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(shared_words());
    const pid_t victim = start(server, [&](const std::string& path) { return keep_secret(path, words); });
    EXPECT_TRUE(wait_until([&] { return words[0] != 0; }));
    for (const bool is_store : {false, true})
      EXPECT_EQ(run(server, [&](const std::string& path) { return attack(path, words[0], is_store); }), 0);
    words[1] = 1;
    EXPECT_EQ(wait_for(victim), 0);
  }
}

/// A context fails, another one of the same program goes on.
int fault_in_one_context(const std::string& path) {
  Device bad = open_device(path), good = open_device(path);
  Module bad_module = bad.load(kKernels).value(), good_module = good.load(kKernels).value();
  Kernel store = bad_module.kernel("store").value(), add = good_module.kernel("add").value();
  Buffer<std::uint32_t> data = good.buffer(std::vector<std::uint32_t>(32)).value();
  if (store.launch({.grid = {1}, .block = {1}}, std::uint64_t{64}).value().wait()) return 1;
  if (bad.synchronize() || store.launch({.grid = {1}, .block = {1}}, data)) return 2;  // sticky
  if (!add.launch({.grid = {1}, .block = {32}}, data, 32u, 7u).value().wait()) return 3;
  std::vector<std::uint32_t> now(32);
  if (!data.read(now)) return 90;
  return now[31] == 7 && good.synchronize() ? 0 : 4;
}

// proves: A-9h, A-9i
TEST(Serve, AFaultMarksItsContextOnly) {
  ServerProcess server;
  EXPECT_EQ(run(server, fault_in_one_context), 0);
}

/// What was freed is gone for kernels, what was not is still there.
int free_and_touch(const std::string& path) {
  Device device = open_device(path);
  Module module = device.load(kKernels).value();
  Kernel store = module.kernel("store").value();
  const DevicePtr kept = device.allocate(1 << 20).value(), freed = device.allocate(1 << 20).value();
  for (const DevicePtr address : {freed, kept})
    if (!store.launch({.grid = {1}, .block = {1}}, address).value().wait()) return 1;
  if (*reinterpret_cast<volatile std::uint32_t*>(kept.value) != 1 || !device.free(freed)) return 2;
  if (!store.launch({.grid = {1}, .block = {1}}, kept).value().wait()) return 3;
  return store.launch({.grid = {1}, .block = {1}}, freed).value().wait() ? 4 : 0;
}

// proves: A-12a, A-12c, A-12d
TEST(Serve, KernelsSeeThePagesThatTheProgramHas) {
  ServerProcess server;
  EXPECT_EQ(run(server, free_and_touch), 0);
}

/// Waits for a kernel, or for an answer, when the server goes; idle if neither.
enum class LostIn { launch, request, nothing };
int lose_server(const std::string& path, std::atomic<int>* words, LostIn what) {
  Spinning spinning(path);
  const auto says_so = [](const Error& error) {
    return error.code == ErrorCode::server && error.message.find("server") != std::string::npos;
  };
  if (what != LostIn::launch) {
    spinning.words()[0] = 1;
    if (!spinning.launch.wait()) return 1;
  }
  words[0] = 1;
  if (what == LostIn::launch) {
    const auto report = spinning.launch.wait();
    if (report || report.error().message.find("server") == std::string::npos) return 1;
  }
  if (what != LostIn::launch && !wait_until([&] { return words[1] != 0; })) return 6;
  const Result<Module> loaded = spinning.device.load(kKernels);
  if (loaded || !says_so(loaded.error())) return 2;
  if (spinning.device.allocate(1 << 20)) return 3;
  Result<Launch> launched = spinning.kernel.launch({.grid = {1}, .block = {1}}, spinning.flag);
  if (launched && launched->wait()) return 4;
  return Device::open({.server = path}) ? 5 : 0;
}

TEST(Serve, AProgramHearsThatItsServerHasGone) {
  for (const LostIn what : {LostIn::launch, LostIn::request, LostIn::nothing}) {
    ServerProcess server;
    std::atomic<int>* const words = shared_words();
    const pid_t program =
        start(server, [&](const std::string& path) { return lose_server(path, words, what); });
    EXPECT_TRUE(wait_until([&] { return words[0] == 1; }));
    if (what == LostIn::request) {
      server.suspend(true);
      int status = 0;
      EXPECT_EQ(waitpid(server.process(), &status, WUNTRACED), server.process());
      words[1] = 1;
      give_others_a_chance();  // to ask
    }
    server.kill_it();
    words[1] = 1;
    EXPECT_EQ(wait_for(program), 0) << "case " << static_cast<int>(what);
  }
}

/// The module goes while its kernel runs, and the kernel faults: its code is still there.
int unload_and_fault(const std::string& path) {
  Device device = open_device(path);
  Buffer<std::uint32_t> flag = device.buffer(std::vector<std::uint32_t>(2)).value();
  auto* const seen = reinterpret_cast<volatile std::uint32_t*>(flag.address().value);
  for (int i = 0; i < 20; ++i) {
    Device other = open_device(path);
    seen[0] = 0;
    seen[1] = 0;
    std::optional<Module> module = other.load(kKernels).value();
    Kernel spin = module->kernel("spin").value(), store = module->kernel("store").value();
    Launch launch = spin.launch({.grid = {1}, .block = {1}}, flag).value();
    Launch bad = store.launch({.grid = {1}, .block = {1}}, std::uint64_t{64}).value();
    if (!wait_until([&] { return seen[1] != 0; })) return 1;
    module.reset();
    seen[0] = 1;
    if (!launch.wait() || bad.wait()) return 2;
  }
  return add_many(path);
}

TEST(Serve, AModuleLastsAsLongAsItsLaunches) {
  ServerProcess server;
  EXPECT_EQ(run(server, unload_and_fault), 0);
}

int stop_endless(const std::string& path) {
  Spinning spinning(path);
  spinning.launch.cancel();
  return spinning.launch.wait() ? 1 : spinning.device.synchronize() ? 0 : 2;  // cancelling is no failure
}

TEST(Serve, ALaunchCanBeCancelled) {
  ServerProcess server;
  EXPECT_EQ(run(server, stop_endless), 0);
}

}  // namespace
}  // namespace raddle::serve
