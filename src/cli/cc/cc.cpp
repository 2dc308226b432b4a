// `raddle cc`: compiles CUDA C++ with clang 19 and Raddle's own headers (include/raddle/cuda), without
// NVIDIA's toolkit. Each file is compiled twice: for the device, through LLVM's assembly, to PTX, which goes
// into a fat binary; and for the host, which embeds that fat binary, by clang's CUDA mode. The program is
// linked with Raddle's CUDA runtime.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cli/cc/annotations.h"
#include "cli/cc/options.h"
#include "cli/cc/process.h"
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
    Words objects;
    for (const std::string& source : options_.cuda_sources) {
      TRY_ASSIGN(const std::string object, compile_cuda(source));
      objects.push_back(object);
    }
    for (const std::string& source : options_.sources) {
      TRY_ASSIGN(const std::string object, compile_plain(source));
      objects.push_back(object);
    }
    return options_.goal == CcGoal::program ? link(objects) : Result<void>();
  }

  int failed_status() const { return failed_status_; }

 private:
  Result<void> step(const Words& words) {
    TRY_ASSIGN(const int status, run_program(words, options_.show_commands));
    if (status == 0) return {};
    failed_status_ = status;
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
    const Words more = common();
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"-include", include_ + "/raddle/cuda/cuda_runtime.h"});
    if (options_.fast_math) words.push_back("-DRADDLE_FAST_MATH=1");
    if (options_.architecture == "90a") words.push_back("-D__CUDA_ARCH_FEAT_SM90_ALL=1");
    return words;
  }
  std::string contraction() const { return options_.contract ? "-ffp-contract=fast" : "-ffp-contract=off"; }

  /// The PTX of a file's device code, its temporary file.
  Result<std::string> compile_device(const std::string& source) {
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
              "-target-feature", "-Xclang", "+ptx85", "-x", "ir", contraction(), options_.optimisation, "-S",
              prefix + ".lowered.ll", "-o", prefix + ".ptx"}));
    TRY_ASSIGN(const std::string ptx, read_file(prefix + ".ptx"));
    TRY(write_file(prefix + ".ptx", with_clusters(ptx, annotated.clusters)));
    return prefix + ".ptx";
  }

  Result<void> write_ptx_files() {
    for (const std::string& source : options_.cuda_sources) {
      TRY_ASSIGN(const std::string made, compile_device(source));
      TRY_ASSIGN(const std::string ptx, read_file(made));
      const std::string output = options_.output.empty() ? name_of(source, ".ptx") : options_.output;
      if (output == "-") {
        std::fwrite(ptx.data(), 1, ptx.size(), stdout);
      } else {
        TRY(write_file(output, ptx));
      }
    }
    return {};
  }

  Result<std::string> compile_cuda(const std::string& source) {
    TRY_ASSIGN(const std::string ptx_file, compile_device(source));
    TRY_ASSIGN(const std::string ptx, read_file(ptx_file));
    const bool special = options_.architecture.ends_with('a');
    const std::uint32_t capability = std::strtoul(options_.architecture.c_str(), nullptr, 10);
    TRY(write_file(
        ptx_file + ".fatbin",
        fatbin::write_ptx(ptx, capability,
                          special ? fatbin::Feature::architecture : fatbin::Feature::baseline, kPtxVersion)));
    const std::string object = object_of(source);
    Words words = cuda_mode();
    words.insert(words.end(), {"--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang",
                               ptx_file + ".fatbin", "-c", source, "-o", object});
    add_host_options(words);
    TRY(step(words));
    return object;
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
