// Libraries and their kernels: code without a context, which becomes a module and functions in each context
// that uses it.
#include <algorithm>
#include <set>

#include "driver/code.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

/// A variable of a library's module in a context.
Answer<raddle::Module::Variable> find_variable(Library& library, Here context, const char* name) {
  TRY_ASSIGN(const std::shared_ptr<Module> module, module_of(library, context));
  TRY_ASSIGN(const auto variable, module->module.variable(name));
  return variable;
}

void give(const raddle::Module::Variable& variable, CUdeviceptr* address, std::size_t* bytes) {
  if (address != nullptr) *address = variable.address.value;
  if (bytes != nullptr) *bytes = variable.bytes;
}

/// @param read  the program for a compute capability: (std::uint32_t) -> Answer<Program>
template <class Read>
Answer<Programs> read_for_devices(const Read& read) {
  Programs programs;
  std::set<std::uint32_t> tried;
  Status failed = CUDA_SUCCESS;
  for (const auto& gpu : Process::instance().gpus()) {
    if (!tried.insert(gpu->shape.capability).second) continue;
    Answer<Program> program = read(gpu->shape.capability);
    if (program.ok())
      programs.emplace(gpu->shape.capability, std::move(program).value());
    else if (failed.ok())
      failed = program.error();
  }
  if (programs.empty()) return failed.error();
  return programs;
}

CUlibrary add_library(Programs&& programs) {
  Process& process = Process::instance();
  auto library = std::make_shared<Library>();
  library->programs = std::make_shared<const Programs>(std::move(programs));
  for (const auto& [capability, program] : *library->programs)
    for (const std::string& name : program.kernels()) {
      if (library->by_name.contains(name)) continue;
      const auto kernel = process.kernels.add(std::make_shared<Kernel>(library, name, process.gpus().size()));
      library->kernels.push_back(kernel);
      library->by_name.emplace(name, kernel);
    }
  return process.libraries.add(library);
}

}  // namespace

// A library's own options promise that the image stays; we do not need it once it is read.
Status cuLibraryLoadData(CUlibrary* handle, const void* code, int* jit_options, void** jit_values,
                         unsigned jit_count, int* options, void**, unsigned count) {
  if ((count != 0 && options == nullptr) || !JitLog::has_options(jit_count, jit_options, jit_values))
    return CUDA_ERROR_INVALID_VALUE;
  JitLog log(jit_count, jit_options, jit_values);
  TRY_ASSIGN(Programs programs,
             read_for_devices([&](auto capability) { return read_program(code, capability, log); }));
  *handle = add_library(std::move(programs));
  return CUDA_SUCCESS;
}

Status cuLibraryLoadFromFile(CUlibrary* handle, const char* path, int* jit_options, void** jit_values,
                             unsigned jit_count, int* options, void**, unsigned count) {
  if ((count != 0 && options == nullptr) || !JitLog::has_options(jit_count, jit_options, jit_values))
    return CUDA_ERROR_INVALID_VALUE;
  JitLog log(jit_count, jit_options, jit_values);
  TRY_ASSIGN(Programs programs,
             read_for_devices([&](auto capability) { return read_program_file(path, capability, log); }));
  *handle = add_library(std::move(programs));
  return CUDA_SUCCESS;
}

Status cuLibraryUnload(In<Library> library) {
  Process& process = Process::instance();
  process.libraries.remove(library->handle);
  for (const CUkernel kernel : library->kernels) process.kernels.remove(kernel);
  const std::lock_guard lock(library->mutex);
  for (const auto& [context, module] : library->modules) {
    for (const auto& [name, function] : module->functions) process.functions.remove(function);
    process.modules.remove(module->handle);
  }
  library->modules.clear();
  return CUDA_SUCCESS;
}

Status cuLibraryGetKernel(CUkernel* kernel, In<Library> library, const char* name) {
  const auto found = library->by_name.find(name);
  if (found == library->by_name.end()) return CUDA_ERROR_NOT_FOUND;
  *kernel = found->second;
  return CUDA_SUCCESS;
}

Status cuLibraryGetKernelCount(unsigned* count, In<Library> library) {
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

Status cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, In<Library> library) {
  if (kernels == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  std::copy_n(library->kernels.begin(), std::min<std::size_t>(count, library->kernels.size()), kernels);
  return CUDA_SUCCESS;
}

Status cuLibraryGetModule(Here context, CUmodule* module, In<Library> library) {
  TRY_ASSIGN(const std::shared_ptr<Module> found, module_of(*library, context));
  *module = found->handle;
  return CUDA_SUCCESS;
}

Status cuLibraryGetGlobal(Here context, CUdeviceptr* address, std::size_t* bytes, In<Library> library,
                          const char* name) {
  if (address == nullptr && bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const raddle::Module::Variable variable, find_variable(*library, context, name));
  give(variable, address, bytes);
  return CUDA_SUCCESS;
}

// Device memory is host memory here, so a managed variable's address is what the host reads and writes, too.
Status cuLibraryGetManaged(Here context, CUdeviceptr* address, std::size_t* bytes, In<Library> library,
                           const char* name) {
  if (address == nullptr && bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const raddle::Module::Variable variable, find_variable(*library, context, name));
  if (!variable.managed) return CUDA_ERROR_NOT_FOUND;
  give(variable, address, bytes);
  return CUDA_SUCCESS;
}

// Functions that host and kernels call by one pointer: no device has the attribute
// CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, so that there are none.
Status cuLibraryGetUnifiedFunction(void**, In<Library>, const char*) { return CUDA_ERROR_NOT_FOUND; }

Status cuKernelGetFunction(Here context, CUfunction* function, In<Kernel> kernel) {
  TRY_ASSIGN(const std::shared_ptr<Function> found, function_of(kernel, context));
  TRY(load(*found));
  *function = found->handle;
  return CUDA_SUCCESS;
}

Status cuKernelGetLibrary(CUlibrary* library, In<Kernel> kernel) {
  const std::shared_ptr<Library> found = kernel->library.lock();
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *library = found->handle;
  return CUDA_SUCCESS;
}

Status cuKernelGetName(const char** name, In<Kernel> kernel) {
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

// It needs a context, though it asks none: so do CUDA's drivers (cuda-core's tests).
Status cuKernelGetParamInfo(Here, In<Kernel> kernel, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  return parameter_info(kernel->info(current_gpu()), index, offset, bytes);
}

Status cuKernelGetAttribute(int* value, CUfunction_attribute attribute, In<Kernel> kernel,
                            In<CUdevice> device) {
  return function_attribute(kernel->info(device), device, attribute, kernel->settings(device)->get(attribute),
                            value);
}

Status cuKernelSetAttribute(CUfunction_attribute attribute, int value, In<Kernel> kernel,
                            In<CUdevice> device) {
  return set_function_attribute(kernel->info(device), device, *kernel->settings(device), attribute, value);
}

Status cuKernelSetCacheConfig(In<Kernel>, int config, In<CUdevice>) { return check_cache_config(config); }

}  // namespace raddle::driver::entry
