// The host interface: reads the push buffers of all clients, asynchronously to them (A-1e). Clients have
// turns, so that none is starved by another's flood; of each, the most urgent piece of work goes first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/client.h"

namespace raddle::serve {

class HostInterface {
 public:
  HostInterface();
  ~HostInterface();
  /// False: the system has no descriptors for it.
  bool works() const { return events_ && wake_; }
  void add(const std::shared_ptr<Client>& client);
  /// Returns when nothing of the client is looked at any more.
  void remove(const std::shared_ptr<Client>& client);

 private:
  void run();
  /// @returns whether there was any
  bool take_work();
  bool has_work();
  void sleep();

  const proxy::Descriptor events_;  // epoll: doorbells, and
  const proxy::Descriptor wake_;    // what ends a sleep otherwise
  std::mutex mutex_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace raddle::serve
