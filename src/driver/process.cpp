#include "driver/process.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/count.h"
#include "base/thread_value.h"
#include "driver/forward.h"
#include "driver/graph/memory.h"
#include "driver/results.h"
#include "driver/texture_reference.h"
#include "driver/visible_devices.h"
#include "runtime/hardware.h"

namespace raddle::driver {
namespace {

std::atomic<bool> is_forked_child{false};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

/// What all devices of the process have in common.
DeviceOptions options_from_environment() {
  DeviceOptions options;
  options.server = environment("RADDLE_SERVER", "");
  options.policy = environment("RADDLE_POLICY", "lake");
  options.engine = environment("RADDLE_ENGINE", "");
  options.tlb = environment("RADDLE_TLB", "");
  return options;
}

/// Refuses an environment variable that nobody can follow.
Status refuse(const char* variable, const Error& error) {
  fmt::print(stderr, "raddle: {}: {}\n", variable, error.to_string());
  return CUDA_ERROR_NO_DEVICE;
}

}  // namespace

Process& Process::instance() {
  static Process& process = *new Process;
  return process;
}

namespace {

/// The options that cannot be read without saying whether they are right.
Status read_options(DeviceOptions& options) {
  if (const auto policy = check_policy(options.policy); !policy)
    return refuse("RADDLE_POLICY", policy.error());
  if (const auto engine = check_engine(options.engine); !engine)
    return refuse("RADDLE_ENGINE", engine.error());
  const auto asynchrony = parse_asynchrony(environment("RADDLE_ASYNC", ""));
  if (!asynchrony) return refuse("RADDLE_ASYNC", asynchrony.error());
  const auto matrix_arithmetic = parse_matrix_arithmetic(environment("RADDLE_MMA", ""));
  if (!matrix_arithmetic) return refuse("RADDLE_MMA", matrix_arithmetic.error());
  if (const auto tlb = parse_mmu_spec(options.tlb); !tlb) return refuse("RADDLE_TLB", tlb.error());
  const auto translation = parse_translation(environment("RADDLE_MMU", ""));
  if (!translation) return refuse("RADDLE_MMU", translation.error());
  const auto bounds = parse_bounds(environment("RADDLE_BOUNDS", "hardware"));
  if (!bounds) return refuse("RADDLE_BOUNDS", bounds.error());
  const auto work_kind = parse_count(environment("RADDLE_WORK_KIND", "0"), 0, UINT32_MAX);
  if (!work_kind) return refuse("RADDLE_WORK_KIND", work_kind.error());
  const auto contexts = parse_contexts(environment("RADDLE_CONTEXTS", ""));
  if (!contexts) return refuse("RADDLE_CONTEXTS", contexts.error());
  const auto placement = parse_placement(environment("RADDLE_PLACEMENT", ""));
  if (!placement) return refuse("RADDLE_PLACEMENT", placement.error());
  options.asynchrony = *asynchrony;
  options.matrix_arithmetic = *matrix_arithmetic;
  options.translation = options.server.empty() ? *translation : Translation::windowed;  // the server checks
  options.placement = *placement;
  options.bounds = *bounds;
  options.work_kind = static_cast<std::uint32_t>(*work_kind);
  if (options.server.empty()) options.contexts = *contexts;  // a server has its own
  return CUDA_SUCCESS;
}

/// One of several devices: its contexts have windows of their own where kernels are kept in windows, so that
/// they reach other devices only as peers.
void set_apart(DeviceOptions& options, std::uint64_t memory_bytes) {
  options.memory_bytes = memory_bytes;
  if (options.translation == Translation::windowed) options.window_bytes = std::uint64_t{1} << 40;
  options.reaches_shared = true;
}

/// The computer's devices, and the memory that each can have. A server is a computer with one device.
struct Installed {
  std::vector<InstalledDevice> devices;
  std::uint64_t host_bytes = 0;
};

Answer<Installed> find_installed(const std::string& server) {
  if (!server.empty()) {
    const auto served = served_machine(server);
    if (served) return Installed{{{0, "", served->shape}}, served->memory_bytes};
    (void)refuse("RADDLE_SERVER", served.error());
    return CUDA_ERROR_MPS_CONNECTION_FAILED;
  }
  auto installed = installed_devices(environment("RADDLE_DEVICE", "h200"));
  if (!installed) return refuse("RADDLE_DEVICE", installed.error()).error();
  return Installed{std::move(*installed), bytes_for_devices()};
}

}  // namespace

Status Process::find_devices() {
  DeviceOptions common = options_from_environment();
  TRY_ASSIGN(Installed installed, find_installed(common.server));
  std::vector<InstalledDevice>& devices = installed.devices;
  if (const char* const wanted = std::getenv("CUDA_VISIBLE_DEVICES"))
    devices = visible_devices(std::move(devices), wanted);
  if (devices.empty()) return CUDA_ERROR_NO_DEVICE;
  TRY(read_options(common));
  const std::vector<std::uint64_t> memory = shares_of_memory(devices, installed.host_bytes);
  std::vector<std::unique_ptr<Gpu>> found;
  for (const InstalledDevice& device : devices) {
    DeviceOptions options = common;
    auto distributor = distributor_options(environment("RADDLE_DISTRIBUTOR", ""), device.shape);
    if (!distributor) return refuse("RADDLE_DISTRIBUTOR", distributor.error());
    options.distributor = std::move(*distributor);
    options.shape = device.name;
    options.ordinal = static_cast<unsigned>(found.size());
    options.device_count = static_cast<unsigned>(devices.size());
    if (devices.size() > 1) set_apart(options, memory[found.size()]);
    found.push_back(std::make_unique<Gpu>(static_cast<CUdevice>(found.size()), device.slot, device.shape,
                                          std::move(options), memory[found.size()]));
  }
  std::set<std::string> warnings;
  for (const auto& gpu : found) warnings.insert(gpu->shape.warning());
  for (const std::string& warning : warnings)
    if (!warning.empty()) fmt::print(stderr, "raddle: {}\n", warning);
  gpus_ = std::move(found);
  return CUDA_SUCCESS;
}

Status Process::initialise() {
  if (is_forked_child) return CUDA_ERROR_NOT_INITIALIZED;  // its threads stayed with the parent
  const std::lock_guard lock(mutex_);
  if (initialised_) return CUDA_SUCCESS;
  if (gpu_is_missing()) return CUDA_ERROR_NO_DEVICE;
  TRY(find_devices());
  pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  initialised_.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

void Process::synchronize_all() {
  for (const auto& context : contexts.all()) (void)context->device.synchronize();
}

void Process::keep_while_used(const std::shared_ptr<const void>& object) {
  for (const auto& context : contexts.all()) context->device.after_work([object] {});
}

bool Process::sync_memops(std::uint64_t id) {
  if (!any_syncs_memops_.load(std::memory_order_acquire)) return false;  // every copy asks
  const std::lock_guard lock(mutex_);
  return sync_memops_.contains(id);
}

void Process::set_sync_memops(std::uint64_t id, bool wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted)
    sync_memops_.insert(id);
  else
    sync_memops_.erase(id);
  any_syncs_memops_.store(!sync_memops_.empty(), std::memory_order_release);
}

Result<std::shared_ptr<Context>> Process::create_context(Gpu& gpu, unsigned flags) {
  constexpr unsigned kDeviceContexts = 16;  // a machine has no more: then they have some together
  DeviceOptions options = gpu.options;
  if (options.contexts) options.context = std::to_string(contexts_made_.fetch_add(1) % kDeviceContexts);
  TRY_ASSIGN(raddle::Device device, raddle::Device::open(std::move(options)));
  auto context = std::make_shared<Context>(gpu, std::move(device), flags);
  context->id = next_stream_id();
  contexts.add(context);
  return context;
}

namespace {
/// If nothing has ended for this long, the rest of a destroyed context's work is cancelled: far longer than a
/// host that is busy with other programs keeps a worker from running. So the output of kernels that a program
/// does not wait for before it resets the device is printed.
constexpr std::chrono::seconds kPatience{1};
}  // namespace

void Process::destroy_context(const std::shared_ptr<Context>& context) {
  if (contexts.remove(context->handle) == nullptr) return;  // another thread was faster
  context->destroyed = true;
  end_destroyed_contexts();
  if (context->device.cancel(kPatience)) return end_objects_of(context);
  const std::lock_guard lock(mutex_);
  ending_.push_back(context);
}

void Process::end_destroyed_contexts() {
  std::vector<std::shared_ptr<Context>> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto first = std::partition(ending_.begin(), ending_.end(),
                                      [](const auto& context) { return !context->device.idle(); });
    ended.assign(first, ending_.end());
    ending_.erase(first, ending_.end());
  }
  for (const auto& context : ended) end_objects_of(context);
}

