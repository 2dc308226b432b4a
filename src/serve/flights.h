// The launches of a client that have not been answered, and the answers: completions go into the channel,
// what else there is to say of a launch waits until the client asks for it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "exec/fault.h"
#include "proxy/channel.h"
#include "runtime/served.h"
#include "serve/shared_part.h"

namespace raddle::serve {

/// What a client may ask about a launch that is complete.
struct Report {
  std::string text;  ///< that kernels have printed since the report before
  std::optional<exec::Fault> fault;
};

/// Thread-safe.
class Flights {
 public:
  explicit Flights(SharedPart<proxy::Channel> channel) : channel_(std::move(channel)) {}

  proxy::Channel& channel() { return *channel_; }
  int descriptor() const { return channel_.descriptor(); }

  /// Launches that were begun and are not answered.
  std::size_t count() const;
  std::uint64_t answered() const;  ///< all that were
  /// A launch is about to be submitted. @returns false: it was stopped before, and is answered
  /// @errors invalid: there are too many, or one has that number
  Result<bool> begin(std::uint64_t number, std::uint32_t slot);
  /// It was submitted; takes over a reference to its task. @param module  whose code it runs
  void submitted(std::uint64_t number, machine::Task& task, std::shared_ptr<ServedModule> module);
  /// A launch that another one is to wait for, with a reference; null: it is over, or never was.
  machine::Task* find(std::uint64_t number);
  /// It is complete. @param text  that kernels have printed
  void ended(machine::Task& task, std::string text);
  /// It does not run.
  void refused(std::uint64_t number, const Error& error);
  /// Stops it, if it has begun; else it never will. Stops overtake launches.
  void stop(std::uint64_t number);

  /// What there is to say; once. Of an unknown launch nothing.
  Report report(std::uint64_t number);

 private:
  struct Flight {
    machine::Task* task = nullptr;  // null: about to be submitted
    std::shared_ptr<ServedModule> module;
    std::uint32_t slot = 0;  // the client's
  };
  void answer(const proxy::Completion& completion, Report report);
  void refuse(std::uint64_t number, exec::Fault fault);

  SharedPart<proxy::Channel> channel_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Flight> flights_;
  std::map<std::uint64_t, Report> reports_;
  std::uint64_t report_bytes_ = 0;   // of their text
  std::set<std::uint64_t> stopped_;  // before they began, or after they ended: nobody knows
  std::uint64_t answered_ = 0;
};

}  // namespace raddle::serve
