#include "cli/ptxas_options.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "base/file.h"

namespace raddle::cli {
namespace {

enum class Takes { nothing, value };

struct Known {
  std::string_view name, short_name;
  Takes takes;
};

// Of ptxas 13.0, by its own --help; without dashes. A value may be attached to one-letter names: -O3, -m64.
constexpr Known kKnown[] = {
    {"Ofast-compile", "Ofc", Takes::value},
    {"allow-expensive-optimizations", "", Takes::value},
    {"compile-as-tools-patch", "astoolspatch", Takes::nothing},
    {"compile-only", "c", Takes::nothing},
    {"compiler-annotations", "annotate", Takes::nothing},
    {"def-load-cache", "dlcm", Takes::value},
    {"def-store-cache", "dscm", Takes::value},
    {"device-debug", "g", Takes::nothing},
    {"device-function-maxrregcount", "func-maxrregcount", Takes::value},
    {"device-stack-protector", "", Takes::value},
    {"disable-optimizer-constants", "disable-optimizer-consts", Takes::nothing},
    {"disable-warnings", "w", Takes::nothing},
    {"dont-merge-basicblocks", "no-bb-merge", Takes::nothing},
    {"entry", "e", Takes::value},
    {"extensible-whole-program", "ewp", Takes::nothing},
    {"fmad", "", Takes::value},
    {"force-load-cache", "flcm", Takes::value},
    {"force-store-cache", "fscm", Takes::value},
    {"g-tensor-memory-access-check", "g-tmem-access-check", Takes::nothing},
    {"generate-line-info", "lineinfo", Takes::nothing},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", Takes::nothing},
    {"gpu-name", "arch", Takes::value},
    {"help", "h", Takes::nothing},
    {"input-as-string", "ias", Takes::value},
    {"legacy-bar-warp-wide-behavior", "", Takes::nothing},
    {"machine", "m", Takes::value},
    {"make-errors-visible-at-exit", "", Takes::nothing},
    {"maxntid", "", Takes::value},
    {"maxrregcount", "", Takes::value},
    {"minnctapersm", "", Takes::value},
    {"opt-level", "O", Takes::value},
    {"optimize-float-atomics", "opt-fp-atomics", Takes::nothing},
    {"options-file", "optf", Takes::value},
    {"output-file", "o", Takes::value},
    {"override-directive-values", "", Takes::nothing},
    {"position-independent-code", "pic", Takes::value},
    {"preserve-relocs", "", Takes::nothing},
    {"register-usage-level", "regUsageLevel", Takes::value},
    {"regAllocOptLevel", "", Takes::value},  // not in --help; Triton passes it
    {"return-at-end", "ret-end", Takes::nothing},
    {"sanitize", "", Takes::value},
    {"sp-bounds-check", "", Takes::nothing},
    {"split-compile", "", Takes::value},
    {"suppress-async-bulk-multicast-advisory-warning", "", Takes::nothing},
    {"suppress-debug-info", "", Takes::nothing},
    {"suppress-double-demote-warning", "", Takes::nothing},
    {"suppress-sparse-mma-advisory-info", "", Takes::nothing},
    {"suppress-stack-size-warning", "", Takes::nothing},
    {"verbose", "v", Takes::nothing},
    {"version", "V", Takes::nothing},
    {"warn-on-double-precision-use", "warn-double-usage", Takes::nothing},
    {"warn-on-local-memory-usage", "warn-lmem-usage", Takes::nothing},
    {"warn-on-spills", "warn-spills", Takes::nothing},
    {"warning-as-error", "Werror", Takes::nothing},
};

const Known* find_option(std::string_view name) {
  for (const Known& known : kKnown)
    if (name == known.name || (!known.short_name.empty() && name == known.short_name)) return &known;
  return nullptr;
}

/// An option and its value, if attached: -arch=sm_90, -O3.
const Known* split(std::string_view word, std::string_view& value) {
  const bool is_long = word.starts_with("--");
  word.remove_prefix(is_long ? 2 : 1);
  const std::size_t equals = word.find('=');
  value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  if (const Known* known = find_option(word.substr(0, equals))) return known;
  const Known* letter = word.empty() || is_long ? nullptr : find_option(word.substr(0, 1));
  if (letter == nullptr || letter->takes != Takes::value) return nullptr;
  value = word.substr(1);
  return letter;
}

Result<void> set_architecture(std::string_view name, PtxasOptions& options) {
  const std::size_t digits = name.find('_') + 1;
  const bool is_virtual = name.starts_with("compute_");
  const char* end = name.data() + name.size();
  const auto number = std::from_chars(name.data() + digits, end, options.capability);
  const bool suffixed = number.ptr + 1 == end && (*number.ptr == 'a' || *number.ptr == 'f');
  if ((!is_virtual && !name.starts_with("sm_")) || number.ec != std::errc() || options.capability < 20 ||
      options.capability > 999 || (number.ptr != end && !suffixed))
    return Error::invalid("Value '{}' is not defined for option 'gpu-name'", name);
  options.architecture = name;
  options.only_check = is_virtual;
  return {};
}

class Parser {
 public:
  Result<PtxasOptions> run(const std::vector<std::string>& words) {
    TRY(read(words));
    return std::move(options_);
  }

 private:
  Result<void> read(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 2 || word[0] != '-') {
        options_.files.push_back(word);
        continue;
      }
      std::string_view value;
      const Known* known = split(word, value);
      if (known == nullptr) {
        options_.unknown.push_back(word);
        continue;
      }
      if (known->takes == Takes::value && value.empty()) {
        if (++i == words.size()) return Error::invalid("Option '{}' has no value", word);
        value = words[i];
      }
      TRY(apply(known->name, value));
    }
    return {};
  }

  Result<void> apply(std::string_view name, std::string_view value) {
    if (name == "gpu-name") return set_architecture(value, options_);
    if (name == "maxrregcount")
      std::from_chars(value.data(), value.data() + value.size(), options_.max_registers);
    if (name == "output-file") options_.output = value;
    if (name == "input-as-string") options_.texts.emplace_back(value);
    if (name == "verbose") options_.verbose = true;
    if (name == "version") options_.version = true;
    if (name == "help") options_.help = true;
    if (name == "disable-warnings") options_.no_warnings = true;
    if (name == "warning-as-error") options_.warnings_are_errors = true;
    return name == "options-file" ? read_file_of_options(std::string(value)) : Result<void>();
  }

  Result<void> read_file_of_options(const std::string& path) {
    if (++depth_ > 10) return Error::invalid("options files name one another: '{}'", path);
    const Result<std::string> text = read_file(path);
    if (!text) return Error::invalid("Options file '{}' could not be opened", path);
    std::vector<std::string> words(1);
    for (const char c : *text) {
      if (c != ' ' && c != '\n' && c != '\t')
        words.back() += c;
      else if (!words.back().empty())
        words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    return read(words);
  }

  PtxasOptions options_;
  int depth_ = 0;
};

}  // namespace

Result<PtxasOptions> parse_ptxas(const std::vector<std::string>& words) { return Parser().run(words); }

}  // namespace raddle::cli
