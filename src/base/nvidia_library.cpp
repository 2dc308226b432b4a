#include "base/nvidia_library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace raddle::base {
namespace {

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

/// The folder of this process's program as it was called, which for a virtual environment's Python is the
/// environment's, and not where its symbolic link leads.
std::filesystem::path program_folder() {
  std::ifstream file("/proc/self/cmdline");
  std::string word;
  std::getline(file, word, '\0');
  std::error_code error;
  if (word.find('/') != std::string::npos) return std::filesystem::absolute(word, error).parent_path();
  std::vector<std::string> folders;
  add_folders(std::getenv("PATH"), "", folders);
  for (const std::string& folder : folders)
    if (std::filesystem::exists(folder + "/" + word, error)) return folder;
  return {};
}

/// Where pip puts NVIDIA's libraries of CUDA 13 below the prefix of a Python installation.
void add_python_folders(const std::filesystem::path& prefix, std::vector<std::string>& folders) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(prefix / "lib", error))
    if (entry.path().filename().string().starts_with("python3"))
      folders.push_back(entry.path() / "site-packages/nvidia/cu13/lib");
}

/// The folders of toolkits, and of what pip installs.
std::vector<std::string> folders_of(const NvidiaLibrary& library) {
  std::vector<std::string> folders;
  add_folders(std::getenv("LD_LIBRARY_PATH"), "", folders);
  for (const char* root : {"CUDA_HOME", "CUDA_PATH"})
    for (const char* below : library.folders) add_folders(std::getenv(root), below, folders);
  if (const char* environment = std::getenv("VIRTUAL_ENV")) add_python_folders(environment, folders);
  add_python_folders(program_folder().parent_path(), folders);
  std::error_code error;
  add_python_folders(std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path(),
                     folders);
  if (const char* home = std::getenv("HOME")) add_python_folders(std::string(home) + "/.local", folders);
  for (const char* root : {"/usr/local/cuda", "/usr/local/cuda-13.0"})
    for (const char* below : library.folders) folders.push_back(std::string(root) + below);
  folders.emplace_back("/usr/lib/x86_64-linux-gnu");
  return folders;
}

std::string folder_of(const void* address) {
  Dl_info info;
  std::error_code error;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::canonical(info.dli_fname, error).parent_path().string();
}

}  // namespace

std::vector<std::string> candidates(const NvidiaLibrary& library, const std::string& own) {
  if (const char* wanted = std::getenv(library.variable)) return {wanted};
  std::vector<std::string> paths;
  std::error_code error;
  for (const std::string& folder : folders_of(library)) {
    const std::string path = folder + "/" + library.name;
    if (!std::filesystem::exists(path, error)) continue;
    // Ours in another guise would call itself.
    if (std::filesystem::canonical(path, error).parent_path().string() != own) paths.push_back(path);
  }
  return paths;
}

void* open(const NvidiaLibrary& library, const void* own) {
  const std::vector<std::string> paths = candidates(library, folder_of(own));
  // NVIDIA's is linked so that it calls its own functions (DT_SYMBOLIC), though ours have the same names.
  for (const std::string& path : paths)
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
  fmt::print(stderr, "raddle: {} ({} names its file); tried {}\n", library.purpose, library.variable,
             paths.empty() ? "nothing" : fmt::format("{}", fmt::join(paths, ", ")));
  return nullptr;
}

}  // namespace raddle::base
