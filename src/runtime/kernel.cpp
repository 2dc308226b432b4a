// Kernels: compilation per class of block shapes, launch checks, the launch itself.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/round_up.h"
#include "machine/shape/host.h"
#include "runtime/device_impl.h"

namespace raddle {
namespace {

/// Threads' local memory starts as aligned as PTX may ask (128), but small frames stay dense.
std::uint64_t local_stride(std::uint32_t bytes) {
  if (bytes == 0) return 0;
  return round_up(bytes, std::min<std::uint64_t>(std::bit_ceil(std::max(bytes, 16u)), 128));
}

std::uint64_t threads_of(Dim3 block) { return std::uint64_t{block.x} * block.y * block.z; }

std::string text_of(Dim3 d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); }

/// What code has to be compiled for, to run blocks of a shape now, alone or in clusters.
struct WantedCode {
  std::uint64_t shape_class;
  std::uint32_t stack_bytes;
  bool clustered;
  bool windowed;

  WantedCode(const Device::Impl& device, Dim3 block, bool in_clusters)
      : shape_class(device.shape_class(block)),
        stack_bytes(device.stack_bytes.load(std::memory_order_relaxed)),
        clustered(in_clusters),
        windowed(device.options.translation == Translation::windowed || device.space->counts_by_windows()) {}
  bool is(const detail::CompiledKernel& known) const {
    return known.shape_class == shape_class && known.stack_bytes == stack_bytes &&
           known.clustered == clustered && known.windowed == windowed;
  }
};

}  // namespace

const ptx::Function& Kernel::Impl::function() const { return module->program.functions[id]; }

Result<const detail::CompiledKernel*> Kernel::Impl::compile(Dim3 block, bool clustered) {
  const exec::BlockShape shape{block.x, block.y, block.z};
  const WantedCode wanted(*module->device, block, clustered);
  if (const auto* last = last_used.load(std::memory_order_acquire); last != nullptr && wanted.is(*last))
    return last;
  std::lock_guard lock(mutex);
  for (const auto& known : compiled) {
    if (!wanted.is(*known)) continue;
    last_used.store(known.get(), std::memory_order_release);
    return known.get();
  }
  auto result = std::make_unique<detail::CompiledKernel>();
  TRY_ASSIGN(auto made, module->device->compile(
                            *module, id,
                            {.block = shape,
                             .late_copies = module->device->has_late_copies(),
                             .windowed = wanted.windowed,
                             .modelled = module->device->options.translation == Translation::modelled,
                             .matrix_arithmetic = module->device->options.matrix_arithmetic,
                             .stack_bytes = wanted.stack_bytes,
                             .clustered = clustered}));
  result->code = std::move(made.code);
  result->shape_class = wanted.shape_class;
  result->stack_bytes = wanted.stack_bytes;
  result->clustered = clustered;
  result->windowed = wanted.windowed;
  result->local_stride = local_stride(result->code->local_bytes);
  const exec::CodeStatistics& statistics = result->code->statistics;
  result->report = {std::string(made.by),
                    std::string(exec::block_kind_name(result->code->kind)),
                    statistics.memory_operations,
                    statistics.not_vectorised,
                    statistics.dispatched_loops,
                    statistics.warps_together,
                    statistics.one_by_one,
                    statistics.compile_seconds,
                    statistics.from_cache,
                    statistics.is_quick,
                    0};
  compiled.push_back(std::move(result));
  last_used.store(compiled.back().get(), std::memory_order_release);
  return compiled.back().get();
}

const detail::CompiledKernel* Kernel::Impl::compiled_for(Dim3 block, bool clustered) {
  const WantedCode wanted(*module->device, block, clustered);
  if (const auto* last = last_used.load(std::memory_order_acquire); last != nullptr && wanted.is(*last))
    return last;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return nullptr;
  for (const auto& known : compiled)
    if (wanted.is(*known)) return known.get();
  return nullptr;
}

// The limits of the CUDA programming guide's table, and what the kernel itself declares.
Result<void> Kernel::Impl::check(const LaunchConfig& config) const {
  const Dim3 grid = config.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return Error::invalid("{}: the grid {} is empty", info.name, text_of(grid));
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return Error::invalid("{}: the grid {} exceeds 2147483647 x 65535 x 65535", info.name, text_of(grid));
  }
  TRY(check_part(config));
  TRY(check_block(config));
  return check_clusters(config);
}

Result<void> Kernel::Impl::check_part(const LaunchConfig& config) const {
  if (!config.part) return {};
  const GridPart& part = *config.part;
  const auto is_within = [](std::uint32_t first, std::uint32_t extent, std::uint32_t grid) {
    return extent != 0 && first <= grid && extent <= grid - first;
  };
  if (!is_within(part.first.x, part.extent.x, config.grid.x) ||
      !is_within(part.first.y, part.extent.y, config.grid.y) ||
      !is_within(part.first.z, part.extent.z, config.grid.z))
    return Error::invalid("{}: the part of {} blocks from block {} on is not within the grid {}", info.name,
                          text_of(part.extent), text_of(part.first), text_of(config.grid));
  if (config.cooperative)
    return Error::invalid("{}: the blocks of a cooperative launch are all of the grid, not a part",
                          info.name);
  return {};
}

