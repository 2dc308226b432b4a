// Modules: their variables in device memory, their kernels.
#include <fmt/ranges.h>

#include <cstring>

#include "base/round_up.h"
#include "ptx/parser.h"
#include "runtime/device_impl.h"

namespace raddle {
namespace {

bool has_address(const ptx::Variable& variable) {
  return (variable.space == ptx::Space::global || variable.space == ptx::Space::const_) &&
         isa::type_class(variable.type) != isa::TypeClass::opaque;
}

bool is_reference(const ptx::Variable& variable) {
  return variable.type == isa::Type::texref || variable.type == isa::Type::surfref;
}

std::string unbound_text(const ptx::Variable& variable) {
  return fmt::format("nothing is bound to the {} reference '{}'",
                     variable.type == isa::Type::texref ? "texture" : "surface", variable.name);
}

Sampler sampler_of(const ptx::SamplerSettings& settings) {
  constexpr AddressMode kModes[] = {AddressMode::wrap, AddressMode::mirror, AddressMode::clamp_ogl,
                                    AddressMode::clamp, AddressMode::border};
  Sampler sampler;
  for (std::size_t d = 0; d < settings.address.size(); ++d)
    sampler.address[d] = kModes[static_cast<std::size_t>(settings.address[d])];
  sampler.filter = settings.linear ? FilterMode::linear : FilterMode::point;
  return sampler;
}

/// What kernels see as the address of a .samplerref is the handle of a sampler.
Result<void> place_samplers(Module::Impl& module) {
  const auto& variables = module.program.variables;
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (variables[id].type != isa::Type::samplerref) continue;
    const ptx::SamplerSettings& settings = variables[id].sampler;
    const std::uint64_t handle =
        module.device->textures().add_sampler(sampler_of(settings), settings.force_unnormalized_coordinates);
    if (handle == 0) return Error::make(ErrorCode::out_of_memory, "too many textures and samplers");
    module.handles.push_back(handle);
    module.addresses[id] = handle;
  }
  return {};
}

/// Unbound at first, so that a kernel that reads one anyway hears its name.
void place_references(Module::Impl& module) {
  const auto& variables = module.program.variables;
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (!is_reference(variables[id])) continue;
    const std::uint64_t handle = module.device->textures().add_unbound(unbound_text(variables[id]));
    if (handle != 0) module.handles.push_back(handle);
    module.addresses[id] = handle;
    module.has_references = true;
  }
  if (module.has_references)
    module.bindings =
        std::make_shared<const Module::Impl::Bindings>(Module::Impl::Bindings{module.addresses, {}});
}

/// Module-scope constants lie together, in pages that kernels cannot write.
Result<void> place_constants(Module::Impl& module) {
  const std::uint64_t wanted = ptx::constant_bytes(module.program),
                      most = module.device->machine().shape().constant_bytes;
  if (wanted > most)
    return Error::invalid("{}: {} bytes of constants; a module has {}", module.program.name, wanted, most);
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> places;
  const auto& variables = module.program.variables;
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (variables[id].space != ptx::Space::const_ || variables[id].is_parameter) continue;
    const std::uint64_t align = std::max<std::uint64_t>(variables[id].align, 16);
    bytes = round_up(bytes, align);
    places.emplace_back(id, bytes);
    bytes += std::max<std::uint64_t>(variables[id].size, 1);
  }
  if (places.empty()) return {};
  TRY_ASSIGN(const DevicePtr base,
             module.device->space->memory().allocate_constants(bytes, "constants of " + module.program.name));
  module.allocations.push_back(base);
  for (const auto& [id, offset] : places) module.addresses[id] = base.value + offset;
  return {};
}

/// Where a variable lies that is not the module's; null: it is.
const DevicePtr* placed_at(const Module::Impl& module, const ptx::Variable& variable) {
  const auto found = module.placed->addresses.find(variable.name);
  return variable.managed && found != module.placed->addresses.end() ? &found->second : nullptr;
}

