// Device: opening, memory, synchronisation.
#include "base/file.h"
#include "machine/memory/device_copy.h"
#include "runtime/device_impl.h"
#include "runtime/hardware.h"

namespace raddle {
Result<Device::Impl::Made> Device::Impl::compile(const ptx::Module& module, ptx::FunctionId kernel,
                                                 const exec::CompileOptions& how) {
  auto code = engine->compile(module, kernel, how);
  if (code) return Made{std::move(*code), engine.get()};
  if (code.error().code != ErrorCode::unsupported) return code.error();
  std::call_once(interpreter_made, [&] { interpreter = make_interpreter(options); });
  auto other = interpreter->compile(module, kernel, how);
  if (!other) return code.error();
  fmt::print(stderr, "raddle: warning: the interpreter runs kernel '{}': {}\n", module.functions[kernel].name,
             code.error().message);
  return Made{std::move(*other), interpreter.get()};
}

Error fault_error(const exec::Fault& fault) {
  const bool timed_out = fault.kind == exec::FaultKind::timeout;
  return {
      timed_out ? ErrorCode::timeout : ErrorCode::kernel_fault, fault.to_string(), {.line = fault.ptx_line}};
}

Device::Impl::~Impl() {
  if (space) {
    tasks().wait_all();
    end_what_is_done();
  }
  default_stream.reset();
}

Result<void> Device::Impl::status() const {
  if (auto failure = space->failure()) return fault_error(*failure);
  return {};
}

Result<void> Device::Impl::synchronize() {
  std::vector<machine::Task*> last;
  {
    std::lock_guard lock(streams_mutex);
    for (Stream::Impl* stream : streams) last.push_back(stream->retain_last());
  }
  {
    const std::lock_guard lock(endings_mutex_);  // markers behind that work complete a moment later
    for (const Ending& ending : endings_) {
      tasks().retain(*ending.after);
      last.push_back(ending.after);
    }
  }
  for (machine::Task* task : last) {
    if (task != nullptr) task->wait();
    tasks().release(task);
  }
  space->output().flush();
  end_what_is_done();
  return status();
}

Device::Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Result<Device> Device::open(DeviceOptions options) {
  auto impl = std::make_unique<Impl>();
  const Asynchrony& asynchrony = options.asynchrony;
  if (asynchrony.mode != Asynchrony::Mode::eager && !options.deterministic)
    options.deterministic = asynchrony.mode == Asynchrony::Mode::random ? asynchrony.seed : 0;
  TRY_ASSIGN(std::shared_ptr<machine::Machine> machine, shared_machine(options));
  const machine::MachineShape& shape = machine->shape();
  if (options.stack_bytes > shape.local_bytes_per_thread)
    return Error::invalid("a stack of {} bytes per thread exceeds the {} of '{}'", options.stack_bytes,
                          shape.local_bytes_per_thread, options.shape);
  TRY_ASSIGN(impl->engine, shared_engine(options));
  TRY_ASSIGN(impl->space,
             machine::AddressSpace::open(std::move(machine), {.heap_bytes = options.heap_bytes,
                                                              .output = options.output,
                                                              .print_bytes = options.print_bytes,
                                                              .kernel_calls = &impl->device_runtime,
                                                              .translation = options.translation,
                                                              .window_bytes = options.window_bytes}));
  impl->options = std::move(options);
  impl->stack_bytes = impl->options.stack_bytes;
  impl->default_stream = Stream(std::make_unique<Stream::Impl>(*impl, 0));
  return Device(std::move(impl));
}

DeviceProperties Device::properties() const {
  const machine::MachineShape& shape = impl_->machine().shape();
  return {shape.name,
          std::string(impl_->engine->name()),
          shape.sm_count(),
          impl_->machine().worker_count(),
          shape.capability,
          impl_->machine().capacity(),
          shape.sm.shared_per_block,
          shape.sm.threads_per_block,
          shape.warning()};
}

Result<Module> Device::load(std::string_view image, std::string_view name) {
  const Program::Image images[] = {{image, name}};
  TRY_ASSIGN(const Program program, Program::read(images, impl_->machine().shape().capability));
  return load(program);
}

Result<Module> Device::load(const Program& program) {
  auto module = std::make_unique<Module::Impl>(*impl_, program.impl_);
  TRY(place_variables(*module));
  return Module(std::move(module));
}

Result<Module> Device::load_file(const std::string& path) {
  TRY_ASSIGN(const std::string image, read_file(path));
  return load(image, path);
}

Result<DevicePtr> Device::allocate(std::uint64_t bytes) {
  Result<DevicePtr> allocated = impl_->space->memory().allocate(bytes);
  if (allocated || allocated.error().code != ErrorCode::out_of_memory) return allocated;
  impl_->end_what_is_done();
  return impl_->space->memory().allocate(bytes);
}

Result<void> Device::free(DevicePtr address) {
  (void)impl_->synchronize();  // a sticky fault is no reason to keep the memory
  return impl_->space->memory().free(address);
}

Result<void> Device::free_later(DevicePtr address) {
  const auto region = impl_->space->memory().find(address.value);
  if (!region || region->address.value != address.value)
    return Error::invalid("{:#x} is not the start of an allocation", address.value);
  impl_->after_work([device = impl_.get(), address] { (void)device->space->memory().free(address); });
  return {};
}

Result<void> Device::write(DevicePtr to, const void* from, std::uint64_t bytes) {
  return detail::buffers_write(impl_.get(), to, from, bytes);
}

Result<void> Device::read(void* to, DevicePtr from, std::uint64_t bytes) {
  return detail::buffers_read(impl_.get(), to, from, bytes);
}

Result<void> Device::copy(DevicePtr to, DevicePtr from, std::uint64_t bytes) {
  TRY(impl_->default_stream->copy(to, from, bytes));
  return impl_->default_stream->synchronize();
}

Result<void> Device::fill(DevicePtr to, std::uint8_t value, std::uint64_t bytes) {
  TRY(impl_->default_stream->fill(to, value, bytes));
  return impl_->default_stream->synchronize();
}

Result<Stream> Device::stream(int priority) {
  return Stream(std::make_unique<Stream::Impl>(*impl_, priority));
}
Stream& Device::default_stream() { return *impl_->default_stream; }
Result<void> Device::synchronize() { return impl_->synchronize(); }
Result<void> Device::status() const { return impl_->status(); }
std::optional<Failure> Device::failure() const {
  const auto fault = impl_->space->failure();
  if (!fault) return std::nullopt;
  return Failure{fault->kind, fault->to_string()};
}

std::optional<Region> Device::region(DevicePtr address) const {
  const auto found = impl_->space->memory().find(address.value);
  if (!found) return std::nullopt;
  return Region{found->address, found->bytes, found->id, found->shared, found->managed};
}

Result<SharedPages> Device::share(DevicePtr address) {
  (void)impl_->synchronize();
  TRY_ASSIGN(const machine::FilePages pages, impl_->space->memory().share(address));
  return SharedPages{pages.descriptor, pages.offset};
}

std::uint64_t Device::limit(Limit limit) const {
  switch (limit) {
    case Limit::stack_bytes:
      return impl_->stack_bytes;
    case Limit::print_bytes:
      return impl_->space->output().limit();
    case Limit::heap_bytes:
      break;
  }
  return impl_->space->heap().limit();
}

Result<void> Device::set_limit(Limit limit, std::uint64_t value) {
  machine::AddressSpace& space = *impl_->space;
  if (limit == Limit::stack_bytes) {
    const machine::MachineShape& shape = impl_->machine().shape();
    if (value > shape.local_bytes_per_thread)
      return Error::invalid("a stack of {} bytes per thread exceeds the {} of '{}'", value,
                            shape.local_bytes_per_thread, shape.name);
    impl_->stack_bytes = static_cast<std::uint32_t>(value);
    return {};
  }
  if (limit == Limit::heap_bytes) TRY(machine::AddressSpace::check_heap(value));
  if (limit == Limit::print_bytes ? !space.output().set_limit(value) : !space.heap().set_limit(value)) {
    return Error::invalid("kernels have used the {} already",
                          limit == Limit::print_bytes ? "print buffer" : "heap");
  }
  return {};
}

std::uint64_t Device::memory_used() const { return impl_->space->memory().used(); }

std::uint64_t Device::blocks_completed() const { return impl_->space->blocks_completed(); }

// Synchronous copies run on the caller's thread, once the work before them is done. Buffers outlive moves of
// the Device handle, so these take its Impl.
namespace detail {
Result<void> buffers_write(Device::Impl* device, DevicePtr to, const void* from, std::uint64_t bytes) {
  return device->copy_now({device->at(to), machine::of_host(from), bytes});
}

Result<void> buffers_read(Device::Impl* device, void* to, DevicePtr from, std::uint64_t bytes) {
  return device->copy_now({machine::of_host(to), device->at(from), bytes});
}

void buffers_free(Device::Impl* device, DevicePtr address) {
  (void)device->synchronize();
  (void)device->space->memory().free(address);
}
}  // namespace detail

}  // namespace raddle
