// The driver's linker: inputs are collected, linked when all are there, and come back as a cubin that carries
// their PTX (fatbin/cubin.h), which is linked again where it is loaded.
#include <algorithm>

#include "base/file.h"
#include "driver/code.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "fatbin/cubin.h"
#include "fatbin/image.h"

namespace raddle::driver::entry {
namespace {

CUresult find_link(CUlinkState handle, std::shared_ptr<Link>& link) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  link = Process::instance().links.find(handle);
  return link != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/// Reads an input at once, so that the call that brought it hears what is wrong with it.
CUresult add(Link& link, CUjitInputType type, std::string bytes, std::string name) {
  if (type < JIT_INPUT_CUBIN || type > JIT_INPUT_LIBRARY) {
    link.log.error(fmt::format("{}: input of type {} is not there", name, static_cast<int>(type)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_library = type == JIT_INPUT_LIBRARY;
  const Program::Image image[] = {{bytes, name, is_library}};
  std::optional<Program> alone;
  if (!is_library) {
    const CUresult result = read_programs(image, link.log, alone);
    if (result != CUDA_SUCCESS) return result;
  }
  link.inputs.push_back({std::move(bytes), std::move(name), is_library});
  return CUDA_SUCCESS;
}

/// The texts of all inputs that the linked program has, for the cubin.
Result<std::string> make_cubin(const std::vector<Link::Input>& inputs, const Program& program) {
  const std::uint32_t capability = Process::instance().shape().capability;
  const std::vector<std::string> linked = program.parts();
  std::vector<fatbin::NamedText> texts;
  for (const Link::Input& input : inputs) {
    Result<std::vector<fatbin::PtxImage>> images = fatbin::ptx_images(input.bytes, input.name, capability);
    if (!images && input.is_library) continue;
    if (!images) return std::move(images.error());
    for (fatbin::PtxImage& image : *images)
      if (std::find(linked.begin(), linked.end(), image.name) != linked.end())
        texts.push_back({std::move(image.name), std::move(image.text)});
  }
  return fatbin::write_cubin(texts, capability);
}

/// What is missing of a linked program: variables must be there, functions only where they are called.
CUresult check_undefined(const Program& program, JitLog& log) {
  for (const std::string& kernel : program.kernels()) {
    const KernelInfo info = *program.kernel(kernel);
    for (const std::string& obstacle : info.unsupported)
      log.info(fmt::format("kernel '{}' cannot run: {}", kernel, obstacle));
  }
  const std::vector<std::string> missing = program.undefined_variables();
  for (const std::string& name : missing) {
    log.error(fmt::format("undefined variable '{}'", name));
    fmt::print(stderr, "raddle: undefined variable '{}'\n", name);
  }
  return missing.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned count, int* options, void** values, CUlinkState* state) {
  if (state == nullptr || !JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  auto link = std::make_shared<Link>();
  link->log = JitLog(count, options, values);
  *state = Process::instance().links.add<CUlinkState>(std::move(link));
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, std::size_t bytes,
                          const char* name, unsigned count, int* options, void** values) {
  if (data == nullptr || bytes == 0 || !JitLog::has_options(count, options, values))
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Link> link;
  if (const CUresult result = find_link(state, link); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(link->mutex);
  const std::string fallback = fmt::format("<input {}>", link->inputs.size() + 1);
  return add(*link, type, {static_cast<const char*>(data), bytes}, name == nullptr ? fallback : name);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned count,
                          int* options, void** values) {
  if (path == nullptr || !JitLog::has_options(count, options, values)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Link> link;
  if (const CUresult result = find_link(state, link); result != CUDA_SUCCESS) return result;
  Result<std::string> bytes = read_file(path);
  if (!bytes) return result_of(bytes.error());
  const std::lock_guard lock(link->mutex);
  return add(*link, type, std::move(*bytes), path);
}

CUresult cuLinkComplete(CUlinkState state, void** cubin, std::size_t* bytes) {
  if (cubin == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Link> link;
  if (const CUresult result = find_link(state, link); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(link->mutex);
  std::vector<Program::Image> images;
  for (const Link::Input& input : link->inputs) images.push_back({input.bytes, input.name, input.is_library});
  std::optional<Program> program;
  if (const CUresult result = read_programs(images, link->log, program); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = check_undefined(*program, link->log); result != CUDA_SUCCESS) return result;
  Result<std::string> made = make_cubin(link->inputs, *program);
  if (!made) return result_of(made.error());
  link->cubin = std::move(*made);
  *cubin = link->cubin.data();
  if (bytes != nullptr) *bytes = link->cubin.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  std::shared_ptr<Link> link;
  if (const CUresult result = find_link(state, link); result != CUDA_SUCCESS) return result;
  Process::instance().links.remove(state);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
