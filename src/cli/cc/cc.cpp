// `raddle cc`: compiles CUDA C++ with clang 19 and Raddle's own headers (include/raddle/cuda), without
// NVIDIA's toolkit. Each file is compiled twice: for the device, through LLVM's assembly, to PTX, which goes
// into a fat binary; and for the host, which embeds that fat binary, by clang's CUDA mode. The program is
// linked with Raddle's CUDA runtime.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/cc/annotations.h"
#include "cli/cc/managed.h"
#include "cli/cc/options.h"
#include "cli/cc/packages.h"
#include "cli/cc/process.h"
#include "cli/cc/relocatable.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/program.h"
#include "fatbin/write.h"

namespace raddle::cli {
namespace {

constexpr const char* kHelp = R"(raddle cc: compile CUDA C++ with clang 19, without NVIDIA's toolkit

  raddle cc app.cu -o app            a program, which runs on Raddle
  raddle cc -c app.cu                an object file; link it with raddle cc app.o -o app
  raddle cc --ptx app.cu             device code alone, app.ptx
  raddle cc -rdc=true a.cu b.cu      device functions and variables across files; -dc for objects
  raddle cc -lib a.o b.o -o libx.a   a static library

  -o FILE                            the result
  -O0..-O3 (default -O3 on the device), -g, -lineinfo
  -I -D -U -isystem -include -std=   as with clang (default -std=c++17)
  -arch=sm_90                        sm_50 to sm_90, sm_90a; also -gencode arch=compute_90,...
  --use_fast_math -ftz= -fmad=       arithmetic of kernels
  --default-stream=per-thread
  -L -l -Wl, -Xlinker, .o .a .so     for the linker; -cudart=static for one library less
  -Xcompiler OPTIONS, -m..., -W..., -f...  for clang
  -v, --keep                         show the commands; keep what is made in between

What is covered and what not: docs/raddle-cc.md
)";

constexpr const char* kCompiler = "clang++-19";
constexpr std::uint16_t kPtxVersion[] = {8, 5};  ///< the newest that clang 19 writes

/// Where Raddle's headers are: beside this program where it is installed, else where it was built.
Result<std::string> find_headers() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "include";
  for (const fs::path& include : {installed, fs::path(RADDLE_INCLUDE_DIR)})
    if (fs::exists(include / "raddle/cuda/cuda_runtime.h", error)) return include.string();
  return Error::make(ErrorCode::not_found, "raddle/cuda/cuda_runtime.h is neither in {} nor in {}",
                     installed.string(), RADDLE_INCLUDE_DIR);
}

class Compilation {
 public:
  Compilation(const CcOptions& options, std::string include, TemporaryDirectory files)
      : options_(options), include_(std::move(include)), files_(std::move(files)) {}

  Result<void> run() {
    if (options_.goal == CcGoal::ptx) return write_ptx_files();
    if (options_.goal == CcGoal::device_link) return write_device_link();
    Words objects;
    for (const std::string& source : options_.cuda_sources) {
      TRY_ASSIGN(const std::string object, compile_cuda(source));
      objects.push_back(object);
    }
    for (const std::string& source : options_.sources) {
      TRY_ASSIGN(const std::string object, compile_plain(source));
      objects.push_back(object);
    }
    if (options_.goal == CcGoal::library) return make_library(objects);
    return options_.goal == CcGoal::program ? link(objects) : Result<void>();
  }

  int failed_status() const { return failed_status_; }

 private:
  Result<void> step(const Words& words) {
    std::string errors;
    Words colored = words;  // what goes through a pipe is coloured only on demand
    if (isatty(STDERR_FILENO) && words[0] != "ar") colored.push_back("-fcolor-diagnostics");
    TRY_ASSIGN(const int status, run_program(colored, options_.show_commands, &errors));
    if (status == 0) return {};
    failed_status_ = status;
    if (const std::string line = missing_header(errors); !line.empty()) fmt::print(stderr, "{}\n", line);
    return Error::invalid("{} failed", words[0]);
  }

  std::string name_of(const std::string& source, const char* extension) const {
    return std::filesystem::path(source).stem().string() + extension;
  }
  /// Where a file's result goes: the user's place, or the temporary directory when it is linked at once.
  std::string object_of(const std::string& source) {
    if (options_.goal == CcGoal::object)
      return options_.output.empty() ? name_of(source, ".o") : options_.output;
    return files_.file(fmt::format("{}-{}", ++count_, name_of(source, ".o")));
  }

