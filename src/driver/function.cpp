#include "driver/function.h"

#include <algorithm>
#include <limits>

#include "base/notice.h"
#include "driver/code.h"
#include "driver/entry.h"
#include "driver/managed.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {

namespace {

/// Dynamic shared memory of a block that needs no attribute: 48 KiB, less what is static.
int default_shared_limit(const KernelInfo& info) {
  constexpr int kBytes = 48 << 10;
  return std::max(0, kBytes - static_cast<int>(info.static_shared_bytes));
}

}  // namespace

Result<void> Function::load() {
  const std::lock_guard lock(mutex_);
  if (kernel_.has_value()) return {};
  TRY_ASSIGN(kernel_, module->module.kernel(name));
  loaded_.store(true, std::memory_order_release);
  return {};
}

bool Function::must_tell() {
  if (told_.exchange(true)) return false;
  const std::vector<std::string> known = module->program.unusable_kernels();
  return std::find(known.begin(), known.end(), name) == known.end();
}

const std::shared_ptr<FunctionSettings>& Kernel::settings(const Gpu& gpu) const {
  return settings_[static_cast<std::size_t>(gpu.number)];
}

const KernelInfo& Kernel::info(const Gpu& gpu) {
  const auto has_it = [&](const auto& of) { return of.second.has_kernel(name); };
  auto program = programs_->find(gpu.shape.capability);
  if (program == programs_->end() || !has_it(*program)) program = std::ranges::find_if(*programs_, has_it);
  const std::lock_guard lock(mutex);
  auto known = info_.find(program->first);
  if (known == info_.end()) known = info_.emplace(program->first, *program->second.kernel(name)).first;
  return known->second;
}

Status load(Function& function) {
  if (function.is_loaded()) return CUDA_SUCCESS;
  const Result<void> loaded = function.load();
  if (!loaded && loaded.error().code == ErrorCode::unsupported && function.must_tell())
    base::notice("raddle: {}\n", loaded.error().message);
  return loaded;
}

Answer<std::shared_ptr<Function>> function_of(const std::shared_ptr<Module>& module, std::string_view name) {
  Process& process = Process::instance();
  const std::lock_guard lock(module->mutex);
  if (const auto known = module->functions.find(name); known != module->functions.end()) {
    auto function = process.functions.find(known->second);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return function;
  }
  if (!module->program.has_kernel(name)) return CUDA_ERROR_NOT_FOUND;
  auto function = std::make_shared<Function>();
  function->module = module;
  function->name = name;
  module->functions.emplace(name, process.functions.add(function));
  return function;
}

