// Requests and answers between a program and `raddle serve`: a JSON object each, over a Unix socket that
// keeps messages apart. A message may carry one descriptor.
#pragma once

#include <sys/un.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proxy/descriptor.h"

namespace raddle::proxy {

struct Message {
  nlohmann::json body;
  Descriptor attached;
};

/// Most bytes of a message; what is longer travels as an attached file.
constexpr std::size_t kMostMessage = 64 << 10;

std::string text_of(const nlohmann::json& document);
/// @errors invalid: no object, or nested too deeply
Result<nlohmann::json> document_of(std::string_view text);

/// @param attached  a descriptor that stays the caller's; -1: none
/// @errors server: nobody is there; invalid: too long
Result<void> send(int socket, const nlohmann::json& body, int attached = -1);
/// Waits for a message. @errors server: the other side has gone; invalid: it is no document
Result<Message> receive(int socket);

/// One request and its answer. @errors server; invalid; what the other side answers as an "error"
Result<nlohmann::json> exchange(int socket, const nlohmann::json& request, int attached = -1,
                                Descriptor* answered = nullptr);

/// The bytes of a file in memory that somebody attached, copied. @errors invalid: more than `most`; io
Result<std::string> read_attached(const Descriptor& file, std::size_t most);
/// A file in memory with these bytes. @errors out_of_memory
Result<Descriptor> file_of(std::string_view bytes);

/// "PATH#INSTANCE@CONTEXT", "PATH#INSTANCE", "PATH#@CONTEXT", or the path alone: how programs name a server
/// (RADDLE_SERVER).
struct ServerName {
  std::string path, instance = {}, context = {};
};
ServerName server_name(const std::string& text);

/// The path as a socket's address. @errors invalid: none, or too long
Result<sockaddr_un> address_of(const std::string& path);
/// A connection to who listens at a path. @errors invalid, as above; server: nobody does
Result<Descriptor> connect_to(const std::string& path);

}  // namespace raddle::proxy
