// Modules, functions and variables.
#include "driver/code.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

Status load_from_memory(Here context, CUmodule* handle, const void* image, JitLog log = {}) {
  TRY_ASSIGN(const Program program, read_program(image, context->gpu.shape.capability, log));
  TRY_ASSIGN(const std::shared_ptr<Module> module, load_program(context, program, log));
  *handle = module->handle;
  return CUDA_SUCCESS;
}

}  // namespace

Status cuModuleLoad(Here context, CUmodule* handle, const char* path) {
  JitLog log;
  TRY_ASSIGN(const Program program, read_program_file(path, context->gpu.shape.capability, log));
  TRY_ASSIGN(const std::shared_ptr<Module> module, load_program(context, program, log));
  *handle = module->handle;
  return CUDA_SUCCESS;
}

Status cuModuleLoadData(Here context, CUmodule* module, const void* image) {
  return load_from_memory(context, module, image);
}
Status cuModuleLoadFatBinary(Here context, CUmodule* module, const void* image) {
  return load_from_memory(context, module, image);
}

Status cuModuleLoadDataEx(Here context, CUmodule* module, const void* image, unsigned count, int* options,
                          void** values) {
  if (!JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  return load_from_memory(context, module, image, JitLog(count, options, values));
}

Status cuModuleUnload(Here, In<Module> module) {
  if (module->is_of_library) return CUDA_ERROR_NOT_PERMITTED;
  Process& process = Process::instance();
  for (const auto& [name, function] : module->functions) process.functions.remove(function);
  // What is bound to them is used by launches that were given.
  for (const auto& [name, reference] : module->texture_references)
    module->context->device.after_work([ended = process.texture_references.remove(reference)] {});
  for (const auto& [name, reference] : module->surface_references)
    module->context->device.after_work([ended = process.surface_references.remove(reference)] {});
  process.modules.remove(module->handle);
  return CUDA_SUCCESS;
}

Status cuModuleGetFunction(Here, CUfunction* function, In<Module> module, const char* name) {
  TRY_ASSIGN(const std::shared_ptr<Function> found, function_of(module, name));
  TRY(load(*found));
  *function = found->handle;
  return CUDA_SUCCESS;
}

Status cuModuleGetFunctionCount(Here, unsigned* count, In<Module> module) {
  *count = static_cast<unsigned>(module->program.kernels().size());
  return CUDA_SUCCESS;
}

// Functions come as they are: whether they can run shows when they are loaded.
Status cuModuleEnumerateFunctions(Here, CUfunction* functions, unsigned count, In<Module> module) {
  if (functions == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (const std::string& name : module->program.kernels()) {
    if (count-- == 0) break;
    TRY_ASSIGN(const std::shared_ptr<Function> function, function_of(module, name));
    *functions++ = function->handle;
  }
  return CUDA_SUCCESS;
}

// Kernels are compiled at their first launch.
Status cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

Status cuModuleGetGlobal_v2(Here, CUdeviceptr* address, std::size_t* bytes, In<Module> module,
                            const char* name) {
  if (address == nullptr && bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const auto variable, module->module.variable(name));
  if (address != nullptr) *address = variable.address.value;
  if (bytes != nullptr) *bytes = variable.bytes;
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
