// The driver's linker: inputs are collected, linked when all are there, and come back as a cubin that carries
// their PTX (fatbin/cubin.h), which is linked again where it is loaded.
#include "base/file.h"
#include "base/notice.h"
#include "driver/code.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

/// Reads an input at once, so that the call that brought it hears what is wrong with it.
/// @param options  the input's own, which go before the link's
Status add(Link& link, CUjitInputType type, std::string bytes, std::string name, const JitLog& options) {
  if (type < JIT_INPUT_CUBIN || type > JIT_INPUT_LIBRARY) {
    link.log.error(fmt::format("{}: input of type {} is not there", name, static_cast<int>(type)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_library = type == JIT_INPUT_LIBRARY;
  const Program::Image image[] = {{bytes, name, is_library}};
  if (!is_library) TRY(read_programs(image, link.capability, link.log));
  const std::uint32_t own = options.max_registers();
  link.inputs.push_back(
      {std::move(bytes), std::move(name), is_library, own != 0 ? own : link.log.max_registers()});
  return CUDA_SUCCESS;
}

/// Checks that nothing is missing from a linked program: variables must be there, functions only if they are
/// called.
Status check_undefined(const Program& program, JitLog& log) {
  for (const std::string& kernel : program.kernels()) {
    const KernelInfo info = *program.kernel(kernel);
    for (const std::string& obstacle : info.unsupported)
      log.info(fmt::format("kernel '{}' cannot run: {}", kernel, obstacle));
  }
  const std::vector<std::string> missing = program.undefined_variables();
  for (const std::string& name : missing) {
    log.error(fmt::format("undefined variable '{}'", name));
    base::notice("raddle: undefined variable '{}'\n", name);
  }
  return missing.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

}  // namespace

Status cuLinkCreate_v2(unsigned count, int* options, void** values, CUlinkState* state) {
  if (!JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  auto link = std::make_shared<Link>();
  link->log = JitLog(count, options, values);
  link->capability = current_gpu().shape.capability;
  *state = Process::instance().links.add(std::move(link));
  return CUDA_SUCCESS;
}

Status cuLinkAddData_v2(In<Link> link, CUjitInputType type, void* data, std::size_t bytes, const char* name,
                        unsigned count, int* options, void** values) {
  if (bytes == 0 || !JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(link->mutex);
  const std::string fallback = fmt::format("<input {}>", link->inputs.size() + 1);
  return add(*link, type, {static_cast<const char*>(data), bytes}, name == nullptr ? fallback : name,
             JitLog(count, options, values));
}

Status cuLinkAddFile_v2(In<Link> link, CUjitInputType type, const char* path, unsigned count, int* options,
                        void** values) {
  if (!JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(std::string bytes, read_file(path));
  const std::lock_guard lock(link->mutex);
  return add(*link, type, std::move(bytes), path, JitLog(count, options, values));
}

Status cuLinkComplete(In<Link> link, void** cubin, std::size_t* bytes) {
  const std::lock_guard lock(link->mutex);
  std::vector<Program::Image> images;
  for (const Link::Input& input : link->inputs)
    images.push_back({input.bytes, input.name, input.is_library, input.max_registers});
  TRY_ASSIGN(const Program program, read_programs(images, link->capability, link->log));
  TRY(check_undefined(program, link->log));
  link->cubin = program.cubin(link->capability);
  *cubin = link->cubin.data();
  if (bytes != nullptr) *bytes = link->cubin.size();
  return CUDA_SUCCESS;
}

Status cuLinkDestroy(In<Link> link) {
  Process::instance().links.remove(link->handle);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
