// The device code of the program: fat binaries that nvcc's constructors register, their kernels and
// variables, known by the addresses of their host-side stand-ins. A fat binary becomes a library of the
// driver's at its first use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cudart/driver.h"

namespace raddle::cudart {

struct FatBinary;

/// A __global__ function. Its host-side stand-in is the function that nvcc made of the same name.
struct Kernel {
  FatBinary* binary;
  std::string name;
  /// The function that launches take in a context; the newest is looked at first, without a lock.
  struct Function {
    CUcontext context;
    cudaFunction_t function;
    std::unique_ptr<Function> older;
  };
  std::atomic<Function*> newest{nullptr};
  std::unique_ptr<Function> functions;
};

/// A __device__, __constant__ or __managed__ variable.
struct Variable {
  FatBinary* binary;
  std::string name;
  std::size_t bytes;
  void** managed;  ///< where the program reads the address of a managed variable; nullptr for others
};

struct FatBinary {
  const void* image;  ///< the wrapper that nvcc made
  std::mutex mutex;   ///< of loading
  cudaLibrary_t library = nullptr;
  bool managed_placed = false;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<Variable>> variables;
};

FatBinary* register_binary(const void* image);
void register_kernel(FatBinary& binary, const void* stand_in, const char* name);
void register_variable(FatBinary& binary, const void* stand_in, const char* name, std::size_t bytes,
                       void** managed);
/// Ends the binary, its kernels and variables; the driver's part stays when the process ends.
void unregister_binary(FatBinary& binary);

/// After a device was reset: forgets what its context knew.
void forget_contexts();

/// The kernel of a stand-in; nullptr: no kernel has that address.
Kernel* find_kernel(const void* stand_in);

/// The driver's function of a kernel in the current context; loads its binary at first use.
/// @errors cudaErrorInvalidDeviceFunction: the binary has no such kernel; as the driver on loading
/// (cudaErrorNoKernelImageForDevice, ...)
cudaError_t function_of(Kernel& kernel, cudaFunction_t& function);
/// The same for anything by which a program may name a kernel: a stand-in, a cudaKernel_t or a
/// cudaFunction_t.
cudaError_t function_of(const void* named, cudaFunction_t& function);
/// The other way: the stand-in of a function; the function itself if it has none.
const void* stand_in_of(cudaFunction_t function);
/// The driver's kernel, of no context. @errors as function_of
cudaError_t kernel_handle(Kernel& kernel, cudaKernel_t& handle);

/// Address and size of the variable of a stand-in in the current context, or of a managed variable by its
/// address. cudaErrorInvalidSymbol
cudaError_t variable_at(const void* symbol, void*& address, std::size_t& bytes);
/// Where `bytes` of a variable begin. cudaErrorInvalidValue: it does not have them; as variable_at
cudaError_t part_of(const void* symbol, std::size_t offset, std::size_t bytes, char*& part);

/// Loads a binary in the current context, so that its managed variables have addresses.
cudaError_t load_binary(FatBinary& binary);

}  // namespace raddle::cudart
