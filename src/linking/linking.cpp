#include "linking/linking.h"

#include <algorithm>
#include <optional>

#include "fatbin/cubin.h"
#include "fatbin/image.h"
#include "linking/device_library.h"
#include "linking/libdevice.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace raddle::linking {
namespace {

/// A kernel's own .maxnreg goes before the assembler's option.
void limit_registers(ptx::Module& module, std::uint32_t most) {
  for (ptx::Function& function : module.functions)
    if (function.is_entry && function.directives.maxnreg == 0) function.directives.maxnreg = most;
}

/// The texts of inputs; what holds none is left out, and the first such error kept.
struct Texts {
  std::vector<fatbin::PtxImage> found;
  std::optional<Error> nothing;

  Result<void> add(const Input& input, std::uint32_t capability) {
    Result<std::vector<fatbin::PtxImage>> texts = fatbin::ptx_images(input.bytes, input.name, capability);
    if (!texts && texts.error().code != ErrorCode::unsupported) return std::move(texts.error());
    if (!texts && !nothing) nothing = std::move(texts.error());
    if (!texts) return {};
    for (fatbin::PtxImage& text : *texts) {
      if (text.max_registers == 0) text.max_registers = input.max_registers;
      found.push_back(std::move(text));
    }
    return {};
  }

  /// Code for newer devices is tried only where there is no other: NVIDIA's device runtime, which nvcc adds
  /// to relocatable code, is in PTX for its newest devices only, and Raddle has its own.
  void drop_newer() {
    const auto is_newer = [](const fatbin::PtxImage& text) { return !text.newer_than_device.empty(); };
    if (!std::all_of(found.begin(), found.end(), is_newer)) std::erase_if(found, is_newer);
  }

  Result<std::vector<ptx::Module>> parse() const {
    std::vector<ptx::Module> modules;
    for (const fatbin::PtxImage& text : found) {
      TRY_ASSIGN(ptx::Module module, ptx::parse(text.text, text.name));
      limit_registers(module, text.max_registers);
      modules.push_back(std::move(module));
    }
    return modules;
  }
};

/// Whether some module calls a function of the device library, so that it is parsed for these alone.
bool calls_device_library(const std::vector<ptx::Module>& modules) {
  constexpr std::string_view kPrefix = "cudaCG";  // of all its functions
  for (const ptx::Module& module : modules)
    for (const ptx::Function& function : module.functions)
      if (function.is_declaration && function.name.starts_with(kPrefix)) return true;
  return false;
}

/// The functions of libdevice that some module declares.
std::vector<std::string> libdevice_names(const std::vector<ptx::Module>& modules) {
  std::vector<std::string> names;
  for (const ptx::Module& module : modules)
    for (const ptx::Function& function : module.functions)
      if (function.is_declaration && function.name.starts_with(kLibdevicePrefix))
        names.push_back(function.name);
  return names;
}

}  // namespace

Result<Linked> link(std::span<const Input> inputs, std::uint32_t capability) {
  Texts texts, libraries;
  for (const Input& input : inputs) TRY((input.is_library ? libraries : texts).add(input, capability));
  texts.drop_newer();
  std::erase_if(libraries.found,
                [](const fatbin::PtxImage& text) { return !text.newer_than_device.empty(); });
  if (texts.found.empty() && texts.nothing) return std::move(*texts.nothing);
  TRY_ASSIGN(std::vector<ptx::Module> modules, texts.parse());
  TRY_ASSIGN(std::vector<ptx::Module> library, libraries.parse());
  if (calls_device_library(modules)) {
    TRY_ASSIGN(ptx::Module own, ptx::parse(kDeviceLibrary, kDeviceLibraryName));
    library.push_back(std::move(own));
  }
  std::vector<std::string> math = libdevice_names(modules);
  for (std::string& name : libdevice_names(library)) math.push_back(std::move(name));
  if (const std::string text = math.empty() ? "" : libdevice_module(math); !text.empty()) {
    TRY_ASSIGN(ptx::Module own, ptx::parse(text, kLibdeviceName));
    library.push_back(std::move(own));
  }
  Linked linked;
  for (fatbin::PtxImage& text : texts.found)
    linked.texts.push_back({std::move(text.text), text.name, false, text.max_registers});
  for (fatbin::PtxImage& text : libraries.found)
    linked.texts.push_back({std::move(text.text), text.name, true, text.max_registers});
  TRY_ASSIGN(linked.module, ptx::link(std::move(modules), std::move(library),
                                      inputs.empty() ? "<nothing>" : inputs.front().name));
  return linked;
}

std::vector<std::string> parts(const ptx::Module& module) {
  if (module.parts.empty()) return {module.name};
  std::vector<std::string> names;
  for (const ptx::Part& part : module.parts) names.push_back(part.name);
  return names;
}

std::vector<std::string> undefined_variables(const ptx::Module& module) {
  std::vector<std::string> names;
  for (const ptx::Variable& variable : module.variables) {
    const bool has_address = variable.space == ptx::Space::global || variable.space == ptx::Space::const_;
    if (has_address && variable.linkage == ptx::Linkage::extern_) names.push_back(variable.name);
  }
  return names;
}

std::vector<std::string> undefined_names(const ptx::Module& module) {
  std::vector<std::string> names = undefined_variables(module);
  for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
    const ptx::Function& function = module.functions[id];
    if (!function.is_entry || function.is_declaration) continue;
    for (std::string& name : ptx::analyze(module, id).unresolved)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string write_cubin(const Linked& linked, std::uint32_t capability) {
  const std::vector<std::string> needed = parts(linked.module);
  std::vector<fatbin::NamedText> texts;
  for (const Linked::Text& text : linked.texts)
    if (!text.is_library || std::find(needed.begin(), needed.end(), text.name) != needed.end())
      texts.push_back({text.name, text.text, text.max_registers});
  return fatbin::write_cubin(texts, capability);
}

}  // namespace raddle::linking
