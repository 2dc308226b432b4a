// libnvvm.so.4: libNVVM for programs that have it make LTO-IR, which only NVIDIA's linker reads. Compilation
// is NVIDIA's, but to PTX.
#include <dlfcn.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/nvidia_library.h"

namespace raddle::nvvm {

enum nvvmResult : int {
  NVVM_SUCCESS = 0,
  NVVM_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVVM_ERROR_INVALID_INPUT = 4
};
using nvvmProgram = struct _nvvmProgram*;

namespace {

/// NVIDIA's functions; all null where there are none.
struct Real {
#define FORWARD(name, parameters, arguments) nvvmResult(*name) parameters = nullptr;
#define COMPILER(name) \
  nvvmResult (*name)(nvvmProgram program, int count, const char* const* options) = nullptr;
#include "nvvm/entries.def"
#undef COMPILER
#undef FORWARD
  const char* (*nvvmGetErrorString)(nvvmResult result) = nullptr;
};

Real load() {
  static const base::NvidiaLibrary kNvvm{
      "libnvvm.so.4",
      "RADDLE_NVVM",
      "this program compiles NVVM IR as it runs, which takes NVIDIA's libNVVM 4",
      {"/nvvm/lib64"}};
  Real found;
  void* library = base::open(kNvvm, reinterpret_cast<const void*>(&load));
  if (library == nullptr) return found;
#define FORWARD(name, parameters, arguments) COMPILER(name)
#define COMPILER(name) found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));
#include "nvvm/entries.def"
#undef FORWARD
  COMPILER(nvvmGetErrorString)
#undef COMPILER
  return found;
}

const Real& real() {
  static const Real found = load();
  return found;
}

/// The options without the one that asks for LTO-IR.
std::vector<const char*> without_lto(int count, const char* const* options) {
  std::vector<const char*> words;
  for (int i = 0; i < count; ++i)
    if (options[i] == nullptr || std::string_view(options[i]) != "-gen-lto") words.push_back(options[i]);
  return words;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define FORWARD(name, parameters, arguments)                                                     \
  EXPORTED nvvmResult name parameters {                                                          \
    return real().name == nullptr ? NVVM_ERROR_PROGRAM_CREATION_FAILURE : real().name arguments; \
  }
#define COMPILER(name)                                                                    \
  EXPORTED nvvmResult name(nvvmProgram program, int count, const char* const* options) {  \
    if (real().name == nullptr) return NVVM_ERROR_PROGRAM_CREATION_FAILURE;               \
    if (count < 0 || (count != 0 && options == nullptr)) return NVVM_ERROR_INVALID_INPUT; \
    const std::vector<const char*> words = without_lto(count, options);                   \
    return real().name(program, static_cast<int>(words.size()), words.data());            \
  }
#include "nvvm/entries.def"
#undef COMPILER
#undef FORWARD

EXPORTED const char* nvvmGetErrorString(nvvmResult result) {
  if (real().nvvmGetErrorString != nullptr) return real().nvvmGetErrorString(result);
  return "NVIDIA's libNVVM, which Raddle's forwards to, is not there";
}

}  // namespace raddle::nvvm
