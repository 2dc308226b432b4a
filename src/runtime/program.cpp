// Programs: code that was read, checked and linked, before any device loads it.
#include <fmt/ranges.h>

#include <algorithm>

#include "linking/linking.h"
#include "ptx/layout.h"
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

Result<Program> Program::read(std::span<const Image> images, std::uint32_t capability) {
  std::vector<linking::Input> inputs;
  for (const Image& image : images)
    inputs.push_back({image.bytes, image.name, image.is_library, image.max_registers});
  TRY_ASSIGN(linking::Linked linked, linking::link(inputs, capability));
  return Program(std::make_shared<Impl>(Impl{{std::move(linked)}}));
}

std::vector<std::string> Program::texts() const {
  std::vector<std::string> texts;
  for (const Impl::Text& text : impl_->texts)
    if (!text.is_library) texts.push_back(text.text);
  return texts;
}

std::vector<std::string> Program::parts() const { return linking::parts(impl_->module); }

std::string Program::cubin(std::uint32_t capability) const {
  return linking::write_cubin(*impl_, capability);
}

std::vector<std::string> Program::undefined_variables() const {
  return linking::undefined_variables(impl_->module);
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
