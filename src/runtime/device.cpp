// Device: opening, memory, synchronisation.
#include <map>

#include "base/file.h"
#include "machine/memory/device_copy.h"
#include "runtime/device_impl.h"
#include "runtime/hardware.h"

namespace raddle {
Result<Device::Impl::Made> Device::Impl::compile(const Module::Impl& loaded, ptx::FunctionId kernel,
                                                 const exec::CompileOptions& how) {
  if (server != nullptr) {
    TRY_ASSIGN(auto remote, server->compile(loaded.number, kernel, how));
    return Made{std::move(remote), server->engine()};
  }
  const ptx::Module& module = loaded.program;
  auto code = engine->compile(module, kernel, how);
  if (code) return Made{std::move(*code), engine->name()};
  if (code.error().code != ErrorCode::unsupported) return code.error();
  std::call_once(interpreter_made, [&] { interpreter = make_interpreter(options); });
  auto other = interpreter->compile(module, kernel, how);
  if (!other) return code.error();
  fmt::print(stderr, "raddle: warning: the interpreter runs kernel '{}': {}\n", module.functions[kernel].name,
             code.error().message);
  return Made{std::move(*other), interpreter->name()};
}

std::uint64_t Device::Impl::shape_class(Dim3 block) const {
  if (server == nullptr) return engine->shape_class({block.x, block.y, block.z});
  return block.x | std::uint64_t{block.y} << 16 | std::uint64_t{block.z} << 32;  // the server knows better
}

Error fault_error(const exec::Fault& fault) {
  const bool timed_out = fault.kind == exec::FaultKind::timeout;
  return {
      timed_out ? ErrorCode::timeout : ErrorCode::kernel_fault, fault.to_string(), {.line = fault.ptx_line}};
}

Device::Impl::~Impl() {
  if (space) {
    space->close_queues();
    tasks().wait_all();
    end_what_is_done();
  }
  default_stream.reset();
  space.reset();
  if (server != nullptr) server->close_space(server_space);
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

namespace {
machine::AddressSpaceOptions space_options(const DeviceOptions& options, Device::Impl& device) {
  return {.heap_bytes = options.heap_bytes,
          .output = options.output,
          .print_bytes = options.print_bytes,
          .kernel_calls = &device.device_runtime,
          .translation = options.translation,
          .bounds = options.bounds,
          .context = options.context,
          .placement = options.placement,
          .sm_limit = options.sm_limit,
          .window_bytes = options.window_bytes,
          .device = options.ordinal,
          .reaches_shared = options.reaches_shared,
          .shares_managed = options.server.empty() &&
                            (options.device_count > 1 || options.translation == Translation::modelled)};
}
}  // namespace

Result<Device> Device::open(DeviceOptions options) {
  return options.server.empty() ? Impl::open(std::move(options), {}) : Impl::open_served(std::move(options));
}

namespace {
/// What kernels on a server may ask for, asked beforehand.
std::map<int, int> attributes_of(const DeviceOptions& options) {
  constexpr int kMost = 256;  // CUDA's numbers are smaller
  std::map<int, int> found;
  for (int which = 1; options.attribute && which < kMost; ++which)
    if (const std::optional<int> value = options.attribute(which)) found.emplace(which, *value);
  return found;
}
}  // namespace

/// Its memory lies where the server has it; accesses are checked there.
Result<Device> Device::Impl::open_served(DeviceOptions options) {
  auto impl = std::make_unique<Impl>();
  if (options.asynchrony.mode != Asynchrony::Mode::eager || options.deterministic)
    return Error::unsupported("a server's copies land at once, and its machine is not deterministic");
  if (options.matrix_arithmetic != MatrixArithmetic::reference)
    return Error::unsupported("a server multiplies matrices as it was told to, not as its programs are");
  if (!options.context.empty() || options.contexts)
    return Error::unsupported("on a server, its name says which device context: PATH#@CONTEXT");
  options.translation = Translation::windowed;
  TRY_ASSIGN(impl->server, proxy::Server::connect(options.server));
  proxy::SpaceWanted wanted{
      .attributes = attributes_of(options),
      .heap_bytes = options.heap_bytes,
      .print_bytes = options.print_bytes,
      .stack_bytes = options.stack_bytes,
      .time_limit_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(options.time_limit).count())};
  wanted.placement = options.placement;
  wanted.work_kind = options.work_kind;
  TRY_ASSIGN(impl->server_space, impl->server->open_space(wanted));
  impl->server_textures = impl->server->textures(impl->server_space);
  machine::AddressSpaceOptions space = space_options(options, *impl);
  space.runner = impl->server;
  space.launch_addresses = &impl->server->launch_addresses();
  TRY_ASSIGN(impl->space, machine::AddressSpace::open(impl->server->machine(), std::move(space)));
  return finish_opening(std::move(impl), std::move(options));
}

Result<Device> Device::Impl::finish_opening(std::unique_ptr<Impl> impl, DeviceOptions options) {
  impl->options = std::move(options);
  impl->stack_bytes = impl->options.stack_bytes;
  impl->default_stream = Stream(std::make_unique<Stream::Impl>(*impl, 0));
  return Device(std::move(impl));
}

Result<Device> Device::Impl::open(DeviceOptions options, const Shared& shared) {
  auto impl = std::make_unique<Impl>();
  const Asynchrony& asynchrony = options.asynchrony;
  if (asynchrony.mode != Asynchrony::Mode::eager && !options.deterministic)
    options.deterministic = asynchrony.mode == Asynchrony::Mode::random ? asynchrony.seed : 0;
  if (!options.context.empty() && !options.contexts) options.contexts = ContextMode::queued;
  TRY_ASSIGN(std::shared_ptr<machine::Machine> machine, shared_machine(options));
  const machine::MachineShape& shape = machine->shape();
  if (options.stack_bytes > shape.local_bytes_per_thread)
    return Error::invalid("a stack of {} bytes per thread exceeds the {} of '{}'", options.stack_bytes,
                          shape.local_bytes_per_thread, options.shape);
  TRY_ASSIGN(impl->engine, shared_engine(options));
  machine::AddressSpaceOptions space = space_options(options, *impl);
  space.window = shared.window;
  space.id = shared.space_id;
  space.grid_ended = shared.grid_ended;
  TRY_ASSIGN(impl->space, machine::AddressSpace::open(std::move(machine), std::move(space)));
  return finish_opening(std::move(impl), std::move(options));
}

DeviceProperties Device::properties() const {
  const machine::MachineShape& shape = impl_->machine().shape();
  return {shape.name,
          std::string(impl_->server != nullptr ? impl_->server->engine() : impl_->engine->name()),
          shape.sm_count(),
          impl_->server != nullptr ? impl_->server->workers() : impl_->machine().worker_count(),
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

void Device::admit_peer(const Device& peer) { impl_->space->admit(*peer.impl_->space); }
void Device::dismiss_peer(const Device& peer) { impl_->space->dismiss(*peer.impl_->space); }

Result<Module> Device::load(const Program& program, const Placed& placed) {
  auto module = std::make_unique<Module::Impl>(*impl_, program.impl_);
  module->placed = &placed;
  TRY(place_variables(*module));
  if (impl_->server != nullptr) TRY(module->tell_server());
  const std::unique_lock lock(impl_->modules_mutex);
  module->number_here = ++impl_->last_module;
  impl_->modules.emplace(module->number_here, module.get());
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
  if (impl_->server != nullptr)
    return Error::unsupported("memory of a program that a server runs cannot be shared with other programs");
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
  if (impl_->server != nullptr) TRY(impl_->server->set_limit(impl_->server_space, limit, value));
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
std::uint64_t Device::space() const { return impl_->space->id(); }
TranslationCounts Device::translation_counts() const {
  const machine::PagedSpace* const pages = impl_->space->pages();
  return pages != nullptr ? pages->counts() : TranslationCounts{};
}

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
