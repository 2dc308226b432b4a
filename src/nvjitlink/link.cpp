#include "nvjitlink/link.h"

#include <fmt/format.h>

#include "fatbin/archive.h"
#include "fatbin/container.h"
#include "fatbin/cubin.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace raddle::nvjitlink {
namespace {

bool is_fat_binary(std::string_view bytes) {
  return fatbin::is_fat_binary({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

bool is_ptx(std::string_view bytes) { return bytes.find(".version") != std::string_view::npos; }

bool is_host_object(std::string_view bytes) {
  return bytes.starts_with("\177ELF") && !fatbin::is_cubin(bytes);
}

/// What bytes are; NVJITLINK_INPUT_ANY: nothing that is known.
nvJitLinkInputType type_of(std::string_view bytes) {
  if (is_fat_binary(bytes)) return NVJITLINK_INPUT_FATBIN;
  if (fatbin::is_cubin(bytes)) return NVJITLINK_INPUT_CUBIN;
  if (is_host_object(bytes)) return NVJITLINK_INPUT_OBJECT;
  if (fatbin::is_archive(bytes)) return NVJITLINK_INPUT_LIBRARY;
  return is_ptx(bytes) ? NVJITLINK_INPUT_PTX : NVJITLINK_INPUT_ANY;
}

/// Where LTO-IR is asked for, Raddle's NVRTC hands out its cubins and its libNVVM PTX: all are code to be
/// linked before it runs.
bool may_be(nvJitLinkInputType said, nvJitLinkInputType found) {
  const bool is_bad_ptx = said == NVJITLINK_INPUT_PTX && found == NVJITLINK_INPUT_ANY;
  return said == found || said == NVJITLINK_INPUT_ANY || is_bad_ptx ||
         (said == NVJITLINK_INPUT_LTOIR && (found == NVJITLINK_INPUT_CUBIN || found == NVJITLINK_INPUT_PTX));
}

/// What parses and what NVIDIA's assembler refuses all the same.
std::vector<std::string> mistakes(const ptx::Module& module, std::uint32_t capability) {
  std::vector<std::string> wrong;
  if (ptx::target_capability(module) > capability)
    wrong.push_back(fmt::format("'.target {}' is newer than sm_{}", module.target, capability));
  for (const ptx::Function& function : module.functions)
    for (const ptx::Unsupported& part : function.unsupported)
      if (part.unknown)
        wrong.push_back(fmt::format("line {}: {}: {}", part.first_line, part.what, part.reason));
  return wrong;
}

}  // namespace

nvJitLinkResult Link::add(nvJitLinkInputType type, std::string bytes, std::string name) {
  if (bytes.empty()) {
    errors += fmt::format("unsupported input type: {}\n", name);
    return NVJITLINK_ERROR_INVALID_INPUT;
  }
  const nvJitLinkInputType found = type_of(bytes);
  if (found == NVJITLINK_INPUT_ANY && type == NVJITLINK_INPUT_ANY) {
    errors += fmt::format("unrecognized input type: {}\n", name);
    return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
  }
  if (type == NVJITLINK_INPUT_LTOIR && !may_be(type, found)) {
    errors += fmt::format("{}: LTO-IR of NVIDIA's compiler cannot be linked by Raddle; give PTX\n", name);
    return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
  }
  if (!may_be(type, found)) {
    errors +=
        fmt::format("bad input: {} is not of the type {} that was said\n", name, static_cast<int>(type));
    return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
  }
  const bool is_library = found == NVJITLINK_INPUT_LIBRARY || found == NVJITLINK_INPUT_OBJECT;
  if (!is_library) {
    const nvJitLinkResult result = check({bytes, name});
    if (result != NVJITLINK_SUCCESS) return result;
  }
  inputs.push_back({std::move(bytes), std::move(name), is_library});
  return NVJITLINK_SUCCESS;
}

nvJitLinkResult Link::check(const linking::Input& input) {
  const auto linked = linking::link({&input, 1}, options.capability);
  if (!linked) {
    errors += linked.error().to_string() + "\n";
    return linked.error().code == ErrorCode::invalid ? NVJITLINK_ERROR_PTX_COMPILE
                                                     : NVJITLINK_ERROR_INVALID_INPUT;
  }
  const std::vector<std::string> wrong = mistakes(linked->module, options.capability);
  for (const std::string& each : wrong) errors += fmt::format("{}: {}\n", input.name, each);
  return wrong.empty() ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_PTX_COMPILE;
}

nvJitLinkResult Link::complete() {
  if (inputs.empty()) return NVJITLINK_SUCCESS;
  std::vector<linking::Input> all;
  for (const Input& input : inputs)
    all.push_back({input.bytes, input.name, input.is_library, options.max_registers});
  auto linked = linking::link(all, options.capability);
  if (!linked) {
    errors += linked.error().to_string() + "\n";
    return NVJITLINK_ERROR_INTERNAL;
  }
  const std::vector<std::string> missing = linking::undefined_names(linked->module);
  for (const std::string& name : missing)
    errors += fmt::format("error   : Undefined reference to '{}'\n", name);
  if (!missing.empty()) return NVJITLINK_ERROR_INTERNAL;
  if (options.wants_ptx)
    ptx = ptx::print(linked->module) + '\0';
  else
    cubin = linking::write_cubin(*linked, options.capability);
  is_complete = true;
  return NVJITLINK_SUCCESS;
}

}  // namespace raddle::nvjitlink
