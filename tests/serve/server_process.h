// A `raddle serve` of its own for a test, and programs that use it: each a forked child, since a process has
// one server. The test itself starts no thread and opens no device.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proxy/message.h"
#include "raddle/raddle.h"

namespace raddle::serve {

class ServerProcess {
 public:
  /// Starts it, and waits until it listens. @param options  more of `raddle serve`
  /// @param activated  as service managers do it: the socket is there before, and stays
  explicit ServerProcess(std::vector<std::string> options = {}, bool activated = false);
  /// Ends it, and expects that it ended by itself.
  ~ServerProcess();

  const std::string& path() const { return path_; }
  bool is_alive() const;
  pid_t process() const { return process_; }
  /// Returns when no thread of it runs any more, or when they may.
  void suspend(bool wanted) const;
  void kill_it();
  /// Descriptors that it has open, and mappings of memory that it shares with clients.
  std::size_t descriptors() const;
  std::size_t shared_mappings() const;
  /// What it says of itself once that is so; or what it says last.
  nlohmann::json status_when(const std::function<bool(const nlohmann::json&)>& is_so) const;
  /// What it says of its clients, which are given a moment to become that many.
  nlohmann::json clients(std::size_t expected) const;

 private:
  std::string path_;
  pid_t process_ = -1;
};

/// Memory that all processes of a test see, zero at first; it stays.
void* shared_page();

/// What a client does in a process of its own: 0 if all was right.
using ClientBody = std::function<int(const std::string& path)>;
/// @returns the process
pid_t start(const ServerProcess& server, const ClientBody& body);
/// Its exit status; 256 + the signal that ended it.
int wait_for(pid_t process);
inline int run(const ServerProcess& server, const ClientBody& body) { return wait_for(start(server, body)); }

/// In a client: its device, or the process ends with status 100.
Device open_device(const std::string& path);
/// In a client: "spin" on a device of its own.
struct Spinning {
  explicit Spinning(const std::string& path);
  /// Its words, as the program has them: flag, and 1 + the SM once it runs.
  volatile std::uint32_t* words() const {
    return reinterpret_cast<volatile std::uint32_t*>(flag.address().value);
  }
  Device device;
  Module module;
  Kernel kernel;
  Buffer<std::uint32_t> flag;
  Launch launch;
};

/// A connection that speaks the protocol by hand, welcomed.
proxy::Descriptor greeted(const std::string& path, nlohmann::json* welcome = nullptr);

/// "add": adds `value` to each of `count` words. "spin": waits until *flag is 1, having set flag[1] to
/// 1 + its SM. "store":
/// writes 1 to an address. "load": copies 8 bytes from an address to another.
extern const char* const kKernels;

}  // namespace raddle::serve
