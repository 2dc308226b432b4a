#include "raddle/graph/kernel_code.h"

namespace raddle::graph {

Result<KernelCode> KernelCode::find(std::shared_ptr<const Program> program, const std::string& name) {
  TRY_ASSIGN(KernelInfo info, program->kernel(name));
  KernelCode code;
  code.data_ = std::make_shared<const Data>(Data{std::move(program), std::move(info)});
  return code;
}

Result<KernelCode> KernelCode::read(std::string_view image, const std::string& name,
                                    std::uint32_t capability) {
  const Program::Image images[] = {{.bytes = image}};
  TRY_ASSIGN(Program program, Program::read(images, capability));
  return find(std::make_shared<const Program>(std::move(program)), name);
}

}  // namespace raddle::graph