void Process::end_objects_of(const std::shared_ptr<Context>& context) {
  contexts.for_each([&](Context& other) {
    const std::lock_guard lock(other.mutex);
    if (other.peers.erase(context->id) != 0) other.device.dismiss_peer(context->device);
  });
  for (const auto& pool : pools.all()) pool->forget(*context);
  GraphMemory::forget(*context);
  // What it made goes before it: functions hold modules, all hold the context.
  libraries.for_each([&](Library& library) {
    const std::lock_guard lock(library.mutex);
    library.modules.erase(context.get());
  });
  kernels.for_each([&](Kernel& kernel) {
    const std::lock_guard lock(kernel.mutex);
    kernel.functions.erase(context.get());
  });
  const auto is_its = [&](const auto& object) { return object.context == context; };
  functions.remove_if([&](const Function& function) { return function.module->context == context; });
  events.remove_if(is_its);
  texture_references.remove_if(is_its);
  surface_references.remove_if(is_its);
  decltype(context->textures) textures;
  decltype(context
               ->surfaces) surfaces;  // ended without the lock: they may be the last that hold their arrays
  {
    const std::lock_guard lock(context->mutex);
    textures.swap(context->textures);
    surfaces.swap(context->surfaces);
  }
  textures.clear();
  surfaces.clear();
  mipmapped_arrays.remove_if(is_its);
  arrays.remove_if(is_its);
  streams.remove_if([&](const Stream& stream) { return stream.keeps == context; });
  modules.remove_if(is_its);
  for (const auto& held : memory.all())
    if (held->context == context->handle) end_shared(held->base);
}