Answer<std::shared_ptr<Module>> module_of(Library& library, const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(library.mutex);
  if (const auto known = library.modules.find(context.get()); known != library.modules.end())
    return known->second;
  JitLog none;
  const auto program = library.programs->find(context->gpu.shape.capability);
  if (program == library.programs->end()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  std::shared_ptr<ManagedVariables> managed = library.managed.lock();
  if (managed == nullptr) {
    TRY_ASSIGN(managed, ManagedVariables::allocate(program->second, context->gpu));
    library.managed = managed;
  }
  TRY_ASSIGN(std::shared_ptr<Module> module, load_program(context, program->second, none, managed->placed));
  managed->placed.has_values = true;
  module->managed = std::move(managed);
  module->is_of_library = true;
  library.modules.emplace(context.get(), module);
  return module;
}

Answer<std::shared_ptr<Function>> function_of(const std::shared_ptr<Kernel>& kernel,
                                              const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(kernel->mutex);
  if (const auto known = kernel->functions.find(context.get()); known != kernel->functions.end())
    return known->second;
  const std::shared_ptr<Library> library = kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  TRY_ASSIGN(const std::shared_ptr<Module> module, module_of(*library, context));
  TRY_ASSIGN(std::shared_ptr<Function> function, function_of(module, kernel->name));
  function->kernel_settings = kernel->settings(context->gpu);
  kernel->functions.emplace(context.get(), function);
  return function;
}

template <>
Answer<std::shared_ptr<Function>> find<Function>(CUfunction handle, const std::shared_ptr<Context>& here) {
  Process& process = Process::instance();
  std::shared_ptr<Function> function;
  if (const auto as_kernel = reinterpret_cast<CUkernel>(handle); process.kernels.is_kind(as_kernel)) {
    TRY_ASSIGN(const std::shared_ptr<Kernel> kernel, find<Kernel>(as_kernel));
    TRY_ASSIGN(function, function_of(kernel, here));
  } else {
    function = process.functions.find(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (function->module->context != here) return CUDA_ERROR_INVALID_CONTEXT;
  }
  TRY(load(*function));
  return function;
}

int setting_of(const Function& function, CUfunction_attribute attribute) {
  const int own = function.settings.get(attribute);
  if (own != FunctionSettings::kNotSet || function.kernel_settings == nullptr) return own;
  return function.kernel_settings->get(attribute);
}

int dynamic_shared_limit(Function& function) {
  const int set = setting_of(function, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return set != FunctionSettings::kNotSet ? set : default_shared_limit(function.kernel().info());
}

Status parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  if (offset == nullptr || index >= info.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info.parameters[index].offset;
  if (bytes != nullptr) *bytes = info.parameters[index].bytes;
  return CUDA_SUCCESS;
}

namespace {

int most_threads(const KernelInfo& info, const Gpu& gpu) {
  const Dim3 most = info.required_block.x != 0 ? info.required_block : info.largest_block;
  return static_cast<int>(most.x != 0 ? most.x * std::max(1u, most.y) * std::max(1u, most.z)
                                      : gpu.shape.sm.threads_per_block);
}

/// Extent of the cluster that a kernel was compiled for; 0: none.
unsigned required_cluster(const KernelInfo& info, CUfunction_attribute attribute) {
  const Dim3 cluster = info.required_cluster;
  if (cluster.x == 0) return 0;
  if (attribute == FUNC_REQUIRED_CLUSTER_WIDTH) return cluster.x;
  return std::max(1u, attribute == FUNC_REQUIRED_CLUSTER_HEIGHT ? cluster.y : cluster.z);
}

/// CUDA_ERROR_INVALID_VALUE
Status check_setting(const KernelInfo& info, const Gpu& gpu, CUfunction_attribute attribute, int value) {
  const auto within = [value](std::int64_t least, std::int64_t most) {
    return value >= least && value <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  switch (attribute) {
    case FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return within(-1, 100);
    case FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return within(0, static_cast<std::int64_t>(gpu.shape.sm.shared_per_block) -
                           static_cast<std::int64_t>(info.static_shared_bytes));
    case FUNC_REQUIRED_CLUSTER_WIDTH:
    case FUNC_REQUIRED_CLUSTER_HEIGHT:
    case FUNC_REQUIRED_CLUSTER_DEPTH:
      if (info.required_cluster.x != 0) return CUDA_ERROR_INVALID_VALUE;
      return within(0, std::numeric_limits<int>::max());  // the rest is checked when it is launched
    case FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return within(0, std::numeric_limits<int>::max());  // anything but 0 allows it
    case FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return within(CLUSTER_SCHEDULING_POLICY_DEFAULT, CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

Status function_attribute(const KernelInfo& info, const Gpu& gpu, CUfunction_attribute attribute, int set,
                          int* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool is_set = set != FunctionSettings::kNotSet;
  switch (attribute) {
    case FUNC_MAX_THREADS_PER_BLOCK:
      *value = most_threads(info, gpu);
      return CUDA_SUCCESS;
    case FUNC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(info.static_shared_bytes);
      return CUDA_SUCCESS;
    case FUNC_CONST_SIZE_BYTES:
      *value = static_cast<int>(info.constant_bytes);
      return CUDA_SUCCESS;
    case FUNC_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(info.local_bytes_per_thread);
      return CUDA_SUCCESS;
    case FUNC_NUM_REGS:
      *value = static_cast<int>(std::min(info.registers, 255u));  // the most that an SM gives a thread
      return CUDA_SUCCESS;
    case FUNC_PTX_VERSION:  // an architecture too, whatever its name says: 75 of `.target sm_75`
      *value = static_cast<int>(info.ptx_capability);
      return CUDA_SUCCESS;
    case FUNC_BINARY_VERSION:  // what runs is compiled here, for this device
      *value = static_cast<int>(gpu.shape.capability);
      return CUDA_SUCCESS;
    case FUNC_CACHE_MODE_CA:
      *value = 0;
      return CUDA_SUCCESS;
    case FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = is_set ? set : default_shared_limit(info);
      return CUDA_SUCCESS;
    case FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = is_set ? set : -1;
      return CUDA_SUCCESS;
    case FUNC_CLUSTER_SIZE_MUST_BE_SET:
      *value = info.needs_cluster;
      return CUDA_SUCCESS;
    case FUNC_REQUIRED_CLUSTER_WIDTH:
    case FUNC_REQUIRED_CLUSTER_HEIGHT:
    case FUNC_REQUIRED_CLUSTER_DEPTH:
      *value = is_set ? set : static_cast<int>(required_cluster(info, attribute));
      return CUDA_SUCCESS;
    case FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = is_set ? set : 0;
      return CUDA_SUCCESS;
    case FUNC_ATTRIBUTE_COUNT:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Status set_function_attribute(const KernelInfo& info, const Gpu& gpu, FunctionSettings& settings,
                              CUfunction_attribute attribute, int value) {
  TRY(check_setting(info, gpu, attribute, value));
  settings.set(attribute, value);
  return CUDA_SUCCESS;
}

Status check_cache_config(int config) {
  return config >= 0 && config <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

namespace entry {

Status cuFuncGetAttribute(Here context, int* value, CUfunction_attribute attribute, In<Function> function) {
  return function_attribute(function->kernel().info(), context->gpu, attribute,
                            setting_of(*function, attribute), value);
}

Status cuFuncSetAttribute(Here context, In<Function> function, CUfunction_attribute attribute, int value) {
  return set_function_attribute(function->kernel().info(), context->gpu, function->settings, attribute,
                                value);
}

Status cuFuncSetCacheConfig(Here, In<Function>, int config) { return check_cache_config(config); }

Status cuFuncGetModule(Here, CUmodule* module, In<Function> function) {
  *module = function->module->handle;
  return CUDA_SUCCESS;
}

Status cuFuncGetName(Here, const char** name, In<Function> function) {
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

Status cuFuncGetParamInfo(Here, In<Function> function, std::size_t index, std::size_t* offset,
                          std::size_t* bytes) {
  return parameter_info(function->kernel().info(), index, offset, bytes);
}

// Takes the handle as it is: to resolve it would load the function.
Status cuFuncIsLoaded(Here, CUfunctionLoadingState* state, CUfunction handle) {
  const std::shared_ptr<Function> function = Process::instance().functions.find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *state = function->is_loaded() ? FUNCTION_LOADING_STATE_LOADED : FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

Status cuFuncLoad(Here, In<Function>) { return CUDA_SUCCESS; }  // loaded since its handle was resolved

}  // namespace entry
}  // namespace raddle::driver
