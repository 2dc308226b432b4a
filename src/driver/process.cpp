#include "driver/process.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/thread_value.h"
#include "driver/entry.h"
#include "driver/forward.h"
#include "driver/results.h"
#include "runtime/hardware.h"

namespace raddle::driver {
namespace {

std::atomic<bool> is_forked_child{false};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

DeviceOptions options_from_environment() {
  DeviceOptions options;
  options.shape = environment("RADDLE_DEVICE", "h200");
  options.policy = environment("RADDLE_POLICY", "lake");
  options.engine = environment("RADDLE_ENGINE", "");
  options.attribute = [](int which) -> std::optional<int> {
    int value = 0;
    return entry::cuDeviceGetAttribute(&value, which, 0).ok() ? std::optional(value) : std::nullopt;
  };
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

Status Process::initialise() {
  if (is_forked_child) return CUDA_ERROR_NOT_INITIALIZED;  // its threads stayed with the parent
  const std::lock_guard lock(mutex_);
  if (initialised_) return CUDA_SUCCESS;
  if (gpu_is_missing()) return CUDA_ERROR_NO_DEVICE;
  const DeviceOptions options = options_from_environment();
  auto shape = find_shape(options.shape);
  if (!shape) return refuse("RADDLE_DEVICE", shape.error());
  if (const auto policy = check_policy(options.policy); !policy)
    return refuse("RADDLE_POLICY", policy.error());
  if (const auto engine = check_engine(options.engine); !engine)
    return refuse("RADDLE_ENGINE", engine.error());
  const auto asynchrony = parse_asynchrony(environment("RADDLE_ASYNC", ""));
  if (!asynchrony) return refuse("RADDLE_ASYNC", asynchrony.error());
  const auto matrix_arithmetic = parse_matrix_arithmetic(environment("RADDLE_MMA", ""));
  if (!matrix_arithmetic) return refuse("RADDLE_MMA", matrix_arithmetic.error());
  const auto translation = parse_translation(environment("RADDLE_MMU", ""));
  if (!translation) return refuse("RADDLE_MMU", translation.error());
  auto distributor = distributor_options(environment("RADDLE_DISTRIBUTOR", ""), *shape);
  if (!distributor) return refuse("RADDLE_DISTRIBUTOR", distributor.error());
  shape_ = std::move(*shape);
  distributor_ = std::move(*distributor);
  asynchrony_ = *asynchrony;
  matrix_arithmetic_ = *matrix_arithmetic;
  translation_ = *translation;
  if (const std::string warning = shape_.warning(); !warning.empty())
    fmt::print(stderr, "raddle: {}\n", warning);
  pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  initialised_.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

Result<std::uint64_t> Process::memory_bytes() {
  std::vector<std::shared_ptr<Context>>& stack = context_stack();
  if (!stack.empty()) return stack.back()->device.properties().memory_bytes;
  TRY_ASSIGN(const auto context, retain_primary());
  const std::uint64_t bytes = context->device.properties().memory_bytes;
  (void)release_primary();
  return bytes;
}

std::uint64_t Process::memory_available(const Context& context) {
  const std::uint64_t total = context.device.properties().memory_bytes;
  return total - std::min(total, memory_used());
}

Result<std::uint64_t> Process::memory_available() {
  TRY_ASSIGN(const std::uint64_t total, memory_bytes());
  return total - std::min(total, memory_used());
}

std::uint64_t Process::memory_used() {
  std::uint64_t used = shared_.used() + physical_bytes;
  for (const auto& each : contexts.all()) used += each->device.memory_used();
  return used;
}

Result<DevicePtr> Process::allocate_shared(const Context& context, std::uint64_t bytes) {
  const std::uint64_t available = memory_available(context);
  if (bytes > available)
    return Error::make(ErrorCode::out_of_memory, "{} bytes wanted, {} left", bytes, available);
  return shared_.allocate(bytes);
}

void Process::synchronize_all() {
  for (const auto& context : contexts.all()) (void)context->device.synchronize();
}

void Process::keep_while_used(const std::shared_ptr<const void>& object) {
  for (const auto& context : contexts.all()) context->device.after_work([object] {});
}

std::shared_ptr<Pool> Process::default_pool() {
  const std::lock_guard lock(mutex_);
  if (default_pool_ == nullptr) {
    const CUmemPoolProps props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 0}};
    default_pool_ = std::make_shared<Pool>(props, Pool::of_device);
    pools.add(default_pool_);
  }
  return default_pool_;
}

bool Process::sync_memops(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  return sync_memops_.contains(id);
}

void Process::set_sync_memops(std::uint64_t id, bool wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted)
    sync_memops_.insert(id);
  else
    sync_memops_.erase(id);
}

Result<std::shared_ptr<Context>> Process::create_context(unsigned flags) {
  DeviceOptions options = options_from_environment();
  options.distributor = distributor_;
  options.asynchrony = asynchrony_;
  options.matrix_arithmetic = matrix_arithmetic_;
  options.translation = translation_;
  TRY_ASSIGN(raddle::Device device, raddle::Device::open(std::move(options)));
  auto context = std::make_shared<Context>(std::move(device), flags);
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
  for (const auto& pool : pools.all()) pool->forget(*context);
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

Result<std::shared_ptr<Context>> Process::retain_primary() {
  const std::lock_guard lock(mutex_);
  if (primary_ == nullptr) {
    TRY_ASSIGN(primary_, create_context(primary_flags));
  }
  ++primary_uses_;
  return primary_;
}

Status Process::release_primary() {
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(mutex_);
    if (primary_uses_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_uses_ == 0) ended.swap(primary_);
  }
  if (ended != nullptr) destroy_context(ended);
  return CUDA_SUCCESS;
}

void Process::reset_primary() {
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(primary_);
    primary_uses_ = 0;
  }
  if (ended != nullptr) destroy_context(ended);
}

bool Process::primary_active() {
  const std::lock_guard lock(mutex_);
  return primary_ != nullptr;
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
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

Answer<std::shared_ptr<Context>> current_context() {
  TRY(check_driver());
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.back()->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  TRY(sticky_result(*stack.back()));
  return stack.back();
}

Stream& default_stream(const std::shared_ptr<Context>& here) {
  return null_is_per_thread() ? here->per_thread_stream() : here->legacy_stream();
}

template <>
Answer<std::shared_ptr<Stream>> find<Stream>(CUstream handle, const std::shared_ptr<Context>& here) {
  // Default streams are the context's: an alias keeps the context alive.
  switch (reinterpret_cast<std::uintptr_t>(handle)) {
    case 0:
      return std::shared_ptr<Stream>(here, &default_stream(here));
    case kLegacyStream:
      return std::shared_ptr<Stream>(here, &here->legacy_stream());
    case kPerThreadStream:
      return std::shared_ptr<Stream>(here, &here->per_thread_stream());
    default:
      break;
  }
  auto stream = Process::instance().streams.find(handle);
  if (stream == nullptr || stream->context != here.get()) return CUDA_ERROR_INVALID_HANDLE;
  return stream;
}

}  // namespace raddle::driver
