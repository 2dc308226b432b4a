// NVIDIA's own library of a name, for those of ours that stand before it and forward to it: found by path, as
// both have one name.
#pragma once

#include <string>
#include <vector>

namespace raddle::base {

struct NvidiaLibrary {
  const char* name;      ///< "libnvrtc.so.13"
  const char* variable;  ///< of the environment, names its file
  const char* purpose;   ///< "this program compiles CUDA C++ as it runs, which takes NVIDIA's NVRTC 13"
  std::vector<const char*> folders;  ///< below a toolkit: "/lib64"
};

/// The files that are tried, in order: the variable's (only this, if it is set), LD_LIBRARY_PATH, CUDA_HOME,
/// CUDA_PATH, the packages of a Python installation, /usr/local/cuda.
/// @param own  folder, which is left out
std::vector<std::string> candidates(const NvidiaLibrary& library, const std::string& own);

/// @param own  an address in the library that asks
/// @returns null if there is none: stderr then says which files were tried
void* open(const NvidiaLibrary& library, const void* own);

}  // namespace raddle::base
