// Libraries and their kernels: code without a context, which becomes a module and functions in each context
// that uses it.
#include <algorithm>

#include "driver/code.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

CUresult find_library(CUlibrary handle, std::shared_ptr<Library>& library) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  library = Process::instance().libraries.find(handle);
  return library != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_kernel(CUkernel handle, std::shared_ptr<Kernel>& kernel) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  kernel = Process::instance().kernels.find(handle);
  return kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult find_kernel_on(CUkernel handle, CUdevice device, std::shared_ptr<Kernel>& kernel) {
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  return find_kernel(handle, kernel);
}

/// The library's module in the current context.
CUresult find_module_here(CUlibrary handle, std::shared_ptr<Module>& module) {
  std::shared_ptr<Library> library;
  std::shared_ptr<Context> context;
  if (const CUresult result = find_library(handle, library); result != CUDA_SUCCESS) return result;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return module_of(*library, context, module);
}

CUresult find_variable_here(CUlibrary handle, const char* name, raddle::Module::Variable& variable) {
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module_here(handle, module); result != CUDA_SUCCESS) return result;
  const auto found = module->module.variable(name);
  if (!found) return result_of(found.error());
  variable = *found;
  return CUDA_SUCCESS;
}

void give(const raddle::Module::Variable& variable, CUdeviceptr* address, std::size_t* bytes) {
  if (address != nullptr) *address = variable.address.value;
  if (bytes != nullptr) *bytes = variable.bytes;
}

CUlibrary add_library(Program&& program) {
  Process& process = Process::instance();
  auto library = std::shared_ptr<Library>(new Library{std::move(program)});
  for (const std::string& name : library->program.kernels()) {
    const auto kernel = process.kernels.add<CUkernel>(std::make_shared<Kernel>(library, name));
    library->kernels.push_back(kernel);
    library->by_name.emplace(name, kernel);
  }
  library->handle = process.libraries.add<CUlibrary>(library);
  return library->handle;
}

}  // namespace

// A library's own options promise that the image stays; nothing of it is needed once it is read.
CUresult cuLibraryLoadData(CUlibrary* handle, const void* code, int* jit_options, void** jit_values,
                           unsigned jit_count, int* options, void**, unsigned count) {
  if (handle == nullptr || code == nullptr || (count != 0 && options == nullptr) ||
      !JitLog::has_options(jit_count, jit_options, jit_values))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  JitLog log(jit_count, jit_options, jit_values);
  std::optional<Program> program;
  if (const CUresult result = read_program(code, log, program); result != CUDA_SUCCESS) return result;
  *handle = add_library(std::move(*program));
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary* handle, const char* path, int* jit_options, void** jit_values,
                               unsigned jit_count, int* options, void**, unsigned count) {
  if (handle == nullptr || path == nullptr || (count != 0 && options == nullptr) ||
      !JitLog::has_options(jit_count, jit_options, jit_values))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  JitLog log(jit_count, jit_options, jit_values);
  std::optional<Program> program;
  if (const CUresult result = read_program_file(path, log, program); result != CUDA_SUCCESS) return result;
  *handle = add_library(std::move(*program));
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary handle) {
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, library); result != CUDA_SUCCESS) return result;
  Process& process = Process::instance();
  process.libraries.remove(handle);
  for (const CUkernel kernel : library->kernels) process.kernels.remove(kernel);
  const std::lock_guard lock(library->mutex);
  for (const auto& [context, module] : library->modules) {
    for (const auto& [name, function] : module->functions) process.functions.remove(function);
    process.modules.remove(module->handle);
  }
  library->modules.clear();
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, library); result != CUDA_SUCCESS) return result;
  const auto found = library->by_name.find(name);
  if (found == library->by_name.end()) return CUDA_ERROR_NOT_FOUND;
  *kernel = found->second;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, library); result != CUDA_SUCCESS) return result;
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
  if (kernels == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, library); result != CUDA_SUCCESS) return result;
  std::copy_n(library->kernels.begin(), std::min<std::size_t>(count, library->kernels.size()), kernels);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> found;
  if (const CUresult result = find_module_here(handle, found); result != CUDA_SUCCESS) return result;
  *module = found->handle;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  raddle::Module::Variable variable;
  if (const CUresult result = find_variable_here(handle, name, variable); result != CUDA_SUCCESS)
    return result;
  give(variable, address, bytes);
  return CUDA_SUCCESS;
}

// Device memory is host memory here, so a managed variable's address is what the host reads and writes, too.
CUresult cuLibraryGetManaged(CUdeviceptr* address, std::size_t* bytes, CUlibrary handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  raddle::Module::Variable variable;
  if (const CUresult result = find_variable_here(handle, name, variable); result != CUDA_SUCCESS)
    return result;
  if (!variable.managed) return CUDA_ERROR_NOT_FOUND;
  give(variable, address, bytes);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> found;
  if (const CUresult result = find_kernel(handle, kernel); result != CUDA_SUCCESS) return result;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = function_of(kernel, context, found); result != CUDA_SUCCESS) return result;
  if (const CUresult result = load(*found); result != CUDA_SUCCESS) return result;
  *function = found->handle;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel(handle, kernel); result != CUDA_SUCCESS) return result;
  const std::shared_ptr<Library> found = kernel->library.lock();
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *library = found->handle;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel(handle, kernel); result != CUDA_SUCCESS) return result;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel(handle, kernel); result != CUDA_SUCCESS) return result;
  return parameter_info(kernel->info(), index, offset, bytes);
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel_on(handle, device, kernel); result != CUDA_SUCCESS) return result;
  return function_attribute(kernel->info(), attribute, kernel->settings->get(attribute), value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel_on(handle, device, kernel); result != CUDA_SUCCESS) return result;
  return set_function_attribute(kernel->info(), *kernel->settings, attribute, value);
}

CUresult cuKernelSetCacheConfig(CUkernel handle, int config, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  if (const CUresult result = find_kernel_on(handle, device, kernel); result != CUDA_SUCCESS) return result;
  return check_cache_config(config);
}

}  // namespace raddle::driver::entry
