#include "serve/server_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "proxy/channel.h"
#include "wait_until.h"

namespace raddle::serve {

const char* const kKernels = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 count, .param .u32 value) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<3>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  ld.param.u32 %r3, [count]; ld.param.u32 %r4, [value]; ld.param.u64 %rd0, [data];
  setp.ge.u32 %p, %r0, %r3;
  @%p ret;
  mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r5, [%rd0]; add.u32 %r5, %r5, %r4; st.global.u32 [%rd0], %r5;
  ret;
}
.visible .entry spin(.param .u64 flag) {
  .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd;
  ld.param.u64 %rd, [flag];
  mov.u32 %r1, %smid; add.u32 %r1, %r1, 1;
  st.volatile.global.u32 [%rd+4], %r1;
LOOP:
  ld.volatile.global.u32 %r0, [%rd];
  setp.ne.u32 %p, %r0, 1;
  @%p bra LOOP;
  ret;
}
.visible .entry store(.param .u64 to) {
  .reg .b64 %rd;
  ld.param.u64 %rd, [to];
  st.global.u32 [%rd], 1;
  ret;
}
.visible .entry load(.param .u64 to, .param .u64 from) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [from];
  ld.global.u64 %rd2, [%rd1]; st.global.u64 [%rd0], %rd2;
  ret;
}
)";

namespace {
/// Listens at a path with descriptor 3.
void pass_socket(const std::string& path) {
  const sockaddr_un address = proxy::address_of(path).value();
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 8) != 0)
    _exit(126);
  if (listener != 3) dup2(listener, 3);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "1", 1);
}
}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> options, bool activated) {
  static int number = 0;
  path_ = testing::TempDir() + "raddle-serve-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  std::vector<std::string> words{RADDLE_COMMAND, "serve", "--socket", path_};
  if (std::ranges::find(options, "--shape") == options.end())
    options.insert(options.end(), {"--shape", "tiny"});
  words.insert(words.end(), options.begin(), options.end());
  process_ = fork();
  if (process_ == 0) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (activated) pass_socket(path_);
    (void)!freopen("/dev/null", "w", stdout);
    execv(RADDLE_COMMAND, arguments.data());
    _exit(127);
  }
  for (int tries = 0; tries < 1000 && !proxy::connect_to(path_); ++tries) {
    if (!is_alive()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

ServerProcess::~ServerProcess() {
  if (process_ < 0) return;
  kill(process_, SIGTERM);
  EXPECT_EQ(wait_for(process_), 0) << "the server did not end well";
}

bool ServerProcess::is_alive() const {
  int status;
  return process_ > 0 && waitpid(process_, &status, WNOHANG) == 0;
}

void ServerProcess::kill_it() {
  kill(process_, SIGKILL);
  wait_for(process_);
  process_ = -1;
}

nlohmann::json ServerProcess::status_when(const std::function<bool(const nlohmann::json&)>& is_so) const {
  const Result<proxy::Descriptor> connection = proxy::connect_to(path_);
  nlohmann::json found;
  for (int tries = 0; connection && tries < 5000; ++tries) {
    auto answer = proxy::exchange(connection->number(), {{"ask", "status"}, {"version", proxy::kVersion}});
    if (!answer) return nullptr;
    found = std::move(*answer);
    if (is_so(found)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return found;
}

nlohmann::json ServerProcess::clients(std::size_t expected) const {
  const nlohmann::json status =
      status_when([&](const nlohmann::json& now) { return now["clients"].size() == expected; });
  return status.is_object() ? status["clients"] : nullptr;
}

void ServerProcess::suspend(bool wanted) const {
  kill(process_, wanted ? SIGSTOP : SIGCONT);
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", process_);
  const auto is_stopped = [](const std::filesystem::directory_entry& task) {
    std::ifstream file(task.path() / "stat");
    std::string text;
    std::getline(file, text);
    const auto state = text.rfind(") ");
    return state != std::string::npos && text[state + 2] == 'T';
  };
  if (!wanted) return;
  (void)wait_until(
      [&] { return std::ranges::all_of(std::filesystem::directory_iterator(tasks), is_stopped); });
}

std::size_t ServerProcess::descriptors() const {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(process_) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t ServerProcess::shared_mappings() const {
  std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

void* shared_page() { return mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }

pid_t start(const ServerProcess& server, const ClientBody& body) {
  const pid_t process = fork();
  if (process == 0) _exit(body(server.path()));
  return process;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 255;
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

Device open_device(const std::string& path) {
  Result<Device> device = Device::open({.server = path});
  if (device) return std::move(*device);
  fmt::print(stderr, "{}\n", device.error().message);
  _exit(100);
}

Spinning::Spinning(const std::string& path)
    : device(open_device(path)),
      module(device.load(kKernels).value()),
      kernel(module.kernel("spin").value()),
      flag(device.buffer(std::vector<std::uint32_t>(2)).value()),
      launch(kernel.launch({.grid = {1}, .block = {1}}, flag).value()) {}

proxy::Descriptor greeted(const std::string& path, nlohmann::json* welcome) {
  Result<proxy::Descriptor> connection = proxy::connect_to(path);
  if (!connection) return {};
  auto answer = proxy::exchange(connection->number(), {{"ask", "hello"}, {"version", proxy::kVersion}});
  if (!answer) return {};
  if (welcome != nullptr) *welcome = std::move(*answer);
  return std::move(*connection);
}

}  // namespace raddle::serve
