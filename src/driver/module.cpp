// Modules, functions and variables.
#include "driver/code.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

CUresult load_from_memory(CUmodule* handle, const void* image, JitLog log = {}) {
  if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::optional<Program> program;
  std::shared_ptr<Module> module;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = read_program(image, log, program); result != CUDA_SUCCESS) return result;
  if (const CUresult result = load_program(context, *program, log, module); result != CUDA_SUCCESS)
    return result;
  *handle = module->handle;
  return CUDA_SUCCESS;
}

CUresult find_module(CUmodule handle, std::shared_ptr<Module>& module) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  module = Process::instance().modules.find(handle);
  return module != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* handle, const char* path) {
  if (handle == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::optional<Program> program;
  std::shared_ptr<Module> module;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  JitLog log;
  if (const CUresult result = read_program_file(path, log, program); result != CUDA_SUCCESS) return result;
  if (const CUresult result = load_program(context, *program, log, module); result != CUDA_SUCCESS)
    return result;
  *handle = module->handle;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load_from_memory(module, image); }
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_from_memory(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, int* options,
                            void** values) {
  if (!JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  return load_from_memory(module, image, JitLog(count, options, values));
}

CUresult cuModuleUnload(CUmodule handle) {
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  if (module->is_of_library) return CUDA_ERROR_NOT_PERMITTED;
  for (const auto& [name, function] : module->functions) Process::instance().functions.remove(function);
  Process::instance().modules.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  std::shared_ptr<Function> found;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  if (const CUresult result = function_of(module, name, found); result != CUDA_SUCCESS) return result;
  if (const CUresult result = driver::load(*found); result != CUDA_SUCCESS) return result;
  *function = found->handle;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  *count = static_cast<unsigned>(module->program.kernels().size());
  return CUDA_SUCCESS;
}

// Functions come as they are: whether they can run shows when they are loaded.
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  if (functions == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  for (const std::string& name : module->program.kernels()) {
    if (count-- == 0) break;
    std::shared_ptr<Function> function;
    if (const CUresult result = function_of(module, name, function); result != CUDA_SUCCESS) return result;
    *functions++ = function->handle;
  }
  return CUDA_SUCCESS;
}

// Kernels are compiled at their first launch.
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  const auto variable = module->module.variable(name);
  if (!variable) return result_of(variable.error());
  if (address != nullptr) *address = variable->address.value;
  if (bytes != nullptr) *bytes = variable->bytes;
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