Result<void> Kernel::Impl::check_block(const LaunchConfig& config) const {
  const Dim3 block = config.block;
  const machine::SmLimits& sm = module->device->machine().shape().sm;
  const std::uint64_t threads = threads_of(block);
  if (threads == 0) return Error::invalid("{}: the block {} is empty", info.name, text_of(block));
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > sm.threads_per_block) {
    return Error::invalid("{}: the block {} exceeds 1024 x 1024 x 64 or {} threads", info.name,
                          text_of(block), sm.threads_per_block);
  }
  const Dim3 required = info.required_block;
  if (required.x != 0 &&
      (block.x != required.x || block.y != std::max(required.y, 1u) || block.z != std::max(required.z, 1u))) {
    return Error::invalid("{}: the kernel was compiled for blocks of {} (.reqntid), not {}", info.name,
                          text_of(required), text_of(block));
  }
  const Dim3 largest = info.largest_block;
  if (largest.x != 0 &&
      threads > std::uint64_t{largest.x} * std::max(largest.y, 1u) * std::max(largest.z, 1u)) {
    return Error::invalid("{}: {} threads per block exceed the kernel's .maxntid {}", info.name, threads,
                          text_of(largest));
  }
  if (info.static_shared_bytes > sm.shared_per_block ||
      config.shared_bytes > sm.shared_per_block - info.static_shared_bytes) {
    return Error::invalid("{}: {} bytes of static and {} of dynamic shared memory exceed the {} of a block",
                          info.name, info.static_shared_bytes, config.shared_bytes, sm.shared_per_block);
  }
  const std::uint64_t most_local = module->device->machine().shape().local_bytes_per_thread;
  if (info.local_bytes_per_thread > most_local) {
    return Error::make(ErrorCode::out_of_memory, "{}: {} bytes of local memory per thread exceed {}",
                       info.name, info.local_bytes_per_thread, most_local);
  }
  if (info.parameter_bytes > module->device->machine().shape().parameter_bytes) {
    return Error::invalid("{}: {} bytes of parameters exceed {}", info.name, info.parameter_bytes,
                          module->device->machine().shape().parameter_bytes);
  }
  return {};
}

Result<void> Kernel::Impl::pack(std::span<const Argument> arguments, std::span<std::byte> block) const {
  const auto& parameters = function().parameters;
  if (arguments.size() != parameters.size()) {
    return Error::invalid("{}: {} arguments given, the kernel has {} parameters", info.name, arguments.size(),
                          parameters.size());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ptx::Variable& parameter = module->program.variables[parameters[i]];
    if (arguments[i].bytes() != parameter.size) {
      return Error::invalid("{}: argument {} has {} bytes, parameter {} (.{}) has {}", info.name, i + 1,
                            arguments[i].bytes(), parameter.name, isa::type_name(parameter.type),
                            parameter.size);
    }
    if (parameter.offset + parameter.size > block.size())
      return Error::invalid("{}: parameter {} lies outside the parameter block", info.name, parameter.name);
    if (parameter.size != 0)
      std::memcpy(block.data() + parameter.offset, arguments[i].data(), parameter.size);
  }
  return {};
}

void Kernel::Impl::fill_occupancy(machine::GridWork& grid, std::uint32_t threads,
                                  std::uint64_t dynamic_shared) const {
  raddle::fill_occupancy(grid, info, threads, dynamic_shared);
}

