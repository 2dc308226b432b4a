#include "cli/nvcc_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace raddle::cli {
namespace {

/// An option with its value, `--name=value` or `--name value`, at `words[first]`.
struct Option {
  std::size_t first = 0, last = 0;
  std::string value;
};

class NvccReader {
 public:
  explicit NvccReader(const std::vector<std::string>& words) : words_(words) {}

  std::vector<Option> all(std::initializer_list<std::string_view> names) const {
    std::vector<Option> found;
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (const std::string_view name : names) {
        if (words_[i] == name && i + 1 < words_.size()) found.push_back({i, i + 1, words_[i + 1]});
        if (words_[i].starts_with(std::string(name) + "="))
          found.push_back({i, i, words_[i].substr(name.size() + 1)});
      }
    return found;
  }

 private:
  const std::vector<std::string>& words_;
};

/// "90a" of "arch=compute_90a,code=sm_90a".
std::string architecture_of(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789af")));
}

bool has_ptx(std::string_view code) {
  return code.find("compute_") != std::string_view::npos || code.find("lto_") != std::string_view::npos;
}

/// `code=` of -gencode.
std::string_view code_of(std::string_view value) {
  const std::size_t at = value.find("code=");
  return at == std::string_view::npos ? std::string_view() : value.substr(at + 5);
}

void add_for_gencode(const std::vector<Option>& gencode, NvccOptions& options) {
  const bool some = std::any_of(gencode.begin(), gencode.end(),
                                [](const Option& each) { return has_ptx(code_of(each.value)); });
  if (gencode.empty() || some) return;
  const std::string oldest = architecture_of(gencode.front().value, "compute_");
  options.words.push_back(fmt::format("-gencode=arch=compute_{0},code=compute_{0}", oldest));
}

void add_for_code(const std::vector<Option>& arch, const std::vector<Option>& code, NvccOptions& options) {
  if (code.empty() || arch.empty()) return;
  const Option& last = code.back();
  if (has_ptx(last.value)) return;
  const std::string virtual_name = "compute_" + architecture_of(arch.back().value, "_");
  options.words[last.last] += "," + virtual_name;
}

/// -cubin, which makes machine code, becomes -ptx into the same file. @returns whether it is asked for
bool ask_for_ptx(const NvccReader& reader, NvccOptions& options) {
  bool asked = false;
  std::string input;
  for (std::string& word : options.words) {
    if (word.ends_with(".cu")) input = word;
    if (word != "-cubin" && word != "--cubin") continue;
    word = "-ptx";
    asked = true;
  }
  if (!asked) return false;
  const auto output = reader.all({"-o", "--output-file"});
  options.cubin =
      output.empty() ? std::filesystem::path(input).stem().string() + ".cubin" : output.back().value;
  if (output.empty()) options.words.insert(options.words.end(), {"-o", options.cubin});
  return true;
}

}  // namespace

NvccOptions with_ptx(const std::vector<std::string>& words) {
  NvccOptions options{words, {}, {}};
  const NvccReader reader(words);
  if (ask_for_ptx(reader, options)) return options;
  const auto gencode = reader.all({"-gencode", "--generate-code"});
  const auto arch = reader.all({"-arch", "--gpu-architecture"});
  const auto code = reader.all({"-code", "--gpu-code"});
  add_for_code(arch, code, options);
  add_for_gencode(gencode, options);
  for (const Option& each : arch)
    if (each.value == "all" || each.value == "all-major")
      options.warnings.push_back(fmt::format(
          "-arch={} leaves PTX of the newest architecture only, which may not run; name one, as -arch=sm_90",
          each.value));
  return options;
}

}  // namespace raddle::cli
