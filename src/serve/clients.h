// The clients that are there now, for whoever asks.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace raddle::serve {

class Client;
class Instance;

/// Thread-safe.
class Clients {
 public:
  void add(const std::shared_ptr<Client>& client);
  std::vector<std::shared_ptr<Client>> all();
  std::size_t count() { return all().size(); }
  std::size_t count(const Instance& instance);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Client>> clients_;
};

}  // namespace raddle::serve
