#include "cli/cc/packages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace raddle::cli {
namespace {

namespace fs = std::filesystem;

struct HeaderPackage {
  std::string_view start;  ///< of the header's name
  std::string_view package, what;
};
constexpr HeaderPackage kHeaderPackages[] = {
    {"thrust/", "nvidia-cuda-cccl", "Thrust"}, {"cub/", "nvidia-cuda-cccl", "CUB"},
    {"cuda/", "nvidia-cuda-cccl", "libcu++"},  {"nv/", "nvidia-cuda-cccl", "libcu++"},
    {"curand", "nvidia-curand", "cuRAND"},
};

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Headers lie in include, Thrust, CUB and libcu++ since CUDA 13 in include/cccl.
void append_includes(const fs::path& root, Words& words) {
  std::error_code ignored;
  for (const fs::path& folder : {root / "include/cccl", root / "include"})
    if (fs::is_directory(folder, ignored)) words.push_back(folder.string());
}

/// NVIDIA's packages lie in site-packages/nvidia, those for CUDA 13 in nvidia/cu13, older ones each in a
/// folder.
void append_python(const fs::path& prefix, Words& words) {
  for (const char* library : {"lib", "local/lib"})
    for (const fs::path& version : folders_in(prefix / library)) {
      if (!version.filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const fs::path& package : folders_in(version / packages / "nvidia"))
          append_includes(package, words);
    }
}

/// The folder that holds bin/python3 of PATH.
fs::path python_prefix() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path folder(rest.substr(0, end));
    std::error_code ignored;
    if (!folder.empty() && fs::exists(folder / "python3", ignored)) return folder.parent_path();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace

Words package_includes() {
  Words words;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name); root && *root) append_includes(root, words);
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment && *environment)
    append_python(environment, words);
  if (const fs::path prefix = python_prefix(); !prefix.empty()) append_python(prefix, words);
  if (const char* home = std::getenv("HOME"); home && *home) append_python(fs::path(home) / ".local", words);
  return words;
}

std::string missing_header(std::string_view errors) {
  constexpr std::string_view kBegin = "fatal error: '", kEnd = "' file not found";
  const std::size_t end = errors.find(kEnd);
  const std::size_t begin = end == std::string_view::npos ? end : errors.rfind(kBegin, end);
  if (begin == std::string_view::npos) return {};
  const std::string_view header = errors.substr(begin + kBegin.size(), end - begin - kBegin.size());
  for (const HeaderPackage& each : kHeaderPackages)
    if (header.starts_with(each.start))
      return fmt::format(
          "raddle cc: {} is part of {}: install it by `pip install {}` for the Python in use, or name its "
          "folder "
          "by -I or CUDA_HOME",
          header, each.what, each.package);
  return {};
}

}  // namespace raddle::cli
