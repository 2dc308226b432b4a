#include "serve/service.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "machine/shape/shape_file.h"
#include "proxy/channel.h"
#include "proxy/documents.h"
#include "serve/requests.h"
#include "serve/status.h"

namespace raddle::serve {
namespace {

Error failed(const std::string& path, const char* what) {
  return Error::make(ErrorCode::io, "{}: {}: {}", path, what, std::strerror(errno));
}

/// A socket whose file is its owner's only. A file that nobody listens at any more makes room.
Result<proxy::Descriptor> listen_at(const std::string& path) {
  TRY_ASSIGN(const sockaddr_un address, proxy::address_of(path));
  if (proxy::connect_to(path)) return Error::make(ErrorCode::io, "{}: a server listens there already", path);
  struct stat about{};
  if (stat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) unlink(path.c_str());
  proxy::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed(path, "socket");
  const mode_t before = umask(0177);
  const bool bound = bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (!bound) return failed(path, "bind");
  if (listen(socket.number(), SOMAXCONN) != 0) return failed(path, "listen");
  return socket;
}

/// The socket that a service manager has opened and passes as descriptor 3, if it does (sd_listen_fds(3)).
proxy::Descriptor passed_socket() {
  const char* const process = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  if (process == nullptr || count == nullptr || std::atoi(process) != getpid() || std::atoi(count) != 1)
    return {};
  proxy::Descriptor socket(3);
  fcntl(socket.number(), F_SETFD, FD_CLOEXEC);
  fcntl(socket.number(), F_SETFL, O_NONBLOCK);
  return socket;
}

constexpr timeval kPatience{5, 0};

void wait_at_most(int connection, timeval limit) {
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace

Result<std::unique_ptr<Service>> Service::open(Options options) {
  options.device.translation = Translation::windowed;
  TRY_ASSIGN(Device device, Device::open(options.device));
  const DeviceProperties properties = device.properties();
  if (options.limits.memory_bytes == 0) options.limits.memory_bytes = properties.memory_bytes;
  TRY_ASSIGN(Instances instances,
             Instances::cut(machine_of(device).shape(), properties.memory_bytes, options.instances));
  proxy::Descriptor listener = passed_socket();
  const bool is_passed = static_cast<bool>(listener);
  if (!is_passed) {
    TRY_ASSIGN(listener, listen_at(options.path));
  }
  proxy::Descriptor stopping = proxy::make_bell();
  std::unique_ptr<Service> service(
      new Service(std::move(options), std::move(instances), std::move(listener), std::move(stopping)));
  if (!service->stopping_ || !service->host_interface_.works())
    return Error::make(ErrorCode::io, "no descriptors are left");
  service->owns_path_ = !is_passed;
  service->device_ = std::make_unique<Device>(std::move(device));
  service->engine_ = properties.engine;
  return service;
}

Service::Service(Options options, Instances instances, proxy::Descriptor listener, proxy::Descriptor stopping)
    : options_(std::move(options)),
      instances_(std::move(instances)),
      listener_(std::move(listener)),
      stopping_(std::move(stopping)) {}

Service::~Service() {
  if (owns_path_) unlink(options_.path.c_str());
  for (Guest& guest : guests_) shutdown(guest.connection.number(), SHUT_RDWR);
  collect_ended(true);
}

void Service::stop() { proxy::ring(stopping_); }

Result<void> Service::run() {
  for (;;) {
    pollfd sources[] = {{listener_.number(), POLLIN, 0}, {stopping_.number(), POLLIN, 0}};
    if (poll(sources, 2, 1000) < 0 && errno != EINTR) return failed(options_.path, "poll");
    if ((sources[1].revents & POLLIN) != 0) return {};
    collect_ended(false);
    if ((sources[0].revents & POLLIN) != 0) admit();
  }
}

void Service::collect_ended(bool all) {
  const std::lock_guard lock(mutex_);
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    if (!all && !guest->ended) {
      ++guest;
      continue;
    }
    guest->requests.join();
    guest = guests_.erase(guest);
  }
}

void Service::admit() {
  proxy::Descriptor connection(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return;
  const std::lock_guard lock(mutex_);
  Guest& guest = guests_.emplace_back();
  guest.connection = std::move(connection);
  guest.requests = std::thread([this, &guest] {
    serve(guest);
    guest.ended = true;
  });
}

namespace {

Result<Peer> peer_of(int connection) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != geteuid())
    return Error::make(ErrorCode::server, "the server is another user's");
  std::string name;
  std::ifstream file("/proc/" + std::to_string(peer.pid) + "/comm");
  std::getline(file, name);
  return Peer{peer.pid, peer.uid, std::move(name)};
}

/// The beginning of a connection: does it speak the same?
Result<proxy::Message> first_request(int connection) {
  wait_at_most(connection, kPatience);  // for who connects and says nothing
  TRY_ASSIGN(proxy::Message request, proxy::receive(connection));
  wait_at_most(connection, {});
  const std::uint64_t version = proxy::number_in(request.body, "version");
  if (version != proxy::kVersion)
    return Error::make(ErrorCode::server, "the server speaks version {} of the protocol, the program {}",
                       proxy::kVersion, version);
  return request;
}

}  // namespace

Result<std::shared_ptr<Client>> Service::welcome(const proxy::Message& hello, Peer peer) {
  if (const std::string ask = proxy::text_in(hello.body, "ask"); ask != "hello")
    return Error::make(ErrorCode::server, "a program says hello before '{}'", ask);
  TRY_ASSIGN(Instance* const instance, instances_.find(proxy::text_in(hello.body, "instance")));
  const std::string context = proxy::text_in(hello.body, "context");
  if (!context.empty() && !options_.device.contexts)
    return Error::make(ErrorCode::server,
                       "the server has no device context '{}', but one for all (raddle serve --contexts)",
                       context);
  const std::lock_guard lock(admitting_);
  if (clients_.count() >= options_.limits.clients)
    return Error::make(ErrorCode::server, "the server has {} clients, as many as it takes",
                       options_.limits.clients);
  if (instance->most_clients() != 0 && clients_.count(*instance) >= instance->most_clients())
    return Error::make(ErrorCode::server, "instance '{}' has {} clients, as many as it takes",
                       instance->name(), instance->most_clients());
  return Client::admit(options_, {*instance, context}, clients_, std::move(peer));
}

nlohmann::json Service::greeting(Client& client) const {
  return {{"shape", machine::shape_text(client.instance().shape())},
          {"policy", options_.device.policy},
          {"engine", engine_},
          {"workers", machine_of(*device_).worker_count()},
          {"memory", client.memory_limit()},
          {"window", client.lent().start},
          {"window_bytes", client.lent().bytes}};
}

/// Who watches is no client, and takes nothing of what clients have.
void Service::tell_watcher(int connection) {
  while (proxy::send(connection, describe(options_, machine_of(*device_), instances_, clients_)))
    if (!proxy::receive(connection)) return;  // whatever it says, it asks for that
}

void Service::serve(Guest& guest) {
  const int connection = guest.connection.number();
  const auto refuse = [&](const Error& error) {
    (void)proxy::send(connection, {{"error", proxy::to_document(error)}});
  };
  Result<Peer> peer = peer_of(connection);
  if (!peer) return refuse(peer.error());
  const Result<proxy::Message> first = first_request(connection);
  if (!first) return refuse(first.error());
  if (proxy::text_in(first->body, "ask") == "status") return tell_watcher(connection);
  const Result<std::shared_ptr<Client>> client = welcome(*first, std::move(*peer));
  if (!client) return refuse(client.error());
  if (!proxy::send(connection, greeting(**client))) return;
  host_interface_.add(*client);
  serve_connection(**client, connection);
  (*client)->close();
  host_interface_.remove(*client);
  shutdown(connection, SHUT_RDWR);  // who was cut off is to hear of it, before the guest is collected
}

}  // namespace raddle::serve
