// What a client may ask, by name: reads the request, asks the client object, writes the answer.
#pragma once

#include <string_view>
#include <vector>

#include "proxy/message.h"
#include "serve/client.h"

namespace raddle::serve {

struct Answer {
  nlohmann::json body = nlohmann::json::object();
  int attached = -1;      ///< a descriptor to go along, which stays the client object's; -1: none
  proxy::Descriptor own;  ///< instead: one that nobody else has
};

/// All that a client may ask once it has been welcomed.
std::vector<std::string_view> request_names();
/// @errors what the answer then says: invalid: no such request; not_found; ...
Result<Answer> answer(Client& client, const proxy::Message& request);
/// Answers requests on a connection until it ends, or the client is closed.
void serve_connection(Client& client, int connection);

}  // namespace raddle::serve
