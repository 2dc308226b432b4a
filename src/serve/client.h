// A client of the server: its window, its address spaces and modules, its push buffers and launches.
// Its requests are in requests.h; the host interface takes its work.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "proxy/message.h"
#include "serve/clients.h"
#include "serve/flights.h"
#include "serve/instances.h"
#include "serve/lent_memory.h"
#include "serve/options.h"
#include "serve/push_buffer_reader.h"

namespace raddle::serve {

/// Who is at the other end, as the system says.
struct Peer {
  int process = 0;
  std::uint32_t user = 0;
  std::string name = {};  ///< of its program
};

/// Where a client is on the server.
struct ClientPlace {
  Instance& instance;
  std::string context = {};  ///< device context; "": the first
};

class Client {
 public:
  /// @param options  of the server; outlive it, as do its instance and all its clients, to which it is added
  /// @errors out_of_memory
  static Result<std::shared_ptr<Client>> admit(const Options& options, ClientPlace place, Clients& all,
                                               Peer peer);
  /// Ends what its kernels do. Nobody serves it any more.
  ~Client();

  Instance& instance() { return instance_; }
  const std::string& context() const { return context_; }
  bool is_selected();  ///< whether its device context is, in which it has something
  /// Bytes that it may have.
  std::uint64_t memory_limit() const {
    return std::min(options_.limits.memory_bytes, instance_.memory().limit());
  }
  const Peer& peer() const { return peer_; }
  std::uint64_t age_ns() const { return machine::now_ns() - admitted_ns_; }
  std::uint64_t space_id() const { return space_id_; }
  exec::AddressRange lent() const { return window_->lent(); }
  Flights& flights() { return flights_; }
  /// What it has and does now.
  struct Usage {
    std::uint64_t memory_bytes = 0, spaces = 0, modules = 0, in_flight = 0, in_push_buffers = 0, launches = 0,
                  blocks = 0;
  };
  Usage usage();
  /// The client writes to it when `server_sleeps` says so.
  int doorbell() const { return doorbell_.number(); }

  /// It has gone, or has broken the rules: nothing of it starts any more, and what runs is stopped.
  void close();
  bool is_closed() const { return closed_.load() || broken_.load(); }

  // Its requests. @errors as the functions that these call, and not_found: a number that is none
  Result<std::uint64_t> open_space(const DeviceOptions& wanted);
  Result<void> close_space(std::uint64_t space);
  Result<void> set_limit(std::uint64_t space, Limit limit, std::uint64_t value);
  Result<std::uint64_t> load(std::uint64_t space, std::span<const raddle::Program::Image> images,
                             std::span<const std::uint64_t> addresses);
  Result<void> unload(std::uint64_t module);
  /// Without an image: a sampler; without a sampler: a surface. @returns the handle
  struct Texture {
    std::optional<Image> image;
    std::optional<Sampler> sampler;
    bool force_unnormalized_coordinates = false;
  };
  Result<std::uint64_t> add_texture(std::uint64_t space, const Texture& texture);
  Result<void> remove_texture(std::uint64_t space, std::uint64_t handle);
  Result<ServedCode> compile(std::uint64_t module, std::uint64_t kernel, Dim3 block, bool clustered);
  /// @returns a descriptor of its memory, which stays the client's. @errors invalid: too many
  Result<int> add_push_buffer(int priority);
  int push_buffer_of_stops() const { return stops_.part.descriptor(); }
  /// A second connection, whose requests a thread of its own answers: for reports, which do not wait while
  /// the first one compiles. @returns the client's end. @errors invalid: it has one
  Result<proxy::Descriptor> open_reports();
  Result<void> map(exec::AddressRange pages, int descriptor, std::uint64_t offset,
                   machine::Protection protection);
  /// The next two do not wait for kernels, which then fault (or the copies do that they have launched).
  Result<void> protect(exec::AddressRange pages, machine::Protection protection);
  Result<void> unmap(exec::AddressRange pages);

  // For the host interface, one thread.
  /// Whether it has work that could start now.
  bool has_work() { return !is_closed() && most_urgent() != nullptr; }
  /// Takes one piece of its most urgent push buffer, if it has work.
  void take_work();

 private:
  struct PushBufferEnd {
    PushBufferEnd(SharedPart<proxy::PushBuffer> shared, int its_priority)
        : part(std::move(shared)), reader(*part), priority(its_priority) {}
    SharedPart<proxy::PushBuffer> part;
    PushBufferReader reader;
    int priority;
  };
  /// What kernels of a space have printed since its last launch ended.
  class Printed {
   public:
    void append(std::string_view text) {
      const std::lock_guard lock(mutex_);
      text_ += text;
    }
    std::string take() {
      const std::lock_guard lock(mutex_);
      return std::exchange(text_, {});
    }

   private:
    std::mutex mutex_;
    std::string text_;
  };
  struct Space {
    ~Space();
    Printed printed;  // outlives the device
    std::unique_ptr<ServedDevice> device;
    Client* heap_of = nullptr;  // whose limit its heap counts against; null: it does not yet
    std::uint64_t heap_bytes = 0;
  };
  struct Loaded {
    std::shared_ptr<Space> space;
    std::shared_ptr<ServedModule> module;  // launches hold it, too
  };

  Client(const Options& options, ClientPlace place, Peer peer, SharedPart<proxy::Channel> channel,
         SharedPart<proxy::PushBuffer> stops, proxy::Descriptor doorbell,
         std::shared_ptr<machine::DeviceSpace> window);
  Result<std::shared_ptr<Space>> space(std::uint64_t number);
  Result<std::shared_ptr<Loaded>> module(std::uint64_t number);
  Result<void> charge_heap(Space& space, std::uint64_t bytes);
  PushBufferEnd* most_urgent();
  Result<void> copy_piece(const PushBufferEnd& buffer, const proxy::StreamPiece& piece);
  void execute(std::span<const std::byte> commands, int priority);
  void launch(const proxy::LaunchCommand& command, std::span<const std::byte> parameters, int priority);
  Result<void> try_launch(const proxy::LaunchCommand& command, std::span<const std::byte> parameters,
                          int priority);
  void break_off(const Error& error);

  const Options& options_;
  Instance& instance_;
  const std::string context_;
  const Peer peer_;
  const std::uint64_t admitted_ns_ = machine::now_ns();
  Flights flights_;
  const proxy::Descriptor doorbell_;
  const std::shared_ptr<machine::DeviceSpace> window_;
  const std::uint64_t space_id_;  // of all its contexts, which have the same memory
  std::atomic<bool> closed_{false}, broken_{false};
  std::mutex memory_mutex_;
  LentMemory memory_;

  std::mutex objects_mutex_;  // of what follows
  std::map<std::uint64_t, std::shared_ptr<Space>> spaces_;
  std::map<std::uint64_t, std::shared_ptr<Loaded>> modules_;
  std::vector<std::unique_ptr<PushBufferEnd>> push_buffers_;  // the most urgent first; none goes
  std::uint64_t last_number_ = 0;

  std::mutex launching_;  // held while launches are taken, or must not be
  PushBufferEnd stops_;
  std::vector<std::byte> piece_;  // scratch of take_work

  proxy::Descriptor reports_;
  std::thread reporting_;
};

}  // namespace raddle::serve
