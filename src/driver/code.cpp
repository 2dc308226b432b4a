#include "driver/code.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/notice.h"
#include "driver/logs.h"
#include "driver/process.h"
#include "driver/results.h"
#include "fatbin/image.h"
#include "fatbin/wrapper.h"

namespace raddle::driver {
namespace {

// A mistake in code deserves more than a number.
CUresult result_of_code(const Error& error, JitLog& log) {
  base::notice("raddle: {}\n", error.to_string());
  log_error(error.to_string());
  log.error(error.to_string());
  if (error.code == ErrorCode::unsupported) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return error.code == ErrorCode::invalid ? CUDA_ERROR_INVALID_PTX : result_of(error);
}

/// RADDLE_DUMP=DIRECTORY: the PTX of what a program loads, a file for each text, numbered as they come.
void dump(std::span<const Program::Image> images, std::uint32_t capability) {
  static const char* const directory = std::getenv("RADDLE_DUMP");
  static std::atomic<unsigned> next{1};
  if (directory == nullptr) return;
  for (const Program::Image& image : images) {
    const auto texts = fatbin::ptx_images(image.bytes, image.name, capability);
    if (!texts) continue;
    for (const fatbin::PtxImage& text : *texts) {
      std::string name = std::filesystem::path(text.name).filename().string();
      if (!name.ends_with(".ptx")) name += ".ptx";
      const std::string path = fmt::format("{}/{:03}.{}", directory, next++, name);
      std::ofstream file(path, std::ios::binary);
      if (!(file << text.text).flush()) fmt::print(stderr, "raddle: RADDLE_DUMP: cannot write {}\n", path);
    }
  }
}

/// Once for a program, before anything of it runs: a program that ignores the error of the launch would show
/// figures that no kernel computed (K-17h).
/// @param to_run  see read()
void tell_unusable(const Program& program, JitLog& log, bool to_run) {
  constexpr std::size_t kMostNamed = 10;
  const std::vector<std::string> kernels = program.unusable_kernels();
  for (std::size_t i = 0; i < kernels.size() && i < kMostNamed; ++i) {
    std::string text =
        fmt::format("kernel '{}' of {} cannot run, the others can:", kernels[i], program.parts().front());
    const auto needs = program.kernel(kernels[i]);  // lives as long as the loop over a part of it
    for (const std::string& obstacle : needs->unsupported)
      text += "\n  " + obstacle.substr(0, obstacle.find('\n'));
    if (to_run) base::notice("raddle: {}\n", text);
    log.info(text);
  }
  if (to_run && kernels.size() > kMostNamed)
    base::notice("raddle: and {} more of its kernels; `raddle doctor` names them\n",
                 kernels.size() - kMostNamed);
}

/// @param to_run  it will run: stderr names what cannot run as well
Answer<Program> read(std::span<const Program::Image> images, std::uint32_t capability, JitLog& log,
                     bool to_run) {
  dump(images, capability);
  Result<Program> found = Program::read(images, capability);
  if (!found) return result_of_code(found.error(), log);
  tell_unusable(*found, log, to_run);
  return std::move(*found);
}

}  // namespace

Answer<Program> read_programs(std::span<const Program::Image> images, std::uint32_t capability, JitLog& log) {
  return read(images, capability, log, false);
}

Answer<Program> read_program(const void* image, std::uint32_t capability, JitLog& log) {
  const auto found = fatbin::images_at(image);
  if (!found) return CUDA_ERROR_INVALID_IMAGE;
  std::vector<Program::Image> images;
  for (const std::string_view bytes : *found)
    images.push_back({.bytes = bytes, .max_registers = log.max_registers()});
  return read(images, capability, log, true);
}

Answer<Program> read_program_file(const char* path, std::uint32_t capability, JitLog& log) {
  TRY_ASSIGN(const std::string bytes, read_file(path));
  const Program::Image images[] = {{.bytes = bytes, .name = path, .max_registers = log.max_registers()}};
  return read(images, capability, log, true);
}

Answer<std::shared_ptr<Module>> load_program(const std::shared_ptr<Context>& context, const Program& program,
                                             JitLog& log, const Placed& placed) {
  const std::uint64_t available = context->gpu.memory_available();
  if (program.global_bytes() > available) {
    return result_of_code(
        Error::make(ErrorCode::out_of_memory, "out of device memory: {} bytes of variables wanted, {} left",
                    program.global_bytes(), available),
        log);
  }
  Result<raddle::Module> loaded = context->device.load(program, placed);
  if (!loaded) return result_of_code(loaded.error(), log);
  std::shared_ptr<Module> module(new Module{context, program, std::move(*loaded)});
  Process::instance().modules.add(module);
  return module;
}

}  // namespace raddle::driver
