// A started launch: waiting, cancelling, callbacks and futures (K-16).
#include "runtime/device_impl.h"

namespace raddle {

using machine::Task;

namespace {
Result<LaunchReport> outcome(const Task& task, const LaunchReport& compiled) {
  if (task.stop.load(std::memory_order_acquire) != 0) return fault_error(task.fault);
  LaunchReport report = compiled;
  const std::uint64_t started = task.started_ns.load(std::memory_order_relaxed);
  if (started != 0) report.seconds = static_cast<double>(task.finished_ns - started) * 1e-9;
  return report;
}
}  // namespace

Launch::~Launch() {
  if (task_ != nullptr) device_->tasks().release(task_);
}
Launch::Launch(Launch&& other) noexcept
    : device_(other.device_), task_(std::exchange(other.task_, nullptr)), code_(other.code_) {}
Launch& Launch::operator=(Launch&& other) noexcept {
  if (this != &other) {
    if (task_ != nullptr) device_->tasks().release(task_);
    device_ = other.device_;
    task_ = std::exchange(other.task_, nullptr);
    code_ = other.code_;
  }
  return *this;
}

Result<LaunchReport> Launch::wait() {
  task_->wait();
  device_->space->output().flush();
  return outcome(*task_, code_->report);
}

bool Launch::done() const { return task_->done(); }

void Launch::cancel() {
  exec::Fault fault;
  fault.kind = exec::FaultKind::cancelled;
  device_->space->stop_task(*task_, std::move(fault));
}

// The callback is a task of its own that waits for the launch; it holds the launch alive.
void Launch::then(std::function<void(Result<LaunchReport>)> callback) {
  machine::TaskScheduler& tasks = device_->tasks();
  Task* task = tasks.acquire();
  tasks.retain(*task_);
  task->work = machine::CallWork{[&tasks, launch = task_, code = code_, callback = std::move(callback)] {
    callback(outcome(*launch, code->report));
    tasks.release(launch);
  }};
  Task* const after[] = {task_};
  tasks.submit(*task, after);
  tasks.release(task);
}

std::future<Result<LaunchReport>> Launch::future() {
  auto promise =
      std::make_shared<std::promise<Result<LaunchReport>>>();  // std::function copies what it holds
  auto result = promise->get_future();
  then([promise](Result<LaunchReport> outcome) { promise->set_value(std::move(outcome)); });
  return result;
}

}  // namespace raddle
