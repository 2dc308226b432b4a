#include "serve/flights.h"

#include "base/futex.h"

namespace raddle::serve {
namespace {

exec::Fault fault_of_refusal(const Error& error) {
  exec::Fault fault;
  fault.kind = error.code == ErrorCode::out_of_memory ? FaultKind::out_of_memory : FaultKind::unsupported;
  fault.block_known = false;
  fault.address_known = false;
  fault.detail = error.message;
  return fault;
}

}  // namespace

std::size_t Flights::count() const {
  const std::lock_guard lock(mutex_);
  return flights_.size();
}

std::uint64_t Flights::answered() const {
  const std::lock_guard lock(mutex_);
  return answered_;
}

Result<bool> Flights::begin(std::uint64_t number, std::uint32_t slot) {
  const std::lock_guard lock(mutex_);
  if (number == 0 || flights_.size() >= proxy::kMostInFlight ||
      !flights_.emplace(number, Flight{.slot = slot}).second)
    return Error::invalid("a launch cannot have the number {}", number);
  if (stopped_.erase(number) == 0) return true;
  exec::Fault fault;
  fault.kind = exec::FaultKind::cancelled;
  refuse(number, std::move(fault));
  return false;
}

void Flights::submitted(std::uint64_t number, machine::Task& task, std::shared_ptr<ServedModule> module) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = flights_.find(number); known != flights_.end()) {
      known->second.task = &task;
      known->second.module = std::move(module);
      return;
    }
  }
  module->device().release(task);  // it is over already
}

machine::Task* Flights::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto known = flights_.find(number);
  if (known == flights_.end() || known->second.task == nullptr) return nullptr;
  known->second.module->device().space().tasks().retain(*known->second.task);
  return known->second.task;
}

void Flights::ended(machine::Task& task, std::string text) {
  const std::uint64_t number = task.grid().number;
  proxy::Completion completion{.number = number,
                               .outcome = task.stop.load(std::memory_order_acquire),
                               .has_text = !text.empty(),
                               .started_ns = task.started_ns.load(std::memory_order_relaxed)};
  Report report{std::move(text), std::nullopt};
  if (completion.outcome != 0) report.fault = task.fault;
  Flight flight;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = flights_.find(number); known != flights_.end()) {
      flight = std::move(known->second);
      flights_.erase(known);
    }
    completion.slot = flight.slot;
    answer(completion, std::move(report));
  }
  if (flight.task != nullptr) flight.module->device().release(*flight.task);
}

void Flights::refused(std::uint64_t number, const Error& error) {
  const std::lock_guard lock(mutex_);
  refuse(number, fault_of_refusal(error));
}

/// The lock is held; likewise below.
void Flights::refuse(std::uint64_t number, exec::Fault fault) {
  proxy::Completion completion{.number = number, .outcome = static_cast<std::uint32_t>(fault.kind)};
  if (const auto known = flights_.find(number); known != flights_.end()) {
    completion.slot = known->second.slot;
    flights_.erase(known);
  }
  answer(completion, {{}, std::move(fault)});
}

/// A client that does not ask for its reports loses the oldest.
void Flights::answer(const proxy::Completion& completion, Report report) {
  if (completion.outcome != 0 || completion.has_text != 0) {
    const std::uint64_t text_bytes = report.text.size();
    if (reports_.emplace(completion.number, std::move(report)).second) report_bytes_ += text_bytes;
    while (reports_.size() > proxy::kMostInFlight || report_bytes_ > 2 * proxy::kMostText) {
      report_bytes_ -= reports_.begin()->second.text.size();
      reports_.erase(reports_.begin());
    }
  }
  channel_->completions[answered_++ % proxy::kMostInFlight] = completion;
  channel_->completed.store(static_cast<std::uint32_t>(answered_), std::memory_order_seq_cst);
  if (channel_->program_sleeps.load(std::memory_order_seq_cst) != 0)
    base::futex_wake_shared(channel_->completed);
}

void Flights::stop(std::uint64_t number) {
  machine::Task* task = nullptr;
  std::shared_ptr<ServedModule> module;
  {
    const std::lock_guard lock(mutex_);
    const auto known = flights_.find(number);
    if (known == flights_.end()) {
      stopped_.insert(number);
      if (stopped_.size() > proxy::kMostInFlight) stopped_.erase(stopped_.begin());
      return;
    }
    task = known->second.task;
    module = known->second.module;
    module->device().space().tasks().retain(*task);
  }
  exec::Fault fault;
  fault.kind = exec::FaultKind::cancelled;
  module->device().space().stop_task(*task, std::move(fault));
  module->device().release(*task);
}

Report Flights::report(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto known = reports_.find(number);
  if (known == reports_.end()) return {};
  Report report = std::move(known->second);
  report_bytes_ -= report.text.size();
  reports_.erase(known);
  return report;
}

}  // namespace raddle::serve