void Kernel::Impl::fill(machine::GridWork& grid, const LaunchConfig& config,
                        const detail::CompiledKernel& code) const {
  Device::Impl& device = *module->device;
  grid.executable = code.code.get();
  grid.name = &info.name;
  fill_occupancy(grid, static_cast<std::uint32_t>(threads_of(config.block)), config.shared_bytes);
  grid.blocks = threads_of(config.launched());
  if (config.part) {
    const Dim3 first = config.part->first, extent = config.part->extent;
    grid.first[0] = first.x, grid.first[1] = first.y, grid.first[2] = first.z;
    grid.part[0] = extent.x, grid.part[1] = extent.y, grid.part[2] = extent.z;
  }
  grid.local_stride = code.local_stride;
  grid.cooperative = config.cooperative;
  if (has_clusters(config)) grid.kind = kind_of(config);
  const ClusterLevel seen = seen_cluster(config);
  grid.cap_per_sm = config.cap_per_sm;
  grid.placement = config.placement;
  grid.work_kind = config.work_kind.value_or(device.options.work_kind);
  grid.cluster_memory = config.cluster_memory;
  // Dependents that wait for this grid might take the room that its children lack.
  grid.triggers_at_start = config.triggers_at_start && !info.calls_device_runtime;
  grid.counts_triggers = grid.triggers_at_start || (info.lets_dependents_begin && !info.calls_device_runtime);
  grid.counts_begins = config.tells_begin;
  grid.clears_reserved = shared.uses_reserved;
  grid.time_limit_ns =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(device.options.time_limit).count());
  grid.source_of = &source_of_line;
  grid.owner = module;
  const auto dynamic = static_cast<std::uint32_t>(config.shared_bytes);
  const std::uint32_t fixed_end = exec::kReservedShared + shared.static_bytes;
  const auto dynamic_offset = shared.has_dynamic
                                  ? shared.dynamic_offset
                                  : static_cast<std::uint32_t>(round_up(fixed_end, ptx::kDynamicSharedAlign));
  const bool any_shared = shared.static_bytes != 0 || shared.has_dynamic || shared.uses_reserved;
  grid.shared_bytes = dynamic != 0 ? std::uint64_t{dynamic_offset} + dynamic : any_shared ? fixed_end : 0;
  const std::byte* const parameters = grid.context.parameters;
  const std::uint64_t grid_id = grid.context.grid_id;
  grid.variables = module->bound();
  grid.context = {
      .nctaid = {config.grid.x, config.grid.y, config.grid.z},
      .dynamic_shared = dynamic,
      .static_shared = shared.static_bytes,
      .dynamic_shared_offset = dynamic_offset,
      .nsmid = device.machine().shape().sm_count(),
      .grid_id = grid_id,
      .parameters = parameters,
      .variables = grid.variables != nullptr ? grid.variables->data() : module->addresses.data(),
      .cluster_shape = {seen.extent[0], seen.extent[1], seen.extent[2]},
      .grid_workspace = 0,
      .explicit_cluster = asks_for_clusters(config),
      .largest_shared =
          static_cast<std::uint32_t>(exec::kReservedShared + device.machine().shape().sm.shared_per_block),
      .past_caches = static_cast<std::uint32_t>(
          machine::largest_cache() / (threads_of(config.launched()) * threads_of(config.block)) + 1)};
  grid.context.set_ntid(config.block.x, config.block.y, config.block.z);
}

Result<machine::Task*> Kernel::Impl::make_task(const LaunchConfig& config, std::span<const std::byte> block,
                                               const detail::CompiledKernel& code) {
  Device::Impl& device = *module->device;
  // First: an atomic addition waits for all stores before it, and those to the task for its lines.
  const std::uint64_t grid_id = device.space->next_grid_id();
  machine::Task* const task = device.tasks().acquire();
  machine::GridWork& grid = task->work.emplace<machine::GridWork>();
  grid.context.grid_id = grid_id;
  const bool has_memory = task->set_parameters(block);
  fill(grid, config, code);
  if (!has_memory || (config.cooperative && !task->set_grid_workspace())) {
    device.tasks().release(task);
    return Error::make(ErrorCode::out_of_memory, "the host has no memory for the parameters of a launch");
  }
  if (auto fits = device.space->check(grid); !fits) {
    device.tasks().release(task);
    return std::move(fits.error());
  }
  return task;
}

const KernelInfo& Kernel::info() const { return impl_->info; }

Result<LaunchReport> Kernel::compile(Dim3 block) {
  if (impl_->info.blocks_are_clusters) block = impl_->in_blocks({}).block;
  TRY(impl_->check_block({.grid = {}, .block = block}));
  const ClusterLevel cluster = impl_->seen_cluster({.block = block});
  TRY_ASSIGN(const auto* code, impl_->compile(block, cluster.size() > 1));
  return code->report;
}

Result<machine::Task*> Kernel::Impl::make_task(const LaunchConfig& given, std::span<const Argument> arguments,
                                               const detail::CompiledKernel*& code) {
  TRY(module->device->status());
  std::optional<LaunchConfig> counted;
  const LaunchConfig& config = info.blocks_are_clusters ? counted.emplace(in_blocks(given)) : given;
  TRY(check(config));
  alignas(16) std::byte parameters[32768];
  const std::span<std::byte> block(parameters, info.parameter_bytes);  // check() bounds it
  std::memset(block.data(), 0, block.size());
  TRY(pack(arguments, block));
  TRY_ASSIGN(code, compile(config.block, seen_cluster(config).size() > 1));
  return make_task(config, block, *code);
}

Result<Launch> Kernel::launch(const LaunchConfig& config, std::span<const Argument> arguments) {
  Device::Impl& device = *impl_->module->device;
  const detail::CompiledKernel* code = nullptr;
  TRY_ASSIGN(machine::Task* const task, impl_->make_task(config, arguments, code));
  Stream& stream = config.stream != nullptr ? *config.stream : *device.default_stream;
  stream.impl_->submit(*task, {.priority = config.priority, .begins_early = config.begins_early});
  return Launch(&device, task, code);
}

Result<void> Kernel::start(const LaunchConfig& config, std::span<const Argument> arguments) {
  const detail::CompiledKernel* code = nullptr;
  TRY_ASSIGN(machine::Task* const task, impl_->make_task(config, arguments, code));
  Stream& stream = config.stream != nullptr ? *config.stream : *impl_->module->device->default_stream;
  stream.impl_->submit(*task,
                       {.priority = config.priority, .begins_early = config.begins_early, .is_given = true});
  return {};
}

}  // namespace raddle