Result<void> place_globals(Module::Impl& module) {
  const auto& variables = module.program.variables;
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (variables[id].space != ptx::Space::global || !has_address(variables[id]) ||
        variables[id].is_parameter)
      continue;
    if (const DevicePtr* const there = placed_at(module, variables[id])) {
      module.addresses[id] = there->value;
      continue;
    }
    TRY_ASSIGN(const DevicePtr address,
               module.device->space->memory().allocate(std::max<std::uint64_t>(variables[id].size, 1),
                                                       variables[id].name, variables[id].managed));
    module.allocations.push_back(address);
    module.addresses[id] = address.value;
    // Pooled memory may have been used; other memory is fresh, and stays untouched.
    if (variables[id].size < machine::DeviceMemory::kGuardedFrom)
      std::memset(reinterpret_cast<void*>(address.value), 0, variables[id].size);
  }
  return {};
}

Result<void> relocate(const Module::Impl& module, const ptx::Variable& variable, std::byte* memory) {
  for (const ptx::Relocation& relocation : variable.relocations) {
    std::uint64_t value;
    if (relocation.is_function) {
      value = exec::function_handle(relocation.index);
    } else {
      const ptx::Variable& target = module.program.variables[relocation.index];
      if (!has_address(target))
        return Error::unsupported(
            "initialiser of {} takes the address of {}, which is neither global nor constant", variable.name,
            target.name);
      value = module.addresses[relocation.index];
    }
    value = (value + static_cast<std::uint64_t>(relocation.addend)) >> relocation.mask_shift;
    if (relocation.offset + relocation.size > variable.size || relocation.size > sizeof value) {
      return Error::invalid("initialiser of {} writes an address past its end", variable.name);
    }
    std::memcpy(memory + relocation.offset, &value, relocation.size);
  }
  return {};
}

Result<void> check_externals(const ptx::Module& program) {
  const std::vector<std::string> missing = linking::undefined_variables(program);
  if (missing.empty()) return {};
  return Error::make(ErrorCode::not_found, "{}: external variables without a definition: {}", program.name,
                     fmt::join(missing, ", "));
}

}  // namespace

Result<void> place_variables(Module::Impl& module) {
  const auto& variables = module.program.variables;
  TRY(check_externals(module.program));
  module.addresses.assign(variables.size(), 0);
  TRY(place_constants(module));
  TRY(place_globals(module));
  TRY(place_samplers(module));
  place_references(module);
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (module.addresses[id] == 0 || !has_address(variables[id])) continue;
    if (module.placed->has_values && placed_at(module, variables[id]) != nullptr) continue;
    TRY_ASSIGN(std::byte* const memory,
               module.device->space->memory().host({module.addresses[id]}, variables[id].size));
    if (!variables[id].initial.empty())
      std::memcpy(memory, variables[id].initial.data(),
                  std::min<std::size_t>(variables[id].initial.size(), variables[id].size));
    TRY(relocate(module, variables[id], memory));
  }
  return {};
}

Result<void> Module::Impl::tell_server() {
  std::vector<proxy::Server::Text> texts;
  for (const linking::Linked::Text& text : code->texts)
    texts.push_back({text.text, text.name, text.is_library});
  TRY_ASSIGN(number, device->server->load(device->server_space, texts, addresses));
  return {};
}

Module::Impl::~Impl() {
  if (number != 0) device->server->unload(number);
  for (const DevicePtr address : allocations) (void)device->space->memory().free(address);
  for (const std::uint64_t handle : handles) (void)device->textures().remove(handle);
}

