#include "runtime/served.h"

#include "runtime/device_impl.h"

namespace raddle {

Result<std::unique_ptr<ServedDevice>> ServedDevice::open(
    DeviceOptions options, std::shared_ptr<machine::DeviceSpace> window, std::uint64_t space_id,
    std::function<void(machine::AddressSpace&, machine::Task&)> ended) {
  TRY_ASSIGN(Device device,
             Device::Impl::open(std::move(options), {std::move(window), space_id, std::move(ended)}));
  return std::unique_ptr<ServedDevice>(new ServedDevice(std::move(device)));
}

machine::Machine& machine_of(Device& device) { return Device::Impl::of(device).machine(); }

machine::AddressSpace& ServedDevice::space() { return *Device::Impl::of(device_).space; }

namespace {

bool needs_address(const ptx::Variable& variable) {
  return (variable.space == ptx::Space::global || variable.space == ptx::Space::const_) &&
         !variable.is_parameter;
}

Result<void> check_addresses(const ptx::Module& program, std::span<const std::uint64_t> addresses,
                             exec::AddressRange lent) {
  if (addresses.size() != program.variables.size())
    return Error::invalid("{} addresses for {} variables", addresses.size(), program.variables.size());
  for (std::size_t id = 0; id < addresses.size(); ++id) {
    const ptx::Variable& variable = program.variables[id];
    if (isa::type_class(variable.type) == isa::TypeClass::opaque)
      continue;  // a handle, which the texture unit checks
    if (needs_address(variable) ? !lent.holds(addresses[id], variable.size) : addresses[id] != 0)
      return Error::invalid("{}: variable {} lies at {:#x}, outside of the client's memory", program.name,
                            variable.name, addresses[id]);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ServedModule>> ServedModule::load(ServedDevice& device, const Program& program,
                                                         std::span<const std::uint64_t> addresses) {
  auto module = std::make_unique<Module::Impl>(Device::Impl::of(device.device()), Program::Impl::of(program));
  TRY(check_addresses(module->program, addresses, device.space().options().window->lent()));
  module->addresses.assign(addresses.begin(), addresses.end());
  return std::unique_ptr<ServedModule>(new ServedModule(device, std::move(module)));
}

namespace {

/// Whether all texels of a level lie in a range.
bool lies_in(const ImageLevel& level, unsigned texel_bytes, exec::AddressRange range) {
  using Wide = unsigned __int128;
  const Wide bytes = Wide{level.slices - Wide{1}} * level.slice_pitch +
                     Wide{level.height - Wide{1}} * level.row_pitch + Wide{level.width} * texel_bytes;
  return bytes <= range.bytes && range.holds(level.address.value, static_cast<std::uint64_t>(bytes));
}

}  // namespace

Result<void> ServedDevice::check_image(const Image& image) {
  const exec::AddressRange lent = space().options().window->lent();
  for (unsigned i = 0; i < image.level_count; ++i) {
    const ImageLevel& level = image.levels[i];
    if (level.width == 0 || level.height == 0 || level.slices == 0 ||
        !lies_in(level, image.format.bytes(), lent))
      return Error::invalid("level {} of an image lies outside of the client's memory", i);
  }
  return {};
}

Result<std::uint64_t> ServedDevice::add_texture(const Image& image, const Sampler& sampler) {
  TRY(check_image(image));
  TRY_ASSIGN(const TextureHandle handle, device_.create_texture(image, sampler));
  return handle.value;
}

Result<std::uint64_t> ServedDevice::add_surface(const Image& image) {
  TRY(check_image(image));
  TRY_ASSIGN(const SurfaceHandle handle, device_.create_surface(image));
  return handle.value;
}

ServedModule::ServedModule(ServedDevice& device, std::unique_ptr<Module::Impl> module)
    : device_(device), module_(std::move(module)) {}
ServedModule::~ServedModule() = default;

namespace {
/// @errors invalid: no such kernel; unsupported: it cannot run
Result<Kernel::Impl*> kernel_of(Module::Impl& module, std::uint64_t id) {
  const auto& functions = module.program.functions;
  if (id >= functions.size() || !functions[id].is_entry || functions[id].is_declaration)
    return Error::invalid("{} has no kernel of number {}", module.program.name, id);
  return module.kernel(static_cast<ptx::FunctionId>(id));
}
}  // namespace

Result<ServedCode> ServedModule::compile(std::uint64_t kernel, Dim3 block, bool clustered) {
  TRY_ASSIGN(Kernel::Impl* const known, kernel_of(*module_, kernel));
  TRY(known->check_block({.grid = {}, .block = block}));
  TRY_ASSIGN(const detail::CompiledKernel* const code, known->compile(block, clustered));
  return ServedCode{code->code->kind, code->code->local_bytes, code->code->statistics};
}

Result<machine::Task*> ServedModule::launch(std::uint64_t kernel, const ServedLaunch& launch) {
  TRY_ASSIGN(Kernel::Impl* const known, kernel_of(*module_, kernel));
  Device::Impl& device = *known->module->device;
  TRY(device.status());
  TRY(known->check(launch.config));
  if (launch.parameters.size() != known->info.parameter_bytes)
    return Error::invalid("{}: {} bytes of parameters, not {}", known->info.name, launch.parameters.size(),
                          known->info.parameter_bytes);
  const auto* const code =
      known->compiled_for(launch.config.block, known->seen_cluster(launch.config).size() > 1);
  if (code == nullptr) return Error::invalid("{}: not compiled for such a launch", known->info.name);
  TRY_ASSIGN(machine::Task* const task, known->make_task(launch.config, launch.parameters, *code));
  task->grid().number = launch.number;
  task->priority = launch.config.priority.value_or(0);
  const bool early = launch.config.begins_early;
  machine::Task* const after[] = {early ? nullptr : launch.behind};
  machine::Task* const after_trigger[] = {early ? launch.behind : nullptr};
  const machine::TaskScheduler::Submission one{task, after, after_trigger};
  device.tasks().submit({&one, 1});
  return task;
}

}  // namespace raddle
