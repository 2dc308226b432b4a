#include "serve/host_interface.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "base/futex.h"

namespace raddle::serve {
namespace {

void drain(int counter) {
  std::uint64_t rung;
  (void)!read(counter, &rung, sizeof rung);
}

}  // namespace

HostInterface::HostInterface() : events_(epoll_create1(EPOLL_CLOEXEC)), wake_(proxy::make_bell()) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.number()}};
  epoll_ctl(events_.number(), EPOLL_CTL_ADD, wake_.number(), &event);
  thread_ = std::thread([this] { run(); });
}

HostInterface::~HostInterface() {
  stopping_ = true;
  ring(wake_);
  thread_.join();
}

void HostInterface::add(const std::shared_ptr<Client>& client) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = client->doorbell()}};
  epoll_ctl(events_.number(), EPOLL_CTL_ADD, client->doorbell(), &event);
  {
    const std::lock_guard lock(mutex_);
    clients_.push_back(client);
  }
  ring(wake_);  // whoever sleeps does not know this one
}

void HostInterface::remove(const std::shared_ptr<Client>& client) {
  epoll_ctl(events_.number(), EPOLL_CTL_DEL, client->doorbell(), nullptr);
  const std::lock_guard lock(mutex_);
  std::erase(clients_, client);
}

void HostInterface::run() {
  while (!stopping_) {
    if (take_work() || base::spin_until([this] { return stopping_ || has_work(); })) continue;
    sleep();
  }
}

bool HostInterface::has_work() {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(clients_, [](const auto& client) { return client->has_work(); });
}

bool HostInterface::take_work() {
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (const auto& client : clients_) {
    if (!client->has_work()) continue;
    client->take_work();
    any = true;
  }
  return any;
}

void HostInterface::sleep() {
  const auto say = [this](std::uint32_t sleeps) {
    const std::lock_guard lock(mutex_);
    for (const auto& client : clients_)
      client->flights().channel().server_sleeps.store(sleeps, std::memory_order_seq_cst);
  };
  say(1);
  if (!has_work() && !stopping_) {
    epoll_event event;
    // A client that has too much in flight has no work until some of that ends: then nobody rings.
    if (epoll_wait(events_.number(), &event, 1, 10) > 0) drain(event.data.fd);
  }
  say(0);
}

}  // namespace raddle::serve