std::vector<std::shared_ptr<Context>>& context_stack() {
  return thread_value<std::vector<std::shared_ptr<Context>>, struct ContextStack>();
}

bool& null_is_per_thread() {
  thread_local bool per_thread = false;
  return per_thread;
}

namespace {
thread_local bool in_callback = false;
}
InCallback::InCallback() { in_callback = true; }
InCallback::~InCallback() { in_callback = false; }

Status check_driver() {
  if (in_callback) return CUDA_ERROR_NOT_PERMITTED;
  if (is_forked_child || !Process::instance().initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  return CUDA_SUCCESS;
}

Status check_device(CUdevice device) {
  TRY(check_driver());
  const auto count = static_cast<CUdevice>(Process::instance().gpus().size());
  return device >= 0 && device < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

Gpu& current_gpu() {
  const auto& stack = context_stack();
  return stack.empty() || stack.back() == nullptr ? Process::instance().gpu(0) : stack.back()->gpu;
}

Status check_context(Context& context) {
  if (context.destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return sticky_result(context);
}

Answer<std::shared_ptr<Context>> current_context() {
  TRY(check_driver());
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  TRY(check_context(*stack.back()));
  return stack.back();
}

Stream& default_stream(const std::shared_ptr<Context>& here) {
  return null_is_per_thread() ? here->per_thread_stream() : here->legacy_stream();
}

template <>
Answer<std::shared_ptr<Stream>> find<Stream>(CUstream handle, const std::shared_ptr<Context>& here) {
  // Default streams are the context's, which the caller has: no count is needed.
  const auto of_context = [](Stream& stream) {
    return std::shared_ptr<Stream>(std::shared_ptr<Context>(), &stream);
  };
  switch (reinterpret_cast<std::uintptr_t>(handle)) {
    case 0:
      return of_context(default_stream(here));
    case kLegacyStream:
      return of_context(here->legacy_stream());
    case kPerThreadStream:
      return of_context(here->per_thread_stream());
    default:
      break;
  }
  auto stream = Process::instance().streams.find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return stream;
}

}  // namespace raddle::driver
