// `raddle doctor`: the parts of a program, those that cannot run here, and what to do about each.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/program.h"
#include "fatbin/elf_file.h"
#include "fatbin/image.h"
#include "machine/shape/shape_file.h"
#include "raddle/raddle.h"

namespace raddle::cli {
namespace {

/// Collects what a user should do; empty: the program runs.
struct Findings {
  std::vector<std::string> advice;
  int status = kSuccess;

  void add(std::string text) {
    status = kUnsupported;
    if (std::find(advice.begin(), advice.end(), text) == advice.end()) advice.push_back(std::move(text));
  }
};

void examine_runtime(const Program& program, const std::string& path, Findings& findings) {
  switch (program.runtime) {
    case Runtime::none:
      fmt::print("runtime: none (driver API only, or a part of a program)\n");
      break;
    case Runtime::shared:
      fmt::print("runtime: shared: Raddle's libcudart is found by `raddle exec` or LD_LIBRARY_PATH\n");
      break;
    case Runtime::raddle:
      fmt::print("runtime: Raddle's, linked in\n");
      break;
    case Runtime::nvidia:
      fmt::print("runtime: NVIDIA's, linked in: does not run\n");
      findings.add(nvidia_runtime_advice(path));
      break;
  }
}

void print_containers(const Program& program) {
  for (std::size_t k = 0; k < program.containers.size(); ++k) {
    std::vector<std::string> held;
    for (const fatbin::Entry& entry : program.containers[k].entries) held.push_back(fatbin::describe(entry));
    fmt::print("device code {}: {}\n", k + 1,
               held.empty() ? "nothing" : fmt::format("{}", fmt::join(held, ", ")));
  }
}

/// The kernels of a program, and why some cannot run.
void examine_kernels(const raddle::Program& code, const std::string& name, Findings& findings) {
  const std::vector<std::string> kernels = code.kernels();
  std::size_t able = 0;
  for (const std::string& kernel : kernels) {
    const KernelInfo info = *code.kernel(kernel);
    able += info.unsupported.empty();
    for (const std::string& obstacle : info.unsupported)
      fmt::print("  {} cannot run: {}\n", demangle(kernel), obstacle);
  }
  fmt::print("{}: {} of {} kernels can run\n", name, able, kernels.size());
  if (able != kernels.size())
    findings.add("what the kernels named above need is not there yet; the others run");
}

/// Translation units are linked as they are with -rdc=true, where one calls another; without, they may have
/// names in common, and each is for itself.
void examine_texts(const std::vector<fatbin::PtxImage>& texts, const std::string& path,
                   std::uint32_t capability, Findings& findings) {
  std::vector<raddle::Program::Image> images;
  for (const fatbin::PtxImage& text : texts) images.push_back({text.text, text.name});
  if (const auto linked = raddle::Program::read(images, capability))
    return examine_kernels(*linked, path, findings);
  for (const raddle::Program::Image& image : images) {
    const auto code = raddle::Program::read({&image, 1}, capability);
    if (code)
      examine_kernels(*code, std::string(image.name), findings);
    else
      findings.add("Raddle cannot read this PTX: " + code.error().to_string());
  }
}

void examine_code(const Program& program, const std::string& path, std::uint32_t capability,
                  Findings& findings) {
  if (program.containers.empty()) return;
  auto texts = fatbin::ptx_images(program.bytes, path, capability);
  if (!texts) {
    const bool is_damaged = texts.error().code == ErrorCode::invalid;
    return findings.add(is_damaged
                            ? texts.error().to_string()
                            : "there is no PTX in it, only machine code, which only a GPU runs: compile "
                              "with PTX, as `nvcc -arch=sm_90` and `raddle nvcc` do");
  }
  // As Program::read does with several texts.
  const auto is_newer = [](const fatbin::PtxImage& text) { return !text.newer_than_device.empty(); };
  const bool all_newer = std::all_of(texts->begin(), texts->end(), is_newer);
  for (const fatbin::PtxImage& text : *texts)
    if (is_newer(text))
      fmt::print("{} is for {}, newer than the device (sm_{}): {}\n", text.name, text.newer_than_device,
                 capability, all_newer ? "it is tried" : "it is left out");
  if (!all_newer) std::erase_if(*texts, is_newer);
  examine_texts(*texts, path, capability, findings);
}

/// Names that a library of ours exports: true where there is more behind it than an error.
Result<std::map<std::string, bool>> entries_of(const std::string& path) {
  TRY_ASSIGN(const std::string bytes, read_file(path));
  TRY_ASSIGN(const fatbin::ElfFile file, fatbin::ElfFile::open(bytes));
  std::map<std::string, bool> entries;
  for (const fatbin::ElfFile::Symbol& symbol : file.dynamic().symbols)
    if (!symbol.section.empty()) entries.emplace(symbol.name, symbol.section != "raddle_missing");
  return entries;
}

void examine_imports(const Program& program, Findings& findings) {
  const Result<std::string> directory = library_directory();
  if (!directory) return;
  std::map<std::string, bool> there;
  for (const char* library : {"libcuda.so.1", "libcudart.so.13"}) {
    Result<std::map<std::string, bool>> entries = entries_of(*directory + "/" + library);
    if (entries) there.merge(*entries);
  }
  std::vector<std::string> missing;
  for (const std::string& name : program.imports) {
    const auto found = there.find(name);
    const bool is_of_cuda = name.starts_with("cuda") || name.starts_with("__cuda") ||
                            (name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z');  // cuBLAS' are cublas...
    if (is_of_cuda && (found == there.end() || !found->second)) missing.push_back(name);
  }
  if (missing.empty()) return;
  fmt::print("not there yet: {}\n", fmt::join(missing, ", "));
  findings.add("calls to what is not there answer \"not supported\" (docs/generated/driver.md, cudart.md)");
}

/// NVIDIA's libraries hold machine code for GPUs only, and their own copy of the runtime. Of the runtime and
/// NVRTC there is the interface of CUDA 13.
void examine_libraries(const Program& program, Findings& findings) {
  for (const std::string& library : program.needed) {
    for (const char* ours : {"libcudart.so.", "libnvrtc.so."})
      if (library.starts_with(ours) && library != std::string(ours) + "13")
        findings.add(fmt::format("{} is not there, only {}13: compile with CUDA 13", library, ours));
    for (const char* closed : {"libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse",
                               "libnpp", "libnccl", "libnvjpeg"})
      if (library.starts_with(closed)) {
        fmt::print("library: {}\n", library);
        findings.add(
            fmt::format("{} is NVIDIA's and made for NVIDIA's driver: it does not run on Raddle", library));
      }
  }
}

void examine(const Program& program, const std::string& path, std::uint32_t capability, Findings& findings) {
  fmt::print("{}\n", path);
  examine_runtime(program, path, findings);
  print_containers(program);
  examine_code(program, path, capability, findings);
  examine_libraries(program, findings);
  examine_imports(program, findings);
}

/// The shared objects of a Python package, below its folder.
std::vector<std::string> shared_objects(const std::filesystem::path& package) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(package, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_object = name.ends_with(".so") || name.find(".so.") != std::string::npos;
    if (is_object && entry.is_regular_file(error)) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool concerns_cuda(const Program& program) {
  const auto is_cuda = [](const std::string& library) {
    return library.starts_with("libcu") || library.starts_with("libnv");
  };
  return program.runtime != Runtime::none || !program.containers.empty() ||
         std::any_of(program.needed.begin(), program.needed.end(), is_cuda);
}

/// Each object that has to do with CUDA, and a line for the package.
int examine_package(const std::filesystem::path& package, std::uint32_t capability) {
  const std::vector<std::string> paths = shared_objects(package);
  std::size_t concerned = 0, able = 0;
  int status = kSuccess;
  for (const std::string& path : paths) {
    const Result<Program> program = read_program(path);
    if (!program || !concerns_cuda(*program)) continue;
    Findings findings;
    ++concerned;
    examine(*program, path, capability, findings);
    able += findings.advice.empty();
    if (findings.status != kSuccess) status = findings.status;
    for (const std::string& text : findings.advice) fmt::print("to do: {}\n", text);
  }
  fmt::print("{}: {} shared objects, {} of them for CUDA, of which {} should run\n", package.string(),
             paths.size(), concerned, able);
  return status;
}

}  // namespace

int doctor(const DoctorOptions& options) {
  const auto shape = machine::find_shape(options.shape);
  if (!shape) return report(shape.error());
  const std::filesystem::path file = options.file;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return examine_package(file, shape->capability);
  if (file.filename() == "__init__.py") return examine_package(file.parent_path(), shape->capability);
  const Result<std::string> path = find_command(options.file);
  if (!path) return report(path.error());
  const Result<Program> program = read_program(*path);
  if (!program) return report(program.error());
  Findings findings;
  examine(*program, *path, shape->capability, findings);
  if (findings.advice.empty()) fmt::print("it should run: raddle exec {}\n", options.file);
  for (const std::string& text : findings.advice) fmt::print("to do: {}\n", text);
  return findings.status;
}

}  // namespace raddle::cli
