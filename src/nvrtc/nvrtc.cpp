// libnvrtc.so.13: NVRTC for programs that load the machine code it makes. Compilation is NVIDIA's, but for a
// virtual architecture, and the "cubin" carries the PTX (fatbin/cubin.h).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fatbin/cubin.h"
#include "nvrtc/abi.h"
#include "nvrtc/real.h"

namespace raddle::nvrtc {
namespace {

struct Compiled {
  std::uint32_t capability = 0;
  bool is_lto = false;  ///< to be linked before it runs: the cubin is handed out as LTO-IR
  std::string cubin;
};

std::mutex mutex;
std::map<nvrtcProgram, Compiled> programs;  // those that carry PTX

bool asks_for_lto(std::string_view word) {
  return word == "-dlto" || word == "--dlto" || word == "-dlink-time-opt" || word == "--dlink-time-opt";
}

/// "compute_90a" for "sm_90a"; notes the architecture, of LTO-IR a virtual one, too.
std::string virtual_architecture(std::string_view name, Compiled& compiled) {
  const bool is_real = name.starts_with("sm_");
  if (!is_real && !compiled.is_lto) return std::string(name);
  const std::string number(name.substr(std::min(name.size(), name.find('_') + 1)));
  compiled.capability = static_cast<std::uint32_t>(std::strtoul(number.c_str(), nullptr, 10));
  return "compute_" + number;
}

/// The options with real architectures made virtual: -arch=sm_90, --gpu-architecture sm_90. Instead of
/// LTO-IR, which only NVIDIA's linker reads, there is relocatable PTX.
std::vector<std::string> with_virtual_architecture(int count, const char* const* options,
                                                   Compiled& compiled) {
  std::vector<std::string> words;
  bool is_value = false;
  for (int i = 0; i < count; ++i) compiled.is_lto |= options[i] != nullptr && asks_for_lto(options[i]);
  for (int i = 0; i < count; ++i) {
    std::string word = options[i] == nullptr ? "" : options[i];
    if (asks_for_lto(word)) word = "--relocatable-device-code=true";
    if (is_value) word = virtual_architecture(word, compiled);
    is_value = word == "-arch" || word == "--gpu-architecture";
    for (const std::string_view name : {"-arch=", "--gpu-architecture="})
      if (word.starts_with(name))
        word = std::string(name) + virtual_architecture(std::string_view(word).substr(name.size()), compiled);
    words.push_back(std::move(word));
  }
  return words;
}

nvrtcResult make_cubin(nvrtcProgram program, Compiled& compiled) {
  std::size_t bytes = 0;
  if (const nvrtcResult result = real().nvrtcGetPTXSize(program, &bytes); result != NVRTC_SUCCESS)
    return result;
  std::string text(bytes, '\0');
  if (const nvrtcResult result = real().nvrtcGetPTX(program, text.data()); result != NVRTC_SUCCESS)
    return result;
  text.resize(text.find_last_not_of('\0') + 1);
  const fatbin::NamedText texts[] = {{"<nvrtc>", std::move(text)}};
  compiled.cubin = fatbin::write_cubin(texts, compiled.capability);
  return NVRTC_SUCCESS;
}

/// The code of a program that carries PTX, as a cubin or as LTO-IR; false: NVIDIA's answer.
bool give_size(nvrtcProgram program, bool is_lto, std::size_t* bytes) {
  const std::lock_guard lock(mutex);
  const auto found = programs.find(program);
  if (found == programs.end() || found->second.is_lto != is_lto || bytes == nullptr) return false;
  *bytes = found->second.cubin.size();
  return true;
}

bool give_code(nvrtcProgram program, bool is_lto, char* code) {
  const std::lock_guard lock(mutex);
  const auto found = programs.find(program);
  if (found == programs.end() || found->second.is_lto != is_lto || code == nullptr) return false;
  std::memcpy(code, found->second.cubin.data(), found->second.cubin.size());
  return true;
}

}  // namespace

namespace entry {

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (count < 0 || (count != 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  Compiled compiled;
  const std::vector<std::string> words = with_virtual_architecture(count, options, compiled);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  nvrtcResult result = real().nvrtcCompileProgram(program, count, pointers.data());
  if (result == NVRTC_SUCCESS && compiled.capability != 0) result = make_cubin(program, compiled);
  const std::lock_guard lock(mutex);
  if (result == NVRTC_SUCCESS && compiled.capability != 0)
    programs[program] = std::move(compiled);
  else
    programs.erase(program);
  return result;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program != nullptr) {
    const std::lock_guard lock(mutex);
    programs.erase(*program);
  }
  return real().nvrtcDestroyProgram(program);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  return give_size(program, false, bytes) ? NVRTC_SUCCESS : real().nvrtcGetCUBINSize(program, bytes);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  return give_code(program, false, cubin) ? NVRTC_SUCCESS : real().nvrtcGetCUBIN(program, cubin);
}
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, std::size_t* bytes) {
  return give_size(program, true, bytes) ? NVRTC_SUCCESS : real().nvrtcGetLTOIRSize(program, bytes);
}
nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char* code) {
  return give_code(program, true, code) ? NVRTC_SUCCESS : real().nvrtcGetLTOIR(program, code);
}

}  // namespace entry

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define FORWARD(name, parameters, arguments)                                            \
  EXPORTED nvrtcResult name parameters {                                                \
    return real().name == nullptr ? NVRTC_ERROR_INTERNAL_ERROR : real().name arguments; \
  }
#define ENTRY(name, parameters, arguments)                                              \
  EXPORTED nvrtcResult name parameters {                                                \
    return real().name == nullptr ? NVRTC_ERROR_INTERNAL_ERROR : entry::name arguments; \
  }
#include "nvrtc/entries.def"
#undef ENTRY
#undef FORWARD

EXPORTED const char* nvrtcGetErrorString(nvrtcResult result) {
  if (real().nvrtcGetErrorString != nullptr) return real().nvrtcGetErrorString(result);
  return "NVIDIA's NVRTC, which Raddle's forwards to, is not there";
}

}  // namespace raddle::nvrtc
