#include "nvrtc/real.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace raddle::nvrtc {
namespace {

constexpr const char* kName = "libnvrtc.so.13";

void add_folders(const char* list, const std::string& suffix, std::vector<std::string>& folders) {
  std::string folder;
  for (const char* c = list; c != nullptr; ++c) {
    if (*c != ':' && *c != '\0') {
      folder += *c;
      continue;
    }
    if (!folder.empty()) folders.push_back(folder + suffix);
    folder.clear();
    if (*c == '\0') return;
  }
}

std::string own_folder() {
  Dl_info info;
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::canonical(info.dli_fname, error).parent_path().string();
}

/// Both libraries export the same names. NVIDIA's is linked so that it calls its own (DT_SYMBOLIC).
void* open_first(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

Real load() {
  Real found;
  const std::vector<std::string> paths = candidates(own_folder());
  void* library = open_first(paths);
  if (library == nullptr) {
    fmt::print(stderr,
               "raddle: this program compiles CUDA C++ as it runs, which takes NVIDIA's NVRTC 13 "
               "(RADDLE_NVRTC names its "
               "file); tried {}\n",
               paths.empty() ? "nothing" : fmt::format("{}", fmt::join(paths, ", ")));
    return found;
  }
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

std::vector<std::string> candidates(const std::string& own) {
  if (const char* wanted = std::getenv("RADDLE_NVRTC")) return {wanted};
  std::vector<std::string> folders;
  add_folders(std::getenv("LD_LIBRARY_PATH"), "", folders);
  for (const char* root : {"CUDA_HOME", "CUDA_PATH"})
    for (const char* below : {"/lib64", "/lib"}) add_folders(std::getenv(root), below, folders);
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/local/cuda-13.0/lib64",
                             "/usr/local/cuda-13.0/lib", "/usr/lib/x86_64-linux-gnu"})
    folders.emplace_back(folder);
  std::vector<std::string> paths;
  std::error_code error;
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + kName;
    if (!std::filesystem::exists(path, error)) continue;
    // Ours in another guise would call itself.
    if (std::filesystem::canonical(path, error).parent_path().string() != own) paths.push_back(path);
  }
  return paths;
}

const Real& real() {
  static const Real found = load();
  return found;
}

}  // namespace raddle::nvrtc
