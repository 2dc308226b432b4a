// Programs: code that was read, checked and linked, before any device loads it.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "fatbin/image.h"
#include "ptx/layout.h"
#include "ptx/link.h"
#include "ptx/parser.h"
#include "runtime/device_impl.h"

namespace raddle {

std::vector<std::string> kernel_names(const ptx::Module& program) {
  std::vector<std::string> names;
  for (const ptx::Function& function : program.functions)
    if (function.is_entry && !function.is_declaration) names.push_back(function.name);
  return names;
}

Result<ptx::FunctionId> find_kernel(const ptx::Module& program, std::string_view name) {
  const ptx::Function* function = program.find_function(name);
  if (function == nullptr || !function->is_entry || function->is_declaration) {
    return Error::make(ErrorCode::not_found, "{} has no kernel '{}'; it has {}", program.name, name,
                       fmt::join(kernel_names(program), ", "));
  }
  return static_cast<ptx::FunctionId>(function - program.functions.data());
}

std::vector<std::string> undefined_variables(const ptx::Module& program) {
  std::vector<std::string> names;
  for (const ptx::Variable& variable : program.variables) {
    const bool has_address = variable.space == ptx::Space::global || variable.space == ptx::Space::const_;
    if (has_address && variable.linkage == ptx::Linkage::extern_) names.push_back(variable.name);
  }
  return names;
}

namespace {

/// The texts of images; what holds none is left out, and the first such error kept.
struct Texts {
  std::vector<fatbin::PtxImage> found;
  std::optional<Error> nothing;

  Result<void> add(const Program::Image& image, std::uint32_t capability) {
    Result<std::vector<fatbin::PtxImage>> texts = fatbin::ptx_images(image.bytes, image.name, capability);
    if (!texts && texts.error().code != ErrorCode::unsupported) return std::move(texts.error());
    if (!texts && !nothing) nothing = std::move(texts.error());
    if (texts) std::move(texts->begin(), texts->end(), std::back_inserter(found));
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
      modules.push_back(std::move(module));
    }
    return modules;
  }
};

}  // namespace

Result<Program> Program::read(std::span<const Image> images, std::uint32_t capability) {
  Texts texts, libraries;
  for (const Image& image : images) TRY((image.is_library ? libraries : texts).add(image, capability));
  texts.drop_newer();
  std::erase_if(libraries.found,
                [](const fatbin::PtxImage& text) { return !text.newer_than_device.empty(); });
  if (texts.found.empty() && texts.nothing) return std::move(*texts.nothing);
  TRY_ASSIGN(std::vector<ptx::Module> modules, texts.parse());
  TRY_ASSIGN(std::vector<ptx::Module> library, libraries.parse());
  auto impl = std::make_shared<Impl>();
  for (fatbin::PtxImage& text : texts.found) impl->texts.push_back({std::move(text.text), text.name, false});
  for (fatbin::PtxImage& text : libraries.found)
    impl->texts.push_back({std::move(text.text), text.name, true});
  TRY_ASSIGN(impl->module, ptx::link(std::move(modules), std::move(library),
                                     images.empty() ? "<nothing>" : images.front().name));
  return Program(std::move(impl));
}

std::vector<std::string> Program::texts() const {
  std::vector<std::string> texts;
  for (const Impl::Text& text : impl_->texts)
    if (!text.is_library) texts.push_back(text.text);
  return texts;
}

std::vector<std::string> Program::parts() const {
  if (impl_->module.parts.empty()) return {impl_->module.name};
  std::vector<std::string> names;
  for (const ptx::Part& part : impl_->module.parts) names.push_back(part.name);
  return names;
}

std::vector<std::string> Program::undefined_variables() const {
  return raddle::undefined_variables(impl_->module);
}

std::uint64_t Program::global_bytes() const { return ptx::global_bytes(impl_->module); }

std::vector<std::pair<std::string, std::uint64_t>> Program::managed_variables() const {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const ptx::Variable& variable : impl_->module.variables)
    if (variable.managed && variable.space == ptx::Space::global)
      found.emplace_back(variable.name, std::max<std::uint64_t>(variable.size, 1));
  return found;
}

std::vector<std::string> Program::kernels() const { return kernel_names(impl_->module); }

std::vector<std::string> Program::unusable_kernels() const {
  const ptx::Module& module = impl_->module;
  const auto can_run = [](const ptx::Function& function) { return function.unsupported.empty(); };
  std::vector<std::string> names;
  if (std::all_of(module.functions.begin(), module.functions.end(), can_run)) return names;
  for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
    const ptx::Function& function = module.functions[id];
    if (!function.is_entry || function.is_declaration) continue;
    const std::vector<ptx::FunctionId> closure = ptx::call_closure(module, id);
    if (!std::all_of(closure.begin(), closure.end(),
                     [&](ptx::FunctionId f) { return can_run(module.functions[f]); }))
      names.push_back(function.name);
  }
  return names;
}

bool Program::has_kernel(std::string_view name) const { return find_kernel(impl_->module, name).ok(); }

Result<KernelInfo> Program::kernel(std::string_view name) const {
  TRY_ASSIGN(const ptx::FunctionId id, find_kernel(impl_->module, name));
  return describe(impl_->module, id);
}

}  // namespace raddle