Result<Kernel::Impl*> Module::Impl::kernel(ptx::FunctionId id) {
  std::lock_guard lock(mutex);
  for (const auto& known : kernels) {
    if (known->id == id) return known.get();
  }
  auto made = describe_kernel(*this, id);
  if (!made->unusable.message.empty()) return made->unusable;
  kernels.push_back(std::move(made));
  return kernels.back().get();
}

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
// Kernels of it may run: it goes when they are done.
Module::~Module() {
  if (impl_ == nullptr) return;
  Device::Impl& device = *impl_->device;
  {
    const std::unique_lock lock(device.modules_mutex);
    device.modules.erase(impl_->number_here);
  }
  device.after_work([ended = std::shared_ptr<Impl>(std::move(impl_))] {});
}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&& other) noexcept {
  impl_.swap(other.impl_);
  return *this;
}

std::vector<std::string> Module::kernels() const { return kernel_names(impl_->program); }

Result<Kernel> Module::kernel(std::string_view name) {
  TRY_ASSIGN(const ptx::FunctionId id, find_kernel(impl_->program, name));
  TRY_ASSIGN(Kernel::Impl * kernel, impl_->kernel(id));
  return Kernel(kernel);
}

Result<Module::Variable> Module::variable(std::string_view name) const {
  const ptx::Variable* variable = impl_->program.find_variable(name);
  const auto id =
      variable == nullptr ? 0 : static_cast<std::size_t>(variable - impl_->program.variables.data());
  if (variable == nullptr || impl_->addresses[id] == 0 || !has_address(*variable)) {
    return Error::make(ErrorCode::not_found, "{} has no global or constant variable '{}'",
                       impl_->program.name, name);
  }
  return Variable{{impl_->addresses[id]}, variable->size, variable->managed};
}

Result<void> Module::Impl::bind(std::string_view reference, isa::Type type, std::uint64_t handle) {
  machine::TextureTable& textures = device->textures();
  const std::shared_ptr<const void> owner(&textures, [handle](machine::TextureTable* table) {
    if (handle != 0) (void)table->remove(handle);
  });
  const ptx::Variable* const variable = program.find_variable(reference);
  if (variable == nullptr || variable->type != type)
    return Error::make(ErrorCode::not_found, "{} has no .{} '{}'", program.name, isa::type_name(type),
                       reference);
  if (device->server != nullptr)
    return Error::unsupported("'{}' is a .{}: a served device knows texture and surface objects only",
                              reference, isa::type_name(type));
  const auto id = static_cast<std::size_t>(variable - program.variables.data());
  const std::lock_guard lock(bindings_mutex);
  auto changed = std::make_shared<Bindings>(*bindings);
  changed->addresses[id] = handle != 0 ? handle : addresses[id];
  changed->owners[id] = owner;
  bindings = std::move(changed);
  return {};
}

namespace {
bool has(const ptx::Module& program, std::string_view name, isa::Type type) {
  const ptx::Variable* const variable = program.find_variable(name);
  return variable != nullptr && variable->type == type;
}
}  // namespace

bool Module::has_texture_reference(std::string_view name) const {
  return has(impl_->program, name, isa::Type::texref);
}
bool Module::has_surface_reference(std::string_view name) const {
  return has(impl_->program, name, isa::Type::surfref);
}

Result<void> Module::bind(std::string_view reference, TextureHandle texture) {
  return impl_->bind(reference, isa::Type::texref, texture.value);
}
Result<void> Module::bind(std::string_view reference, SurfaceHandle surface) {
  return impl_->bind(reference, isa::Type::surfref, surface.value);
}

Result<void> Module::unbind(std::string_view reference, const std::string& why) {
  const ptx::Variable* const variable = impl_->program.find_variable(reference);
  if (variable == nullptr || !is_reference(*variable))
    return Error::make(ErrorCode::not_found, "{} has no .texref or .surfref '{}'", impl_->program.name,
                       reference);
  const std::uint64_t handle =
      why.empty() ? 0 : impl_->device->textures().add_unbound(unbound_text(*variable) + ": " + why);
  return impl_->bind(reference, variable->type, handle);
}

}  // namespace raddle