  /// Options of both sides; the headers count as the system's, so that warnings are about the user's code.
  Words common() const {
    Words words = {"-std=c++17", "-isystem", include_, "-isystem", include_ + "/raddle/cuda"};
    words.insert(words.end(), options_.both.begin(), options_.both.end());
    for (const std::string& folder : packages_) words.insert(words.end(), {"-idirafter", folder});
    return words;
  }
  Words cuda_mode() const {
    Words words = {kCompiler,
                   "-x",
                   "cuda",
                   "--cuda-path=/nonexistent",
                   "-nocudainc",
                   "-nocudalib",
                   "--cuda-gpu-arch=sm_" + options_.architecture};
    // The version tells clang to register and launch as CUDA's newer runtimes do.
    words.insert(words.end(), {"-Xclang", "-target-sdk-version=12.5"});
    // Headers declare functions with `...` that nobody calls, to choose among overloads.
    words.insert(words.end(), {"-Xclang", "-fcuda-allow-variadic-functions"});
    const Words more = common();
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"-include", include_ + "/raddle/cuda/cuda_runtime.h"});
    if (options_.fast_math) words.push_back("-DRADDLE_FAST_MATH=1");
    if (options_.architecture == "90a") words.push_back("-D__CUDA_ARCH_FEAT_SM90_ALL=1");
    return words;
  }
  std::string contraction() const { return options_.contract ? "-ffp-contract=fast" : "-ffp-contract=off"; }

  struct DeviceCode {
    std::string path, ptx;  ///< without an extension, for files beside it
    bool has_managed = false;
  };

  /// The PTX of a file's device code.
  Result<DeviceCode> compile_device(const std::string& source) {
    const std::string prefix = files_.file(fmt::format("{}-{}", ++count_, name_of(source, "")));
    Words words = cuda_mode();
    words.insert(words.end(),
                 {"--cuda-device-only", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", contraction(),
                  "--cuda-feature=+ptx85", options_.optimisation, source, "-o", prefix + ".ll"});
    if (options_.flush_denormals) words.push_back("-fgpu-flush-denormals-to-zero");
    if (options_.line_info) words.push_back("-gline-directives-only");
    TRY(step(words));
    TRY_ASSIGN(const std::string code, read_file(prefix + ".ll"));
    const Annotated annotated = lower_annotations(code);
    TRY(write_file(prefix + ".lowered.ll", annotated.code));
    TRY(step({kCompiler, "--target=nvptx64-nvidia-cuda", "-march=sm_" + options_.architecture, "-Xclang",
              "-target-feature", "-Xclang", "+ptx85", "-x", "ir", contraction(), options_.optimisation,
              "-Wno-pass-failed", "-S", prefix + ".lowered.ll", "-o", prefix + ".ptx"}));
    TRY_ASSIGN(const std::string ptx, read_file(prefix + ".ptx"));
    return DeviceCode{prefix, with_clusters(ptx, annotated.clusters), annotated.has_managed};
  }

  Result<void> write_ptx_files() {
    for (const std::string& source : options_.cuda_sources) {
      TRY_ASSIGN(const DeviceCode device, compile_device(source));
      const std::string& ptx = device.ptx;
      const std::string output = options_.output.empty() ? name_of(source, ".ptx") : options_.output;
      if (output == "-") {
        std::fwrite(ptx.data(), 1, ptx.size(), stdout);
      } else {
        TRY(write_file(output, ptx));
      }
    }
    return {};
  }

  std::string container_of(std::string_view ptx) const {
    const bool special = options_.architecture.ends_with('a');
    const std::uint32_t capability = std::strtoul(options_.architecture.c_str(), nullptr, 10);
    return fatbin::write_ptx(
        ptx, capability, special ? fatbin::Feature::architecture : fatbin::Feature::baseline, kPtxVersion);
  }

  Result<std::string> compile_cuda(const std::string& source) {
    TRY_ASSIGN(const DeviceCode device, compile_device(source));
    TRY(write_file(device.path + ".fatbin", container_of(device.ptx)));
    const std::string object = object_of(source);
    Words words = cuda_mode();
    words.insert(words.end(), {"--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang",
                               device.path + ".fatbin"});
    if (options_.relocatable) words.insert(words.end(), {"-fgpu-rdc", "-DRADDLE_RELOCATABLE=1"});
    add_host_options(words);
    if (options_.relocatable || device.has_managed)
      TRY(compile_through_assembly(source, device, std::move(words), object));
    else
      TRY(compile_to(object, std::move(words), source));
    return object;
  }
  Result<void> compile_to(const std::string& object, Words words, const std::string& source) {
    words.insert(words.end(), {"-c", source, "-o", object});
    return step(words);
  }

  /// For what clang 19 does not do itself: managed variables, and modules that are registered together.
  Result<void> compile_through_assembly(const std::string& source, const DeviceCode& device, Words words,
                                        const std::string& object) {
    const std::string first = device.path + ".host.ll", second = device.path + ".host.lowered.ll";
    words.insert(words.end(), {"-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", source, "-o", first});
    TRY(step(words));
    TRY_ASSIGN(std::string code, read_file(first));
    if (options_.relocatable || device.has_managed) {  // another file may define them
      const char* handle = options_.relocatable ? "@raddle_linked_handle" : "@__cuda_gpubin_handle";
      TRY_ASSIGN(code, lower_managed(code, handle));
    }
    if (options_.relocatable) {
      const std::string ptx = with_names(device.ptx, unique_names(code));
      TRY_ASSIGN(code, make_relocatable(code, ptx, container_of(ptx)));
    }
    TRY(write_file(second, code));
    Words last = {kCompiler, "-x", "ir"};
    add_host_options(last);
    last.push_back("-Wno-unused-command-line-argument");
    return compile_to(object, std::move(last), second);
  }

  Result<std::string> compile_plain(const std::string& source) {
    const std::string object = object_of(source);
    Words words = {source.ends_with(".c") ? "clang-19" : kCompiler, "-c", source, "-o", object};
    Words more = common();
    if (source.ends_with(".c"))
      std::erase_if(more, [](const std::string& word) { return word.starts_with("-std="); });
    words.insert(words.end(), more.begin(), more.end());
    add_host_options(words);
    TRY(step(words));
    return object;
  }

  void add_host_options(Words& words) const {
    words.push_back(options_.optimisation_given ? options_.optimisation : "-O2");
    if (options_.debug) words.push_back("-g");
    words.insert(words.end(), options_.host.begin(), options_.host.end());
  }

  /// The object that nvcc's users link with the others: here it is empty, since each object registers itself.
  Result<void> write_device_link() {
    for (const std::string& input : options_.link_inputs)
      if (input[0] != '-' && !std::filesystem::exists(input))
        return Error::make(ErrorCode::not_found, "{}: no such file", input);
    const std::string source = files_.file("device_link.c");
    TRY(write_file(source, "/* raddle cc -dlink */\n"));
    return compile_to(options_.output.empty() ? "a_dlink.o" : options_.output, {"clang-19"}, source);
  }

  Result<void> make_library(const Words& objects) {
    const std::string library = options_.output.empty() ? "a.a" : options_.output;
    std::error_code ignored;
    std::filesystem::remove(library, ignored);
    Words words = {"ar", "rcs", library};
    words.insert(words.end(), objects.begin(), objects.end());
    for (const std::string& input : options_.link_inputs)
      if (input[0] != '-') words.push_back(input);
    return step(words);
  }

  Result<void> link(const Words& objects) {
    TRY_ASSIGN(const std::string libraries, library_directory());
    // By its path: another library of this name may be where the linker looks by itself.
    const std::string runtime =
        libraries + (options_.static_runtime ? "/libcudart_static.a" : "/libcudart.so");
    if (!std::filesystem::exists(runtime))
      return Error::make(ErrorCode::not_found, "{} is not there: build Raddle's libraries", runtime);
    Words words = {kCompiler};
    // Options of the host's compiler may matter here, too: -fopenmp, -fsanitize=address.
    words.push_back("-Wno-unused-command-line-argument");
    for (const std::string& word : options_.both)
      if (word.starts_with("-f")) words.push_back(word);
    words.insert(words.end(), options_.host.begin(), options_.host.end());
    words.insert(words.end(), objects.begin(), objects.end());
    words.insert(words.end(), options_.link_inputs.begin(), options_.link_inputs.end());
    words.insert(words.end(),
                 {"-o", options_.output.empty() ? "a.out" : options_.output, runtime,
                  "-Wl,--enable-new-dtags", "-Wl,-rpath," + libraries, "-ldl", "-lpthread", "-lrt"});
    return step(words);
  }

  const CcOptions& options_;
  std::string include_;
  const Words packages_ = package_includes();  ///< for headers that are nowhere else
  TemporaryDirectory files_;
  int count_ = 0, failed_status_ = 0;
};

}  // namespace

int cc(const std::vector<std::string>& words) {
  const auto options = read_cc_options(words);
  if (!options) return report(options.error());
  if (options->help) {
    std::fputs(kHelp, stdout);
    return kSuccess;
  }
  auto include = find_headers();
  if (!include) return report(include.error());
  auto files = TemporaryDirectory::create(options->keep);
  if (!files) return report(files.error());
  Compilation compilation(*options, std::move(*include), std::move(*files));
  const Result<void> done = compilation.run();
  if (!done && compilation.failed_status() != 0) return kInvalid;  // clang has said why
  return done ? kSuccess : report(done.error());
}

}  // namespace raddle::cli
