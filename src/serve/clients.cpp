#include "serve/clients.h"

#include <algorithm>

#include "serve/client.h"

namespace raddle::serve {

void Clients::add(const std::shared_ptr<Client>& client) {
  const std::lock_guard lock(mutex_);
  clients_.push_back(client);
}

std::vector<std::shared_ptr<Client>> Clients::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Client>> found;
  std::erase_if(clients_, [&](const std::weak_ptr<Client>& known) {
    if (auto client = known.lock()) found.push_back(std::move(client));
    return known.expired();
  });
  return found;
}

std::size_t Clients::count(const Instance& instance) {
  const auto clients = all();
  return static_cast<std::size_t>(
      std::ranges::count_if(clients, [&](const auto& client) { return &client->instance() == &instance; }));
}

}  // namespace raddle::serve
