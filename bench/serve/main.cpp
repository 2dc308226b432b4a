// bench_serve: what a launch costs through `raddle serve` beside one on the process's own machine, what two
// programs get of one server beside one alone, and what four small ones, as ranks of MPI are, get of one
// device context beside four contexts that take turns (docs/serve.md). Every measurement is a process of its
// own, since a process has one server; each is repeated in turns, and the medians are printed.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "raddle/raddle.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKernels = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry multiply(.param .u64 data) {
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .f32 %f<2>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  ld.param.u64 %rd0, [data];
  mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
  ld.global.f32 %f0, [%rd0]; mov.u32 %r3, 0;
LOOP:
  fma.rn.f32 %f0, %f0, %f0, %f0;
  add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 1000;
  @%p bra LOOP;
  st.global.f32 [%rd0], %f0;
  ret;
}
)";

/// What children measure, in seconds. They begin together, when all that were started are warm.
struct Shared {
  double value[8] = {};
  std::atomic<std::size_t> started = 0, warm = 0;
};
Shared* shared;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

raddle::Device open(const std::string& server) {
  raddle::DeviceOptions options;
  options.server = server;
  return raddle::Device::open(options).value();
}

/// A kernel on a device of its own.
struct Loaded {
  Loaded(const std::string& server, const char* name)
      : device(open(server)), module(device.load(kKernels).value()), kernel(module.kernel(name).value()) {}
  raddle::Device device;
  raddle::Module module;
  raddle::Kernel kernel;
};

/// Seconds of a launch, of so many one after the other, of which only the end is waited for.
template <class... Arguments>
double time_launches(Loaded& loaded, const raddle::LaunchConfig& config, int warm, int timed,
                     const Arguments&... arguments) {
  const auto launch = [&](int count) {
    for (int i = 0; i < count; ++i) (void)loaded.kernel.launch(config, arguments...).value();
    (void)loaded.device.synchronize();
  };
  launch(warm);
  for (++shared->warm; shared->warm < shared->started;) std::this_thread::yield();
  const auto start = Clock::now();
  launch(timed);
  return seconds_since(start) / timed;
}

double back_to_back(const std::string& server) {
  Loaded nothing(server, "nothing");
  return time_launches(nothing, {.grid = {1}, .block = {32}}, 1000, 20000);
}

double round_trip(const std::string& server) {
  constexpr int kLaunches = 2000;
  Loaded nothing(server, "nothing");
  const auto launch = [&] { (void)nothing.kernel.launch({.grid = {1}, .block = {32}}).value().wait(); };
  launch();
  const auto start = Clock::now();
  for (int i = 0; i < kLaunches; ++i) launch();
  return seconds_since(start) / kLaunches;
}

/// Grids that keep all workers busy.
double work(const std::string& server) {
  Loaded multiply(server, "multiply");
  auto data = multiply.device.buffer(std::vector<float>(1 << 17)).value();
  return time_launches(multiply, {.grid = {512}, .block = {256}}, 2, 100, data);
}

/// One block: an SM of the machine, and a core of the host.
double work_of_one_sm(const std::string& server) {
  Loaded multiply(server, "multiply");
  auto data = multiply.device.buffer(std::vector<float>(1024)).value();
  return time_launches(multiply, {.grid = {1}, .block = {1024}}, 2, 2000, data);
}

pid_t start(int place, double (*measure)(const std::string&), const std::string& server) {
  const pid_t child = fork();
  if (child == 0) {
    shared->value[place] = measure(server);
    _exit(0);
  }
  return child;
}

/// One process for each server's name, at once: the time of one launch of any, until the last has ended.
double measure_all(double (*what)(const std::string&), const std::vector<std::string>& servers) {
  std::vector<pid_t> children;
  shared->warm = 0;
  shared->started = servers.size();
  for (const std::string& server : servers)
    children.push_back(start(static_cast<int>(children.size()), what, server));
  double longest = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    waitpid(children[i], nullptr, 0);
    longest = std::max(longest, shared->value[i]);
  }
  return longest / static_cast<double>(servers.size());
}

double measure(double (*what)(const std::string&), const std::string& server) {
  return measure_all(what, {server});
}

double measure_two(double (*what)(const std::string&), const std::string& server) {
  return measure_all(what, {server, server});
}

/// Until it is destroyed.
class Served {
 public:
  Served(std::string name, const char* contexts)
      : path_(fmt::format("/tmp/bench-serve-{}-{}", getpid(), name)), process_(fork()) {
    if (process_ == 0) {
      const char* const option = contexts == nullptr ? nullptr : "--contexts";
      execl(RADDLE_COMMAND, RADDLE_COMMAND, "serve", "--socket", path_.c_str(), option, contexts, nullptr);
      _exit(127);
    }
    while (access(path_.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~Served() {
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const pid_t process_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 5;
  shared =
      new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  const Served server("one", nullptr), turns("turns", "queued");
  const std::string& path = server.path();
  const std::vector<std::string> ranks(4, path);
  std::vector<std::string> contexts;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    contexts.push_back(fmt::format("{}#@rank{}", turns.path(), i));
  std::vector<double> own_launch, served_launch, own_trip, served_trip, own_work, one, two, one_sm, two_sms,
      together, in_turns;
  for (int i = 0; i < runs; ++i) {
    own_launch.push_back(measure(back_to_back, ""));
    served_launch.push_back(measure(back_to_back, path));
    own_trip.push_back(measure(round_trip, ""));
    served_trip.push_back(measure(round_trip, path));
    own_work.push_back(measure(work, ""));
    one.push_back(measure(work, path));
    two.push_back(measure_two(work, path));
    one_sm.push_back(measure(work_of_one_sm, path));
    two_sms.push_back(measure_two(work_of_one_sm, path));
    together.push_back(measure_all(work_of_one_sm, ranks));
    in_turns.push_back(measure_all(work_of_one_sm, contexts));
  }
  fmt::print("{:<34} {:>12} {:>12}\n", "", "own machine", "server");
  fmt::print("{:<34} {:>9.2f} us {:>9.2f} us\n", "empty launch, back to back", median(own_launch) * 1e6,
             median(served_launch) * 1e6);
  fmt::print("{:<34} {:>9.2f} us {:>9.2f} us\n", "empty launch, there and back", median(own_trip) * 1e6,
             median(served_trip) * 1e6);
  fmt::print("{:<34} {:>9.2f} us {:>9.2f} us\n", "launch of 131,072 busy threads", median(own_work) * 1e6,
             median(one) * 1e6);
  fmt::print("two programs get {:.2f} of what one gets of the server\n", median(one) / median(two));
  fmt::print("two programs of one SM each end in {:.2f} of the time of one\n",
             2 * median(two_sms) / median(one_sm));
  fmt::print(
      "four programs of one SM each in one device context: {:.2f} times as fast as in a context each, in "
      "turns\n",
      median(in_turns) / median(together));
  return 0;
}
