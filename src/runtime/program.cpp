// Programs: code that was read and checked, before any device loads it.
#include <fmt/ranges.h>

#include "fatbin/image.h"
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
  std::vector<fatbin::PtxImage> found;
  for (const Image& image : images) {
    TRY_ASSIGN(std::vector<fatbin::PtxImage> of_image,
               fatbin::ptx_images(image.bytes, image.name, capability));
    std::move(of_image.begin(), of_image.end(), std::back_inserter(found));
  }
  if (found.size() != 1)
    return Error::invalid(
        "{} holds {} modules of PTX, of which one has to be chosen (raddle inspect --extract)",
        images.empty() ? "nothing" : images.front().name, found.size());
  auto impl = std::make_shared<Impl>();
  TRY_ASSIGN(impl->module, ptx::parse(found[0].text, found[0].name));
  return Program(std::move(impl));
}

std::vector<std::string> Program::kernels() const { return kernel_names(impl_->module); }

bool Program::has_kernel(std::string_view name) const { return find_kernel(impl_->module, name).ok(); }

Result<KernelInfo> Program::kernel(std::string_view name) const {
  TRY_ASSIGN(const ptx::FunctionId id, find_kernel(impl_->module, name));
  return describe(impl_->module, id);
}

}  // namespace raddle
