// Answers questions about kernels that kernels launch: finds them by address in the launching grid's module,
// checks and compiles them as for a launch from the host.
#include "runtime/device_runtime.h"

#include <cstring>

#include "runtime/device_impl.h"

namespace raddle {

namespace {

Kernel::Impl* find_kernel(const ChildLaunch& launch) {
  auto& module = *const_cast<Module::Impl*>(static_cast<const Module::Impl*>(launch.owner));
  const ptx::FunctionId id = exec::function_of_handle(launch.kernel);
  if (launch.kernel == 0 || id >= module.program.functions.size()) return nullptr;
  const ptx::Function& function = module.program.functions[id];
  if (!function.is_entry || function.is_declaration) return nullptr;
  auto found = module.kernel(id);
  return found ? *found : nullptr;
}

const char* text_of(int error, bool name) {
  switch (static_cast<DeviceError>(error)) {
#define DEVICE_ERROR(id, number, name_text, text) \
  case DeviceError::id:                           \
    return name ? name_text : text;
#include "runtime/device_errors.def"
#undef DEVICE_ERROR
  }
  return "unrecognized error code";
}

}  // namespace

std::uint64_t DeviceRuntime::error_text(int error, bool name) {
  const char* const text = text_of(error, name);
  const std::lock_guard lock(texts_mutex_);
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  machine::DeviceMemory& memory = device_.space->memory();
  const std::size_t bytes = std::strlen(text) + 1;
  const auto place = memory.allocate_constants(bytes, "text of an error");
  if (!place) return 0;
  std::memcpy(memory.host(*place), text, bytes);
  return texts_[text] = place->value;
}

std::optional<DeviceError> DeviceRuntime::prepare(const ChildLaunch& launch, machine::Task& child,
                                                  bool may_compile) {
  Kernel::Impl* kernel = find_kernel(launch);
  if (kernel == nullptr) return DeviceError::invalid_device_function;
  LaunchConfig config{
      .grid = extents(launch.grid), .block = extents(launch.block), .shared_bytes = launch.shared_bytes};
  if (kernel->info.blocks_are_clusters) config = kernel->in_blocks(config);
  if (const Result<void> possible = kernel->check(config); !possible) {
    return possible.error().code == ErrorCode::invalid_cluster ? DeviceError::invalid_cluster_size
                                                               : DeviceError::invalid_configuration;
  }
  const bool clustered = kernel->seen_cluster(config).size() > 1;
  const detail::CompiledKernel* code = kernel->compiled_for(config.block, clustered);
  if (code == nullptr) {
    if (!may_compile) return std::nullopt;
    Result<const detail::CompiledKernel*> compiled = kernel->compile(config.block, clustered);
    if (!compiled) return DeviceError::invalid_device_function;
    code = *compiled;
  }
  machine::GridWork& grid = child.work.emplace<machine::GridWork>();
  const std::uint64_t bytes = kernel->info.parameter_bytes;
  if (launch.provided && *launch.provided < bytes) return DeviceError::invalid_value;
  if (!launch.provided && !child.provide_parameter_buffer(bytes)) return DeviceError::memory_allocation;
  grid.context.grid_id = device_.space->next_grid_id();
  kernel->fill(grid, config, *code);
  const Result<void> fits = device_.space->check(grid);
  if (fits) return DeviceError::success;
  return fits.error().code == ErrorCode::out_of_memory ? DeviceError::memory_allocation
                                                       : DeviceError::invalid_configuration;
}

DeviceError DeviceRuntime::blocks_per_sm(const ChildLaunch& launch, std::uint32_t& blocks) {
  Kernel::Impl* kernel = find_kernel(launch);
  if (kernel == nullptr) return DeviceError::invalid_device_function;
  blocks = kernel->blocks_per_sm(launch.block[0], launch.shared_bytes);
  return DeviceError::success;
}

unsigned DeviceRuntime::ordinal() const { return device_.options.ordinal; }
unsigned DeviceRuntime::device_count() const { return device_.options.device_count; }

std::optional<int> DeviceRuntime::attribute(int which) {
  return device_.options.attribute ? device_.options.attribute(which) : std::nullopt;
}

std::optional<std::uint64_t> DeviceRuntime::limit(int which) {
  constexpr int kStack = 0, kPrint = 1, kHeap = 2;
  if (which == kStack) return device_.stack_bytes.load();
  if (which == kPrint) return device_.space->output().limit();
  if (which == kHeap) return device_.space->heap().limit();
  return std::nullopt;
}

}  // namespace raddle
