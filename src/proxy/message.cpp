#include "proxy/message.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "proxy/documents.h"

namespace raddle::proxy {
namespace {

Error failed(const char* what) {
  return Error::make(ErrorCode::server, "{}: {}", what, std::strerror(errno));
}

/// Room for one descriptor beside a message.
union Ancillary {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

/// The first descriptor that came along; others are closed.
Descriptor take_descriptor(msghdr& head) {
  Descriptor taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&head); part != nullptr; part = CMSG_NXTHDR(&head, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      Descriptor one(number);
      if (!taken) taken = std::move(one);
    }
  }
  return taken;
}

}  // namespace

std::string text_of(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<nlohmann::json> document_of(std::string_view text) {
  TRY_ASSIGN(nlohmann::json document, parse_json(text, "a message"));
  if (!document.is_object()) return Error::invalid("a message is no object");
  return document;
}

Result<void> send(int socket, const nlohmann::json& body, int attached) {
  std::string bytes = text_of(body);
  if (bytes.size() > kMostMessage)
    return Error::invalid("a message of {} bytes exceeds {}", bytes.size(), kMostMessage);
  iovec text{bytes.data(), bytes.size()};
  msghdr head{};
  head.msg_iov = &text;
  head.msg_iovlen = 1;
  Ancillary ancillary{};
  if (attached >= 0) {
    head.msg_control = &ancillary;
    head.msg_controllen = sizeof ancillary.room;
    cmsghdr* part = CMSG_FIRSTHDR(&head);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof attached);
    std::memcpy(CMSG_DATA(part), &attached, sizeof attached);
  }
  while (sendmsg(socket, &head, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return failed("send");
  return {};
}

Result<Message> receive(int socket) {
  std::string bytes(kMostMessage, '\0');
  iovec text{bytes.data(), bytes.size()};
  msghdr head{};
  Ancillary ancillary{};
  head.msg_iov = &text;
  head.msg_iovlen = 1;
  head.msg_control = &ancillary;
  head.msg_controllen = sizeof ancillary.room;
  ssize_t received;
  do received = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  if (received < 0) return failed("receive");
  Message message{.body = {}, .attached = take_descriptor(head)};
  if (received == 0) return Error::make(ErrorCode::server, "the connection was closed");
  if ((head.msg_flags & MSG_TRUNC) != 0) return Error::invalid("a message exceeds {} bytes", kMostMessage);
  TRY_ASSIGN(message.body, document_of({bytes.data(), static_cast<std::size_t>(received)}));
  return message;
}

Result<nlohmann::json> exchange(int socket, const nlohmann::json& request, int attached,
                                Descriptor* answered) {
  TRY(send(socket, request, attached));
  TRY_ASSIGN(Message answer, receive(socket));
  if (const auto error = answer.body.find("error"); error != answer.body.end() && error->is_object())
    return error_of(*error);
  if (answered != nullptr) *answered = std::move(answer.attached);
  return std::move(answer.body);
}

Result<std::string> read_attached(const Descriptor& file, std::size_t most) {
  struct stat about{};
  if (!file || fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode))
    return Error::invalid("a message lacks its attached file");
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes > most) return Error::invalid("an attached file of {} bytes exceeds {}", bytes, most);
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes;) {
    const ssize_t got = pread(file.number(), text.data() + at, bytes - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error::make(ErrorCode::io, "an attached file ends after {} of {} bytes", at, bytes);
    at += static_cast<std::size_t>(got);
  }
  return text;
}

Result<Descriptor> file_of(std::string_view bytes) {
  Descriptor file(memfd_create("raddle message", MFD_CLOEXEC));
  if (!file) return Error::make(ErrorCode::out_of_memory, "memfd_create: {}", std::strerror(errno));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = write(file.number(), bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return Error::make(ErrorCode::out_of_memory, "write: {}", std::strerror(errno));
    at += static_cast<std::size_t>(put);
  }
  return file;
}

ServerName server_name(const std::string& text) {
  const std::size_t mark = text.rfind('#');
  if (mark == text.npos) return {text};
  const std::size_t at = std::min(text.find('@', mark), text.size());
  const std::string instance = text.substr(mark + 1, at - mark - 1);
  return {text.substr(0, mark), instance, at == text.size() ? "" : text.substr(at + 1)};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error::invalid("{}: a socket's path has 1 to {} bytes", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Descriptor> connect_to(const std::string& path) {
  TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return failed("socket");
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error::make(ErrorCode::server, "{}: {}", path, std::strerror(errno));
  return socket;
}

}  // namespace raddle::proxy
