// Reads examples/kernels; makes big modules by repeating kernels, whose symbols are local to their functions.
#include "example_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/assert.h"

namespace bench {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  RADDLE_ASSERT(static_cast<bool>(file), "cannot read a PTX file of the examples");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

std::vector<PtxFile> example_ptx() {
  std::vector<PtxFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(RADDLE_EXAMPLES_DIR "/kernels")) {
    if (entry.path().extension() == ".ptx")
      files.push_back({entry.path().stem().string(), read(entry.path())});
  }
  std::sort(files.begin(), files.end(), [](const PtxFile& a, const PtxFile& b) { return a.name < b.name; });
  RADDLE_ASSERT(!files.empty(), "examples/kernels holds no PTX");
  return files;
}

std::string large_module(std::size_t bytes) {
  const std::string text = read(RADDLE_EXAMPLES_DIR "/kernels/softmax.ptx");
  const std::size_t first = text.find(".visible .entry"), last = text.find("\n\t.file");
  RADDLE_ASSERT(first != std::string::npos && last != std::string::npos && first < last,
                "softmax.ptx has a new layout");
  const std::string kernels = text.substr(first, last - first);
  std::string module = text.substr(0, first);
  for (int copy = 0; module.size() < bytes; ++copy) {
    std::string renamed = replaced(kernels, "softmax_half", fmt::format("softmax_half_{}", copy));
    module += replaced(std::move(renamed), "softmax_bf16", fmt::format("softmax_bf16_{}", copy));
    module += '\n';
  }
  return module + text.substr(last);
}

}  // namespace bench
