#include "cudart/code.h"

#include <cstdlib>
#include <shared_mutex>
#include <unordered_map>

#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

/// All that is registered. Constructors fill it before main() and in libraries that are loaded later,
/// destructors empty it.
struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const void*, Kernel*> kernels;
  std::unordered_map<const void*, Variable*> variables;
  std::vector<std::unique_ptr<FatBinary>> binaries;
};

Registry& registry() {
  static Registry& all = *new Registry;  // kept: programs unregister after static destructors
  return all;
}

bool process_ends = false;

/// Functions that are registered last run first: before those of the program, which unregister its binaries.
void watch_for_the_end() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { process_ends = true; }); });
}

/// Under the binary's lock.
cudaError_t load_library(FatBinary& binary) {
  if (binary.library != nullptr) return cudaSuccess;
  watch_for_the_end();
  return driver().cuLibraryLoadData(&binary.library, binary.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

/// Managed variables have one address, that of the first context which loads them. Under the binary's lock.
cudaError_t place_managed(FatBinary& binary) {
  if (binary.managed_placed) return cudaSuccess;
  for (const auto& variable : binary.variables) {
    if (variable->managed == nullptr) continue;
    unsigned long long placed = 0;
    CHECK(driver().cuLibraryGetManaged(&placed, nullptr, binary.library, variable->name.c_str()));
    *variable->managed = reinterpret_cast<void*>(placed);
  }
  binary.managed_placed = true;
  return cudaSuccess;
}

/// Under the binary's lock.
cudaError_t handle_in_library(Kernel& kernel, cudaKernel_t& handle) {
  CHECK(load_library(*kernel.binary));
  const cudaError_t error = driver().cuLibraryGetKernel(&handle, kernel.binary->library, kernel.name.c_str());
  return error == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : error;
}

cudaError_t resolve(Kernel& kernel, CUcontext context, cudaFunction_t& function) {
  const std::lock_guard lock(kernel.binary->mutex);
  for (const Kernel::Function* known = kernel.functions.get(); known != nullptr; known = known->older.get())
    if (known->context == context) {
      function = known->function;
      return cudaSuccess;
    }
  cudaKernel_t handle = nullptr;
  CHECK(handle_in_library(kernel, handle));
  CHECK(place_managed(*kernel.binary));
  CHECK(driver().cuKernelGetFunction(&function, handle));
  kernel.functions.reset(new Kernel::Function{context, function, std::move(kernel.functions)});
  kernel.newest.store(kernel.functions.get(), std::memory_order_release);
  return cudaSuccess;
}

Variable* find_variable(const void* symbol) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  if (const auto found = all.variables.find(symbol); found != all.variables.end()) return found->second;
  for (const auto& [stand_in, variable] : all.variables)
    if (variable->managed != nullptr && *variable->managed == symbol) return variable;
  return nullptr;
}

}  // namespace

const void* stand_in_of(cudaFunction_t function) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  for (const auto& [stand_in, kernel] : all.kernels)
    for (const Kernel::Function* known = kernel->newest.load(std::memory_order_acquire); known != nullptr;
         known = known->older.get())
      if (known->function == function) return stand_in;
  return function;
}

FatBinary* register_binary(const void* image) {
  auto binary = std::make_unique<FatBinary>();
  binary->image = image;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.binaries.push_back(std::move(binary));
  return all.binaries.back().get();
}

void register_kernel(FatBinary& binary, const void* stand_in, const char* name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  binary.kernels.push_back(std::make_unique<Kernel>());
  Kernel& kernel = *binary.kernels.back();
  kernel.binary = &binary;
  kernel.name = name;
  all.kernels[stand_in] = &kernel;
}

void register_variable(FatBinary& binary, const void* stand_in, const char* name, std::size_t bytes,
                       void** managed) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  binary.variables.push_back(std::make_unique<Variable>(Variable{&binary, name, bytes, managed}));
  all.variables[stand_in] = binary.variables.back().get();
}

void unregister_binary(FatBinary& binary) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.kernels, [&](const auto& entry) { return entry.second->binary == &binary; });
  std::erase_if(all.variables, [&](const auto& entry) { return entry.second->binary == &binary; });
  if (binary.library != nullptr && !process_ends) (void)driver().cuLibraryUnload(binary.library);
  std::erase_if(all.binaries, [&](const auto& each) { return each.get() == &binary; });
}

void forget_contexts() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& binary : all.binaries) {
    const std::lock_guard binary_lock(binary->mutex);
    binary->managed_placed = false;
    for (const auto& kernel : binary->kernels) {
      kernel->newest.store(nullptr, std::memory_order_release);
      kernel->functions.reset();
    }
  }
}

Kernel* find_kernel(const void* stand_in) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.kernels.find(stand_in);
  return found == all.kernels.end() ? nullptr : found->second;
}

cudaError_t function_of(Kernel& kernel, cudaFunction_t& function) {
  CUcontext context = nullptr;
  CHECK(prepare(context));
  const Kernel::Function* newest = kernel.newest.load(std::memory_order_acquire);
  if (newest == nullptr || newest->context != context) return resolve(kernel, context, function);
  function = newest->function;
  return cudaSuccess;
}

cudaError_t function_of(const void* named, cudaFunction_t& function) {
  if (named == nullptr) return cudaErrorInvalidDeviceFunction;
  if (Kernel* kernel = find_kernel(named)) return function_of(*kernel, function);
  CHECK(prepare());
  // Not a stand-in: the driver knows whether it is a kernel or function of its own.
  const auto kernel = static_cast<cudaKernel_t>(const_cast<void*>(named));
  if (driver().cuKernelGetFunction(&function, kernel) == cudaSuccess) return cudaSuccess;
  const char* name = nullptr;
  function = static_cast<cudaFunction_t>(const_cast<void*>(named));
  return driver().cuFuncGetName(&name, function) == cudaSuccess ? cudaSuccess
                                                                : cudaErrorInvalidDeviceFunction;
}

cudaError_t kernel_handle(Kernel& kernel, cudaKernel_t& handle) {
  CHECK(load_driver());
  const std::lock_guard lock(kernel.binary->mutex);
  return handle_in_library(kernel, handle);
}

cudaError_t variable_at(const void* symbol, void*& where, std::size_t& bytes) {
  CHECK(prepare());
  Variable* variable = find_variable(symbol);
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  bytes = variable->bytes;
  const std::lock_guard lock(variable->binary->mutex);
  CHECK(load_library(*variable->binary));
  CHECK(place_managed(*variable->binary));
  if (variable->managed != nullptr) {
    where = *variable->managed;
    return cudaSuccess;
  }
  const cudaError_t error = driver().cuLibraryGetGlobal(address(&where), nullptr, variable->binary->library,
                                                        variable->name.c_str());
  return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}

cudaError_t part_of(const void* symbol, std::size_t offset, std::size_t bytes, char*& part) {
  void* begin = nullptr;
  std::size_t size = 0;
  CHECK(variable_at(symbol, begin, size));
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  part = static_cast<char*>(begin) + offset;
  return cudaSuccess;
}

cudaError_t load_binary(FatBinary& binary) {
  CHECK(prepare());
  const std::lock_guard lock(binary.mutex);
  CHECK(load_library(binary));
  return place_managed(binary);
}

}  // namespace raddle::cudart
