#include "nvrtc/real.h"

#include <dlfcn.h>

#include "base/nvidia_library.h"

namespace raddle::nvrtc {
namespace {

Real load() {
  static const base::NvidiaLibrary kNvrtc{
      "libnvrtc.so.13",
      "RADDLE_NVRTC",
      "this program compiles CUDA C++ as it runs, which takes NVIDIA's NVRTC 13",
      {"/lib64", "/lib"}};
  Real found;
  void* library = base::open(kNvrtc, reinterpret_cast<const void*>(&load));
  if (library == nullptr) return found;
#define FORWARD(name, parameters, arguments) \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));
#define ENTRY FORWARD
#include "nvrtc/entries.def"
#undef ENTRY
#undef FORWARD
  found.nvrtcGetErrorString =
      reinterpret_cast<decltype(found.nvrtcGetErrorString)>(dlsym(library, "nvrtcGetErrorString"));
  found.is_there = true;
  return found;
}

}  // namespace

const Real& real() {
  static const Real found = load();
  return found;
}

}  // namespace raddle::nvrtc
