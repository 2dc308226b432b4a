// `raddle serve` as a program sees it: it runs the program's grids and has the same memory at the same
// addresses. One for the process, from the first device that asks for it to the end (A-18d to A-18g).
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "exec/executable.h"
#include "machine/address_space.h"
#include "proxy/channel.h"
#include "proxy/message.h"
#include "proxy/push_buffer.h"
#include "raddle/limit.h"
#include "raddle/placement.h"

namespace raddle::proxy {

/// A kernel that the server has compiled.
class RemoteCode final : public exec::Executable {
 public:
  std::uint64_t module = 0, kernel = 0;
  void run_block(exec::CtaContext& cta) override;
  void run_warp(exec::WarpContext& warp) override;
};

struct SpaceWanted {
  std::map<int, int> attributes;  ///< of the device, that kernels may ask for
  std::optional<PlacementMode> placement;
  std::uint32_t work_kind = 0;
  std::uint64_t heap_bytes = 0, print_bytes = 0, stack_bytes = 0, time_limit_ns = 0;
};

class Server final : public machine::GridRunner, private machine::Mirror {
 public:
  /// The server of a name (ServerName). @errors server: none does, or it refuses; invalid: this process
  /// has another one, or device memory of its own already
  static Result<Server*> connect(const std::string& name);

  const std::shared_ptr<machine::Machine>& machine() const { return machine_; }
  const std::string& engine() const { return engine_; }
  unsigned workers() const { return workers_; }
  /// For parameters of launches, which the server copies.
  machine::DeviceSpace& launch_addresses() { return *launch_addresses_; }

  /// An address space of this program there. @errors server, and what that answers; likewise below
  Result<std::uint64_t> open_space(const SpaceWanted& wanted);
  void close_space(std::uint64_t space);
  Result<void> set_limit(std::uint64_t space, Limit which, std::uint64_t value);
  /// A program that consists of these texts, whose variables lie at these addresses (by VariableId).
  struct Text {
    std::string_view text, name;
    bool is_library;
  };
  Result<std::uint64_t> load(std::uint64_t space, std::span<const Text> texts,
                             std::span<const std::uint64_t> addresses);
  void unload(std::uint64_t module);
  /// Of a space; it must not outlive that.
  std::unique_ptr<machine::TextureTable> textures(std::uint64_t space);
  Result<std::unique_ptr<RemoteCode>> compile(std::uint64_t module, ptx::FunctionId kernel,
                                              const exec::CompileOptions& how);

  /// A number for a grid, never used again.
  std::uint64_t next_number() { return next_number_.fetch_add(1, std::memory_order_relaxed); }
  /// Also triggers the task (TaskScheduler) once it has been sent: what comes behind it may follow it there.
  bool start(machine::Task& task) override;
  bool stop(machine::Task& task) override;
  void forget(const machine::AddressSpace& space) override;

 private:
  Server(Descriptor socket, const nlohmann::json& welcome, bool streams_in_device_memory);
  Result<nlohmann::json> ask(const nlohmann::json& request, int attached = -1,
                             Descriptor* answered = nullptr);
  /// Memory that the server made for both. @param request  that asks for it
  template <class Layout>
  Result<Layout*> share(const nlohmann::json& request);
  Result<void> open_channel();
  Result<PushBufferWriter*> push_buffer(int priority);

  bool map(std::uint64_t address, std::uint64_t bytes, int descriptor, std::uint64_t offset,
           machine::Protection protection) override;
  bool protect(std::uint64_t address, std::uint64_t bytes, machine::Protection protection) override;
  void unmap(std::uint64_t address, std::uint64_t bytes) override;

  class Textures;
  struct Flight {
    std::uint64_t number = 0;
    machine::Task* task = nullptr;  // null: the slot is free
  };
  /// @returns false: it has to wait. The lock is held
  bool send(machine::Task& task);
  static bool write(PushBufferWriter& buffer, const machine::Task& task, std::uint32_t slot);
  void tell_sent(machine::Task& task);
  void ring();
  void hear();
  void hear_completions();
  void end(const Completion& completion);
  void report(machine::Task& task, const Completion& completion);
  void lose();

  const std::string engine_;
  const unsigned workers_;
  const bool streams_in_device_memory_;
  std::shared_ptr<machine::Machine> machine_;
  std::unique_ptr<machine::DeviceSpace> launch_addresses_;  // made once the borrowed ones are taken
  Channel* channel_ = nullptr;
  Descriptor doorbell_;

  std::mutex asking_;
  Descriptor socket_;
  Descriptor reports_;  // a connection of the hearing thread's own

  std::mutex mutex_;                                               // of what follows
  std::map<int, std::unique_ptr<PushBufferWriter>> push_buffers_;  // by priority
  std::unique_ptr<PushBufferWriter> stops_;
  std::array<Flight, kMostInFlight> flights_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<machine::Task*> waiting_;  // for a slot, or for room in a push buffer
  std::atomic<std::uint64_t> next_number_{1};
  std::atomic<bool> lost_{false};
  std::mutex ending_;        // held while the hearing thread looks at a task
  std::uint32_t heard_ = 0;  // completions; the hearing thread's own
  std::thread hearing_;
};

}  // namespace raddle::proxy
