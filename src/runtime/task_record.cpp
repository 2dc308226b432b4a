#include "runtime/task_record.h"

#include <array>
#include <cstring>
#include <utility>

#include "machine/memory/device_copy.h"
#include "machine/memory/shared_memory.h"
#include "machine/tasks/children.h"

namespace raddle {
namespace {
constexpr std::uint32_t kMostBlocks = 0x7fffffff;  // along x: the extent that a queue task's blocks see
}

template <class... Values>
Error RecordedTask::wrong(fmt::format_string<Values...> text, Values&&... values) const {
  return Error::invalid("task record {:#x}: {}", address_,
                        fmt::format(text, std::forward<Values>(values)...));
}

/// Where the host finds memory of the device that kernels may access, too.
Result<std::byte*> RecordedTask::reach(std::uint64_t address, std::uint64_t bytes, const char* what) const {
  if (device_.space->may_reach(address, bytes)) {
    Result<std::byte*> place = device_.space->memory().host({address}, bytes);
    if (place) return place;
    return wrong("{}: {}", what, place.error().message);
  }
  return wrong("{}: {} bytes at {:#x} lie outside of the device's addresses", what, bytes, address);
}

Result<RecordedTask> RecordedTask::read(Device::Impl& device, std::uint64_t address) {
  RecordedTask task(device, address);
  if (address % alignof(TaskRecord) != 0)
    return task.wrong("it is not aligned to {} bytes", alignof(TaskRecord));
  TRY_ASSIGN(std::byte* const place, task.reach(address, sizeof(TaskRecord), "it"));
  task.place_ = reinterpret_cast<TaskRecord*>(place);
  machine::copy_from_device(&task.record_, place, sizeof(TaskRecord));
  TRY(task.check_common());
  TRY(task.find_kernel());
  TRY(task.read_parameters());
  if (task.is_queue()) TRY(task.check_queue());
  return task;
}

Result<void> RecordedTask::check_common() {
  const TaskRecord& r = record_;
  if (r.version != TaskRecord::kVersion)
    return wrong("version {:#x}; this is version {:#x}", r.version, TaskRecord::kVersion);
  if (r.kind != TaskKind::grid && r.kind != TaskKind::queue)
    return wrong("kind {}; there are grids (1) and queues (2)", static_cast<std::uint32_t>(r.kind));
  if (r.insertion != Insertion::tail && r.insertion != Insertion::head)
    return wrong("insertion {}; there is the tail (0) and the head (1)",
                 static_cast<std::uint32_t>(r.insertion));
  if (r.space != 0 && r.space != device_.space->id())
    return wrong("space {}; it was launched in space {}", r.space, device_.space->id());
  if (r.unused[0] != 0 || r.unused[1] != 0) return wrong("unused members are not 0");
  return {};
}

Result<void> RecordedTask::find_kernel() {
  const std::uint64_t module = record_.program >> 32, function = record_.program & 0xffffffff;
  const auto found = device_.modules.find(module);
  if (found == device_.modules.end())
    return wrong("program {:#x}: no module of that number", record_.program);
  const ptx::Module& code = found->second->program;
  if (function >= code.functions.size() || !code.functions[function].is_entry ||
      code.functions[function].is_declaration)
    return wrong("program {:#x} is no kernel", record_.program);
  auto kernel = found->second->kernel(static_cast<ptx::FunctionId>(function));
  if (!kernel) return wrong("program: {}", kernel.error().message);
  kernel_ = *kernel;
  config_.grid = extents(record_.grid), config_.block = extents(record_.block);
  config_.shared_bytes = record_.shared_bytes;
  if (kernel_->info.blocks_are_clusters) config_ = kernel_->in_blocks(config_);
  if (const Result<void> possible = kernel_->check(config_); !possible)
    return wrong("{}", possible.error().message);
  return {};
}

Result<void> RecordedTask::read_parameters() {
  const std::uint32_t bytes = record_.parameter_bytes;
  if (bytes != kernel_->info.parameter_bytes)
    return wrong("{} parameter_bytes; {} has {}", bytes, kernel_->info.name, kernel_->info.parameter_bytes);
  if (record_.parameters == 0 && bytes > TaskRecord::kInlineParameters)
    return wrong("{} bytes of parameters do not fit the record's {}: `parameters` has to say where they are",
                 bytes, TaskRecord::kInlineParameters);
  parameters_.resize(bytes);
  if (bytes == 0) return {};
  if (record_.parameters == 0) {
    std::memcpy(parameters_.data(), record_.inline_parameters, bytes);
    return {};
  }
  TRY_ASSIGN(const std::byte* const place, reach(record_.parameters, bytes, "parameters"));
  machine::copy_from_device(parameters_.data(), place, bytes);
  return {};
}

Result<void> RecordedTask::check_queue() {
  const TaskRecord& r = record_;
  if (r.grid[0] != 1 || r.grid[1] != 1 || r.grid[2] != 1)
    return wrong("grid: a queue task has a block for each entry, so it is 1 x 1 x 1");
  if (kernel_->seen_cluster(config_).size() > 1) return wrong("program: a queue task has no clusters");
  if (r.capacity == 0 || r.capacity > TaskRecord::kMostCapacity)
    return wrong("capacity {}; a queue has 1 to {} slots", r.capacity, TaskRecord::kMostCapacity);
  if (r.entry_bytes > TaskRecord::kMostEntryBytes || r.entry_bytes % sizeof(std::uint64_t) != 0)
    return wrong("entry_bytes {}; an entry has a multiple of 8, at most {}", r.entry_bytes,
                 TaskRecord::kMostEntryBytes);
  if (r.ready > r.capacity) return wrong("{} entries are ready in {} slots", r.ready, r.capacity);
  if (r.ending != QueueEnding::closed && r.ending != QueueEnding::drained)
    return wrong("ending {}; it is closed (0) or drained (1)", static_cast<std::uint32_t>(r.ending));
  const std::uint64_t at = r.slots != 0 ? r.slots : address_ + sizeof(TaskRecord);
  if (at % sizeof(std::uint64_t) != 0) return wrong("slots at {:#x} are not aligned to 8 bytes", at);
  TRY_ASSIGN(slots_, reach(at, r.queue_bytes(), "slots"));
  config_.grid = {kMostBlocks, 1, 1};
  return {};
}

Result<const detail::CompiledKernel*> RecordedTask::code(bool may_compile) const {
  const bool clustered = kernel_->seen_cluster(config_).size() > 1;
  const detail::CompiledKernel* const known = kernel_->compiled_for(config_.block, clustered);
  if (known != nullptr || !may_compile) return known;
  return kernel_->compile(config_.block, clustered);
}

Result<machine::Task*> RecordedTask::make(const detail::CompiledKernel& code) const {
  TRY_ASSIGN(machine::Task* const task, kernel_->make_task(config_, parameters_, code));
  machine::GridWork& grid = task->grid();
  grid.record = address_;
  grid.at_head = record_.insertion == Insertion::head;
  task->priority = record_.priority;
  if (!is_queue()) return task;
  grid.blocks = ~std::uint64_t{0};  // never all of them: nobody waits until so many have begun
  // Pinned memory may be given back by the program meanwhile.
  using Ranges = std::array<std::shared_ptr<machine::SharedRange>, 2>;
  const machine::SharedMemory& pinned = machine::SharedMemory::instance();
  const auto holds = std::make_shared<Ranges>(
      Ranges{pinned.find(address_), record_.slots != 0 ? pinned.find(record_.slots) : nullptr});
  grid.queue =
      std::make_shared<machine::TaskQueue>(machine::TaskQueue::Spec{.record = address_,
                                                                    .progress = place_,
                                                                    .slots = slots_,
                                                                    .capacity = record_.capacity,
                                                                    .entry_bytes = record_.entry_bytes,
                                                                    .ready = record_.ready,
                                                                    .ending = record_.ending,
                                                                    .holds = holds});
  if (Result<void> known = device_.space->announce_queue(*task); !known) {
    device_.tasks().release(task);
    return std::move(known.error());
  }
  return task;
}

// --- from the host ---

std::uint64_t Kernel::program() const { return impl_->module->number_here << 32 | impl_->id; }

Result<TaskRecord> Kernel::record(const LaunchConfig& config, std::span<const Argument> arguments) const {
  TRY(impl_->check(config));
  if (config.part) return Error::unsupported("{}: a task record of a part of a grid", impl_->info.name);
  if (impl_->info.parameter_bytes > TaskRecord::kInlineParameters)
    return Error::invalid("{}: {} bytes of parameters do not fit a task record, which has {}",
                          impl_->info.name, impl_->info.parameter_bytes, TaskRecord::kInlineParameters);
  TaskRecord record;
  record.program = program();
  record.grid[0] = config.grid.x, record.grid[1] = config.grid.y, record.grid[2] = config.grid.z;
  record.block[0] = config.block.x, record.block[1] = config.block.y, record.block[2] = config.block.z;
  record.shared_bytes = static_cast<std::uint32_t>(config.shared_bytes);
  record.priority = config.priority.value_or(0);
  record.parameter_bytes = impl_->info.parameter_bytes;
  TRY(impl_->pack(arguments, {record.inline_parameters, record.parameter_bytes}));
  return record;
}

Result<Launch> Stream::launch(DevicePtr record) {
  Device::Impl& device = impl_->device;
  TRY(device.status());
  if (device.server != nullptr)
    return Error::unsupported("task records on a device that a server runs: launch the kernel instead");
  const std::shared_lock lock(device.modules_mutex);  // the module that it names stays until it is submitted
  TRY_ASSIGN(const RecordedTask recorded, RecordedTask::read(device, record.value));
  TRY_ASSIGN(const detail::CompiledKernel* const code, recorded.code(true));
  TRY_ASSIGN(machine::Task* const task, recorded.make(*code));
  impl_->submit(*task, {.priority = recorded.priority()});
  return Launch(&device, task, code);
}

Result<Append> Launch::append(const void* entry, std::uint64_t bytes) {
  const machine::TaskQueue* const queue = task_->grid().queue.get();
  if (queue == nullptr) return Error::invalid("entries are appended to queue tasks; this launch is a grid");
  if (bytes != queue->entry_bytes())
    return Error::invalid("an entry of {} bytes; those of the queue have {}", bytes, queue->entry_bytes());
  return device_->space->append(*task_, static_cast<const std::byte*>(entry), 0);
}

Result<Append> Launch::append_task(DevicePtr record) {
  if (task_->grid().queue == nullptr)
    return Error::invalid("entries are appended to queue tasks; this launch is a grid");
  if (record.value == 0) return Error::invalid("a task record at address 0");
  return device_->space->append(*task_, nullptr, record.value);
}

Result<void> Launch::close() {
  if (task_->grid().queue == nullptr)
    return Error::invalid("only queue tasks can be closed; this launch is a grid");
  device_->space->close_queue(*task_);
  return {};
}

// --- entries that are children ---

namespace {
/// @returns false: its kernel has yet to be compiled. @errors as above
Result<bool> start_child(Device::Impl& device, machine::Task& parent, std::uint64_t record,
                         bool may_compile) {
  machine::TaskScheduler& tasks = device.tasks();
  const std::shared_lock lock(device.modules_mutex);
  TRY_ASSIGN(const RecordedTask recorded, RecordedTask::read(device, record));
  TRY_ASSIGN(const detail::CompiledKernel* const code, recorded.code(may_compile));
  if (code == nullptr) return false;
  TRY_ASSIGN(machine::Task* const child, recorded.make(*code));
  tasks.adopt(parent, *child, ~0u);
  tasks.hold(parent);
  {
    machine::Children& family = parent.family();
    const std::lock_guard family_lock(family.mutex);
    tasks.retain(*child);
    family.remember(child, [&](machine::Task* done) { tasks.release(done); });
  }
  if (const std::uint32_t stop = parent.stop.load(std::memory_order_seq_cst); stop != 0) {
    child->fault = parent.fault;
    child->stop.store(stop, std::memory_order_relaxed);
  }
  tasks.submit(*child, {});
  tasks.release(child);
  return true;
}

void fail(Device::Impl& device, machine::Task& parent, const Error& error) {
  exec::Fault fault;
  fault.kind = FaultKind::invalid_task;
  fault.block_known = fault.address_known = false;
  fault.detail = "an entry of its queue is a child, " + error.message;
  device.space->stop_task(parent, std::move(fault));
}
}  // namespace

void DeviceRuntime::launch_child(machine::Task& parent, std::uint64_t record) {
  const Result<bool> started = start_child(device_, parent, record, false);
  if (!started) return fail(device_, parent, started.error());
  if (*started) return;
  machine::TaskScheduler& tasks = device_.tasks();
  machine::Task* const job = tasks.acquire();
  job->work = machine::CallWork{[&device = device_, &parent, record] {
                                  const Result<bool> compiled = start_child(device, parent, record, true);
                                  if (!compiled) fail(device, parent, compiled.error());
                                },
                                machine::CallWork::Thread::compilations};
  tasks.adopt(parent, *job, 0);
  tasks.hold(parent);
  tasks.submit(*job, {});
  tasks.release(job);
}

}  // namespace raddle
