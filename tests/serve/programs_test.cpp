// What programs get from a server: their results, beside each other, and each its own faults.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "serve/server_process.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

/// Words that all processes of a test see.
std::atomic<int>* shared_words() {
  void* map = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return static_cast<std::atomic<int>*>(map);
}

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
  const nlohmann::json clients = server.clients(2);
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_NE(clients[0]["space id"], clients[1]["space id"]);
  words[2] = 1;
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(other), 0);
}

/// When a block ran, and where.
struct Stay {
  std::uint64_t begin, end, sm;  // nanoseconds of the machine's clock
};
constexpr std::uint64_t kStay = 300'000'000;
constexpr const char* kWaiting = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry wait_there(.param .u64 times, .param .u64 nanoseconds) {
  .reg .pred %p; .reg .b32 %r; .reg .b64 %rd<5>;
  ld.param.u64 %rd0, [times]; ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
LOOP:
  mov.u64 %rd3, %globaltimer; sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p, %rd4, %rd1;
  @%p bra LOOP;
  mov.u32 %r, %smid; cvt.u64.u32 %rd4, %r;
  st.global.u64 [%rd0], %rd2; st.global.u64 [%rd0+8], %rd3; st.global.u64 [%rd0+16], %rd4;
  ret;
}
)";

/// A block that keeps half of an SM for kStay, once all programs are ready to launch theirs.
int stay(const std::string& path, std::atomic<int>* words, int programs, Stay* stays, int number) {
  Device device = open_device(path);
  Module module = device.load(kWaiting).value();
  Kernel wait_there = module.kernel("wait_there").value();
  Buffer<std::uint64_t> times = device.buffer(std::vector<std::uint64_t>(3)).value();
  const auto run_for = [&](std::uint64_t nanoseconds) {
    return wait_there.launch({.grid = {1}, .block = {1024}}, times, nanoseconds).value().wait().ok();
  };
  if (!run_for(0)) return 1;  // compiled
  words[0] += 1;
  while (words[0] != programs) std::this_thread::yield();
  std::vector<std::uint64_t> found(3);
  if (!run_for(kStay) || !times.read(found)) return 2;
  stays[number] = {found[0], found[1], found[2]};
  return 0;
}

// As many as the machine has SMs. bench_serve has the times of blocks that compute.
// proves: A-26a
TEST(Serve, ProgramsOfOneSmEachEndTogether) {
  constexpr int kPrograms = 4;
  const std::string shape = testing::TempDir() + "four.json";
  std::ofstream(shape) << R"({"name": "four", "memory_bytes": "1G", "sms": 4})";
  ServerProcess server({"--shape", shape});
  std::atomic<int>* const words = shared_words();
  Stay* const stays = reinterpret_cast<Stay*>(shared_words());
  std::vector<pid_t> programs;
  for (int i = 0; i < kPrograms; ++i)
    programs.push_back(
        start(server, [=](const std::string& path) { return stay(path, words, kPrograms, stays, i); }));
  for (const pid_t program : programs) EXPECT_EQ(wait_for(program), 0);
  const std::span all(stays, kPrograms);
  const auto begin = std::ranges::max(all, {}, &Stay::begin).begin,
             end = std::ranges::min(all, {}, &Stay::end).end;
  EXPECT_LT(begin, end) << "there was no moment at which all were there";
  std::set<std::uint64_t> sms;
  for (const Stay& one : all) sms.insert(one.sm);
  EXPECT_EQ(sms.size(), std::size_t{kPrograms});
  const auto whole =
      std::ranges::max(all, {}, &Stay::end).end - std::ranges::min(all, {}, &Stay::begin).begin;
  EXPECT_LT(whole, 2 * kStay) << "of " << kPrograms;
}

/// Holds a secret, tells where, and says whether it is still there.
int keep_secret(const std::string& path, std::atomic<std::uint64_t>* words) {
  Device device = open_device(path);
  Buffer<std::uint64_t> secret = device.buffer(std::vector<std::uint64_t>{0x5ec2e7}).value();
  words[0] = secret.address().value;
  while (words[1] == 0) std::this_thread::yield();
  std::vector<std::uint64_t> now(1);
  if (!secret.read(now)) return 90;
  return now[0] == 0x5ec2e7 && device.synchronize() ? add_many(path) : 1;
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

// proves: A-9g, A-9i
TEST(Serve, AProgramReachesNothingOfAnother) {
  ServerProcess server;
  auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(shared_words());
  const pid_t victim = start(server, [&](const std::string& path) { return keep_secret(path, words); });
  EXPECT_TRUE(wait_until([&] { return words[0] != 0; }));
  for (const bool is_store : {false, true})
    EXPECT_EQ(run(server, [&](const std::string& path) { return attack(path, words[0], is_store); }), 0);
  words[1] = 1;
  EXPECT_EQ(wait_for(victim), 0);
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

int lose_server(const std::string& path, std::atomic<int>* words) {
  Spinning spinning(path);
  words[0] = 1;
  const auto report = spinning.launch.wait();
  if (report || report.error().message.find("server") == std::string::npos) return 1;
  if (spinning.device.allocate(1 << 20)) return 2;
  if (spinning.kernel.launch({.grid = {1}, .block = {1}}, spinning.flag)) return 2;
  return 0;
}

TEST(Serve, AProgramHearsThatItsServerHasGone) {
  ServerProcess server;
  std::atomic<int>* const words = shared_words();
  const pid_t program = start(server, [&](const std::string& path) { return lose_server(path, words); });
  EXPECT_TRUE(wait_until([&] { return words[0] == 1; }));
  server.kill_it();
  EXPECT_EQ(wait_for(program), 0);
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
