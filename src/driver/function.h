// Functions and kernels: what their handles stand for, and what is known of them.
#pragma once

#include "driver/objects.h"
#include "driver/status.h"

namespace raddle::driver {

/// A function of a module by its kernel's name; not loaded yet. CUDA_ERROR_NOT_FOUND
Answer<std::shared_ptr<Function>> function_of(const std::shared_ptr<Module>& module, std::string_view name);

/// The module of a library in a context, loaded at its first use there. As load_program.
Answer<std::shared_ptr<Module>> module_of(Library& library, const std::shared_ptr<Context>& context);
/// The function of a kernel in a context; not loaded yet. CUDA_ERROR_INVALID_HANDLE: its library is gone
Answer<std::shared_ptr<Function>> function_of(const std::shared_ptr<Kernel>& kernel,
                                              const std::shared_ptr<Context>& context);

/// Loads a function; the parts that cannot run are printed. CUDA_ERROR_NOT_SUPPORTED
Status load(Function& function);

/// A setting of a function, else of the kernel that it stands for; else FunctionSettings::kNotSet.
int setting_of(const Function& function, CUfunction_attribute attribute);
/// Dynamic shared memory that a block of a function may use: its own limit, its kernel's, or the default.
int dynamic_shared_limit(Function& function);

/// A parameter's place, for cuFuncGetParamInfo and cuKernelGetParamInfo. CUDA_ERROR_INVALID_VALUE
Status parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset, std::size_t* bytes);

/// An attribute of code on a device. @param set  what programs set it to. CUDA_ERROR_INVALID_VALUE: no such
/// attribute
Status function_attribute(const KernelInfo& info, const Gpu& gpu, CUfunction_attribute attribute, int set,
                          int* value);
/// Sets what may be set. CUDA_ERROR_INVALID_VALUE; NOT_PERMITTED: fixed when it was compiled
Status set_function_attribute(const KernelInfo& info, const Gpu& gpu, FunctionSettings& settings,
                              CUfunction_attribute attribute, int value);

/// Preferences of caches, which Raddle's machine does not have. CUDA_ERROR_INVALID_VALUE: no such preference
Status check_cache_config(int config);

}  // namespace raddle::driver
