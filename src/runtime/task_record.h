// From a record (include/raddle/task_record.h) to a task. The record is copied once and checked; after that
// nobody looks at it.
#pragma once

#include <vector>

#include "machine/tasks/task_queue.h"
#include "runtime/device_impl.h"

namespace raddle {

class RecordedTask {
 public:
  /// @param address  of the record, as the device's kernels see it
  /// @errors invalid: names the record and its member that is wrong; what a launch of the kernel refuses
  static Result<RecordedTask> read(Device::Impl& device, std::uint64_t address);

  /// The code for its blocks. @returns null if it has to be compiled first and `may_compile` is false
  Result<const detail::CompiledKernel*> code(bool may_compile) const;
  /// The task, not submitted yet, and its queue known by the record's address.
  /// @errors out_of_memory, invalid: the queue task of that record has not ended
  Result<machine::Task*> make(const detail::CompiledKernel& code) const;
  int priority() const { return record_.priority; }

 private:
  RecordedTask(Device::Impl& device, std::uint64_t address) : device_(device), address_(address) {}
  Result<std::byte*> reach(std::uint64_t address, std::uint64_t bytes, const char* what) const;
  template <class... Values>
  Error wrong(fmt::format_string<Values...> text, Values&&... values) const;
  Result<void> check_common();
  Result<void> find_kernel();
  Result<void> read_parameters();
  Result<void> check_queue();
  bool is_queue() const { return record_.kind == TaskKind::queue; }

  Device::Impl& device_;
  std::uint64_t address_;
  TaskRecord record_;
  TaskRecord* place_ = nullptr;  // of the record, as the host sees it
  Kernel::Impl* kernel_ = nullptr;
  LaunchConfig config_;
  std::vector<std::byte> parameters_;
  std::byte* slots_ = nullptr;
};

}  // namespace raddle
