// Functions and kernels: what their handles stand for, and what is known of them.
#pragma once

#include "driver/objects.h"

namespace raddle::driver {

/// A CUfunction of the current context, or a CUkernel, which stands for its function there; ready to be
/// launched. CUDA_ERROR_INVALID_HANDLE; INVALID_CONTEXT: a function of another; NOT_SUPPORTED: it cannot run
CUresult find_function(CUfunction handle, std::shared_ptr<Context>& context,
                       std::shared_ptr<Function>& function);

/// A function of a module by its kernel's name; not loaded yet. CUDA_ERROR_NOT_FOUND
CUresult function_of(const std::shared_ptr<Module>& module, std::string_view name,
                     std::shared_ptr<Function>& function);

/// The module of a library in a context, loaded at its first use there. As load_program.
CUresult module_of(Library& library, const std::shared_ptr<Context>& context,
                   std::shared_ptr<Module>& module);
/// The function of a kernel in a context; not loaded yet. CUDA_ERROR_INVALID_HANDLE: its library is gone
CUresult function_of(const std::shared_ptr<Kernel>& kernel, const std::shared_ptr<Context>& context,
                     std::shared_ptr<Function>& function);

/// Loads a function; what of it cannot run is printed. CUDA_ERROR_NOT_SUPPORTED
CUresult load(Function& function);

/// What programs set of a function, else of the kernel that it stands for; FunctionSettings::kNotSet.
int setting_of(const Function& function, CUfunction_attribute attribute);
/// Dynamic shared memory that a block of a function may use: its own limit, its kernel's, or the default.
int dynamic_shared_limit(Function& function);

/// A parameter's place, for cuFuncGetParamInfo and cuKernelGetParamInfo. CUDA_ERROR_INVALID_VALUE
CUresult parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset, std::size_t* bytes);

/// An attribute of code. @param set  what programs set it to. CUDA_ERROR_INVALID_VALUE: no such attribute
CUresult function_attribute(const KernelInfo& info, CUfunction_attribute attribute, int set, int* value);
/// Sets what may be set. CUDA_ERROR_INVALID_VALUE; NOT_PERMITTED: fixed when it was compiled
CUresult set_function_attribute(const KernelInfo& info, FunctionSettings& settings,
                                CUfunction_attribute attribute, int value);

/// Preferences of caches, which Raddle's machine does not have. CUDA_ERROR_INVALID_VALUE: no such preference
CUresult check_cache_config(int config);

}  // namespace raddle::driver
