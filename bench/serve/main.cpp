// bench_serve: what a launch costs through `raddle serve` beside one on the process's own machine, and what
// two programs get of one server beside one alone (docs/serve.md). Every measurement is a process of its own,
// since a process has one server; each is repeated in turns, and the medians are printed.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

/// What a child measured, in seconds.
struct Shared {
  double value[8] = {};
};

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
  return time_launches(multiply, {.grid = {1}, .block = {1024}}, 2, 500, data);
}

Shared* shared;

pid_t start(int place, double (*measure)(const std::string&), const std::string& server) {
  const pid_t child = fork();
  if (child == 0) {
    shared->value[place] = measure(server);
    _exit(0);
  }
  return child;
}

double measure(double (*what)(const std::string&), const std::string& server) {
  waitpid(start(0, what, server), nullptr, 0);
  return shared->value[0];
}

/// Two at once: the time of one launch of either.
double measure_two(double (*what)(const std::string&), const std::string& server) {
  const pid_t one = start(0, what, server), other = start(1, what, server);
  waitpid(one, nullptr, 0);
  waitpid(other, nullptr, 0);
  return 1 / (1 / shared->value[0] + 1 / shared->value[1]);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 5;
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::string path = fmt::format("/tmp/bench-serve-{}", getpid());
  const pid_t server = fork();
  if (server == 0) {
    execl(RADDLE_COMMAND, RADDLE_COMMAND, "serve", "--socket", path.c_str(), nullptr);
    _exit(127);
  }
  while (access(path.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::vector<double> own_launch, served_launch, own_trip, served_trip, own_work, one, two, one_sm, two_sms;
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
  }
  kill(server, SIGTERM);
  waitpid(server, nullptr, 0);
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
  return 0;
}
