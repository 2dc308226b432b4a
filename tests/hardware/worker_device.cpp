#include "hardware/worker_device.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace raddle::testing {
namespace {

constexpr int kPatience = 20'000;  ///< milliseconds; a driver compiles some kernels for seconds

/// Numbers and strings over a socket between a process and its child. `ok` is false after the other has gone.
class Wire {
 public:
  explicit Wire(int socket) : socket_(socket) {}
  bool ok() const { return ok_; }

  void put(const void* data, std::size_t bytes) {
    for (auto at = static_cast<const char*>(data); ok_ && bytes != 0;) {
      const ssize_t sent = ::send(socket_, at, bytes, MSG_NOSIGNAL);
      ok_ = sent > 0;
      if (ok_) at += sent, bytes -= static_cast<std::size_t>(sent);
    }
  }
  void get(void* data, std::size_t bytes) {
    for (auto at = static_cast<char*>(data); ok_ && bytes != 0;) {
      const ssize_t received = ::recv(socket_, at, bytes, 0);
      ok_ = received > 0;
      if (ok_) at += received, bytes -= static_cast<std::size_t>(received);
    }
  }
  void put(std::uint64_t number) { put(&number, sizeof number); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    get(&value, sizeof value);
    return value;
  }
  void put(const std::string& text) { put(text.size()), put(text.data(), text.size()); }
  std::string text() {
    const std::uint64_t bytes = number();
    std::string value(ok_ ? bytes : 0, '\0');
    get(value.data(), value.size());
    return value;
  }

 private:
  int socket_;
  bool ok_ = true;
};

void put_outputs(Wire& wire, const std::vector<DeviceRun::Argument>& arguments) {
  for (const DeviceRun::Argument& argument : arguments)
    if (argument.is_output) wire.put(argument.data, argument.bytes);
}

/// One run, as the parent asked for it.
bool serve(CudaDevice& device, Wire& wire) {
  const std::string ptx = wire.text(), kernel = wire.text();
  const auto threads = static_cast<unsigned>(wire.number()), blocks = static_cast<unsigned>(wire.number());
  std::vector<std::string> data(wire.number());
  if (!wire.ok()) return false;
  DeviceRun run{
      .ptx = ptx, .kernel = kernel, .threads = threads, .arguments = {}, .what = {}, .blocks = blocks};
  for (std::string& bytes : data) {
    const std::uint64_t kind = wire.number();
    bytes = wire.text();
    run.arguments.push_back({bytes.data(), bytes.size(), (kind & 1) != 0, (kind & 2) != 0});
  }
  if (!wire.ok()) return false;
  const std::string problem = device.run(run);
  wire.put(problem);
  if (problem.empty()) put_outputs(wire, run.arguments);
  return wire.ok();
}

[[noreturn]] void work(int socket) {
  Wire wire(socket);
  auto device = CudaDevice::open();
  if (!device.ok()) {
    wire.put(device.error().message);
    ::_exit(1);
  }
  const CudaIdentity& identity = (*device)->identity();
  wire.put(std::string()), wire.put(identity.device);
  wire.put(static_cast<std::uint64_t>(identity.driver)),
      wire.put(static_cast<std::uint64_t>(identity.capability));
  while (serve(**device, wire)) {
  }
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<WorkerDevice>> WorkerDevice::open() {
  auto device = std::make_unique<WorkerDevice>();
  if (const std::string problem = device->start(); !problem.empty())
    return Error::make(ErrorCode::not_found, "{}", problem);
  return device;
}

std::string WorkerDevice::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "no socket";
  std::fflush(nullptr);  // what is buffered would be written twice
  worker_ = ::fork();
  if (worker_ == 0) ::close(ends[0]), work(ends[1]);
  ::close(ends[1]);
  socket_ = ends[0];
  Wire wire(socket_);
  std::string problem = wire.text();
  if (wire.ok() && problem.empty()) {
    identity_.device = wire.text();
    identity_.driver = static_cast<int>(wire.number());
    identity_.capability = static_cast<int>(wire.number());
  }
  return wire.ok() ? problem : "the process that opens the device ended: " + stop();
}

/// @returns how the worker ended
std::string WorkerDevice::stop() {
  if (worker_ < 0) return {};
  ::close(socket_);
  int status = 0;
  if (::waitpid(worker_, &status, WNOHANG) == 0)
    ::usleep(200'000);  // it ends by itself, or hangs in the driver
  if (::waitpid(worker_, &status, WNOHANG) == 0) ::kill(worker_, SIGKILL), ::waitpid(worker_, &status, 0);
  worker_ = -1;
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : fmt::format("status {}", status);
}

std::string WorkerDevice::run(const DeviceRun& run) {
  if (worker_ < 0)
    if (std::string problem = start(); !problem.empty()) return problem;
  Wire wire(socket_);
  wire.put(run.ptx), wire.put(run.kernel), wire.put(run.threads), wire.put(run.blocks);
  wire.put(run.arguments.size());
  for (const DeviceRun::Argument& argument : run.arguments) {
    wire.put((argument.is_buffer ? 1u : 0u) | (argument.is_output ? 2u : 0u));
    wire.put(argument.bytes), wire.put(argument.data, argument.bytes);
  }
  pollfd answer{socket_, POLLIN, 0};
  if (wire.ok() && ::poll(&answer, 1, kPatience) == 0) {
    stop();
    return "time limit";
  }
  std::string problem = wire.text();
  if (!wire.ok()) return "the driver's process ended: " + stop();
  if (problem.empty()) {
    for (const DeviceRun::Argument& argument : run.arguments)
      if (argument.is_output) wire.get(argument.data, argument.bytes);
    return {};
  }
  if (!problem.starts_with("loading:")) stop();  // a fault breaks the context
  return problem;
}

}  // namespace raddle::testing
