// Modules, functions and variables.
#include <algorithm>

#include "base/file.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "fatbin/wrapper.h"

namespace raddle::driver::entry {
namespace {

constexpr int kDefaultSharedBytes = 48
                                    << 10;  ///< static and dynamic, before a function's attribute raises it

CUresult result_of_load(const Error& error) {
  fmt::print(stderr, "raddle: {}\n",
             error.to_string());  // what is wrong with code is worth more than a number
  if (error.code == ErrorCode::unsupported) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return error.code == ErrorCode::invalid ? CUDA_ERROR_INVALID_PTX : result_of(error);
}

CUresult load(CUmodule* handle, std::string_view image, std::string_view name) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  Result<raddle::Module> loaded = context->device.load(image, name);
  if (!loaded) return result_of_load(loaded.error());
  auto module = std::shared_ptr<Module>(new Module{context, std::move(*loaded)});
  *handle = Process::instance().modules.add<CUmodule>(module);
  module->handle = *handle;
  return CUDA_SUCCESS;
}

CUresult load_from_memory(CUmodule* handle, const void* image) {
  if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto images = fatbin::images_at(image);
  if (!images) return CUDA_ERROR_INVALID_IMAGE;
  if (images->size() != 1)
    return result_of_load(
        Error::unsupported("{} modules to be linked: device-side linking is not there yet", images->size()));
  return load(handle, (*images)[0], "<memory>");
}

CUresult find_module(CUmodule handle, std::shared_ptr<Module>& module) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  module = Process::instance().modules.find(handle);
  return module != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Result<std::string> image = read_file(path);
  if (!image) return result_of(image.error());
  return load(module, *image, path);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load_from_memory(module, image); }
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_from_memory(module, image);
}

// The options tune NVIDIA's compiler, or ask for its log, of which there is none.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, int* options,
                            void** values) {
  if (count != 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  constexpr int kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kInfoLogBytes || options[i] == kErrorLogBytes) values[i] = nullptr;  // bytes written
    if ((options[i] == kInfoLog || options[i] == kErrorLog) && values[i] != nullptr)
      *static_cast<char*>(values[i]) = '\0';
  }
  return load_from_memory(module, image);
}

CUresult cuModuleUnload(CUmodule handle) {
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  for (const auto& [name, function] : module->functions) Process::instance().functions.remove(function);
  Process::instance().modules.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  if (const CUresult result = find_module(handle, module); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(module->mutex);
  CUfunction& known = module->functions[name];
  if (known == nullptr) {
    Result<raddle::Kernel> kernel = module->module.kernel(name);
    if (!kernel) {
      if (kernel.error().code == ErrorCode::unsupported)
        fmt::print(stderr, "raddle: {}\n", kernel.error().message);
      module->functions.erase(name);
      return result_of(kernel.error());
    }
    const auto fixed = static_cast<int>(kernel->info().static_shared_bytes);
    known = Process::instance().functions.add<CUfunction>(
        std::shared_ptr<Function>(new Function{module, *kernel, std::max(0, kDefaultSharedBytes - fixed)}));
  }
  *function = known;
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
