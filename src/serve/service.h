// `raddle serve`: one machine for the programs of several processes. Listens at a socket, admits
// clients, and ends with all of them.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proxy/message.h"
#include "serve/host_interface.h"
#include "serve/options.h"

namespace raddle::serve {

class Service {
 public:
  /// Listens from now on; at the socket that a service manager passes, if it does.
  /// @errors io: the path cannot be listened at; what the device's options lack
  static Result<std::unique_ptr<Service>> open(Options options);
  /// Ends all clients.
  ~Service();
  /// Admits clients until stop(). @errors io
  Result<void> run();
  /// Makes run() return; from any thread, or a signal handler.
  void stop();

  const Options& options() const { return options_; }

 private:
  /// A connected client, or one that may become one.
  struct Guest {
    proxy::Descriptor connection;
    std::thread requests;
    std::atomic<bool> ended{false};
  };

  Service(Options options, Instances instances, proxy::Descriptor listener, proxy::Descriptor stopping);
  void admit();
  nlohmann::json greeting(Client& client) const;
  Result<std::shared_ptr<Client>> welcome(const proxy::Message& hello, Peer peer);
  void tell_watcher(int connection);
  void serve(Guest& guest);
  void collect_ended(bool all);

  Options options_;
  std::unique_ptr<Device> device_;  // keeps the machine, whoever comes and goes
  std::string engine_;
  Instances instances_;
  std::mutex admitting_;
  const proxy::Descriptor listener_, stopping_;
  bool owns_path_ = true;  // no service manager does
  HostInterface host_interface_;
  Clients clients_;
  std::mutex mutex_;
  std::list<Guest> guests_;
};

}  // namespace raddle::serve
