#include "nvjitlink/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace raddle::nvjitlink {
namespace {

/// Those that tune machine code, of nvJitLink 13; with "=" they take a value.
constexpr std::string_view kWithoutEffect[] = {"-time",
                                               "-verbose",
                                               "-O0",
                                               "-O1",
                                               "-O2",
                                               "-O3",
                                               "-g",
                                               "-lineinfo",
                                               "-ftz=",
                                               "-prec-div=",
                                               "-prec-sqrt=",
                                               "-fma=",
                                               "-kernels-used=",
                                               "-variables-used=",
                                               "-optimize-unused-variables",
                                               "-Xptxas=",
                                               "-Xnvvm=",
                                               "-split-compile=",
                                               "-split-compile-extended=",
                                               "-jump-table-density=",
                                               "-no-cache",
                                               "-device-stack-protector=",
                                               "-r"};

bool has_no_effect(std::string_view word) {
  return std::any_of(std::begin(kWithoutEffect), std::end(kWithoutEffect), [&](std::string_view known) {
    return known.ends_with('=') ? word.starts_with(known) : word == known;
  });
}

/// "90" of "sm_90a" and "compute_90".
nvJitLinkResult read_architecture(std::string_view name, Options& options, bool& is_virtual) {
  is_virtual = name.starts_with("compute_");
  if (!is_virtual && !name.starts_with("sm_")) return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
  name.remove_prefix(name.find('_') + 1);
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), options.capability);
  const std::string_view suffix(end, static_cast<std::size_t>(name.data() + name.size() - end));
  if (error != std::errc() || !(suffix.empty() || suffix == "a" || suffix == "f"))
    return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
  constexpr std::uint32_t kOldest = 75, kNewest = 121;  // of CUDA 13
  if (options.capability < kOldest) return NVJITLINK_ERROR_UNSUPPORTED_ARCH;
  return options.capability > kNewest ? NVJITLINK_ERROR_UNRECOGNIZED_ARCH : NVJITLINK_SUCCESS;
}

}  // namespace

nvJitLinkResult read_options(std::uint32_t count, const char* const* words, Options& options) {
  constexpr std::string_view kArch = "-arch=", kRegisters = "-maxrregcount=";
  bool lto = false, has_arch = false, is_virtual = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (words[i] == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
    const std::string_view word = words[i];
    if (word.starts_with(kArch)) {
      const auto result = read_architecture(word.substr(kArch.size()), options, is_virtual);
      if (result != NVJITLINK_SUCCESS) return result;
      has_arch = true;
    } else if (word.starts_with(kRegisters)) {
      std::from_chars(word.data() + kRegisters.size(), word.data() + word.size(), options.max_registers);
    } else if (word == "-lto" || word == "-dlto") {
      lto = true;
    } else if (word == "-ptx") {
      options.wants_ptx = true;
    } else if (!has_no_effect(word)) {
      return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    }
  }
  if (!has_arch) return NVJITLINK_ERROR_MISSING_ARCH;
  const bool makes_ptx = lto && options.wants_ptx;
  if ((options.wants_ptx && !lto) || (is_virtual && !makes_ptx)) return NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS;
  return NVJITLINK_SUCCESS;
}

}  // namespace raddle::nvjitlink
