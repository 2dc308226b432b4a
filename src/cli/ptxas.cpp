// `raddle ptxas`, and the command `ptxas` in build/libexec/raddle: takes the place of NVIDIA's assembler
// where a compiler or a program calls it. It checks the PTX and writes a cubin that carries it
// (fatbin/cubin.h); the code is compiled where it runs.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/ptxas_options.h"
#include "fatbin/cubin.h"
#include "ptx/link.h"
#include "ptx/parser.h"

namespace raddle::cli {
namespace {

constexpr int kFailed = 255;  ///< ptxas' own exit status

/// Callers read the second line, and old ones know no new releases: RADDLE_PTXAS_RELEASE is what to say then.
void print_version() {
  const char* named = std::getenv("RADDLE_PTXAS_RELEASE");
  const std::string release = named == nullptr || *named == '\0' ? "13.0" : named;
  fmt::print("ptxas: Raddle's stand-in for the PTX assembler\nCuda compilation tools, release {0}, V{0}.88\n",
             release);
}

constexpr const char* kPtxasHelp =
    "Usage  : ptxas [options] <ptx file>,...\n\n"
    "Checks PTX and writes a cubin that carries it, for Raddle. Takes the options of NVIDIA's ptxas 13.0:\n"
    "  -arch sm_XY (--gpu-name)   architecture; compute_XY checks only\n"
    "  -o FILE (--output-file)    elf.o if not given\n"
    "  -v (--verbose)             registers, memory and barriers of each kernel\n"
    "  -ias TEXT (--input-as-string), -optf FILE (--options-file), -w, -Werror, -V (--version), -h (--help)\n"
    "Those that tune machine code have no effect.\n";

int fail(const std::string& what) {
  fmt::print(stderr, "ptxas fatal   : {}\n", what);
  return kFailed;
}

class Assembler {
 public:
  explicit Assembler(const PtxasOptions& options) : options_(options) {}

  int run() {
    for (const std::string& file : options_.files) {
      Result<std::string> text = read_file(file);
      if (!text) return abort(fmt::format("Input file '{}' could not be opened", file));
      texts_.push_back({file, std::move(*text), options_.max_registers});
    }
    for (const std::string& text : options_.texts)
      texts_.push_back({"<string>", text, options_.max_registers});
    for (const std::string& option : options_.unknown)
      warn(fmt::format("Unknown option '{}' ignored", option));
    for (const fatbin::NamedText& text : texts_) check(text);
    if (errors_ != 0 || (options_.warnings_are_errors && warnings_ != 0)) return abort("");
    if (auto linked = ptx::link(std::move(modules_), {}, options_.output); !linked)
      return abort(linked.error().message);
    return options_.only_check ? 0 : write();
  }

 private:
  static int abort(const std::string& what) {
    if (!what.empty()) fail(what);
    return fail("Ptx assembly aborted due to errors");
  }

  void error(const std::string& file, unsigned line, const std::string& what) {
    ++errors_;
    fmt::print(stderr, "ptxas {}, line {}; error   : {}\n", file, line, what);
  }
  void error(const std::string& what) {
    ++errors_;
    fmt::print(stderr, "ptxas error   : {}\n", what);
  }
  void warn(const std::string& file, unsigned line, const std::string& what) {
    if (options_.no_warnings) return;
    ++warnings_;
    fmt::print(stderr, "ptxas {}, line {}; warning : {}\n", file, line, what);
  }

  void warn(const std::string& what) {
    if (options_.no_warnings) return;
    ++warnings_;
    fmt::print(stderr, "ptxas warning : {}\n", what);
  }

  void check(const fatbin::NamedText& text) {
    std::vector<Error> errors;
    Result<ptx::Module> module = ptx::parse(text.text, text.name, &errors);
    for (const Error& each : errors) error(text.name, each.where.line, each.message);
    if (!module) return;
    check_target(text.name, module->target);
    for (const ptx::Function& function : module->functions)
      for (const ptx::Unsupported& part : function.unsupported) {
        if (part.unknown)
          error(text.name, part.first_line, part.reason);
        else
          warn(text.name, part.first_line,
               fmt::format("Raddle cannot run '{}' yet: {}", part.what, part.reason));
      }
    check_sizes(*module);
    if (options_.verbose) describe(*module);
    modules_.push_back(std::move(*module));
  }

  void check_target(const std::string& file, const std::string& target) {
    const auto wanted = std::strtoul(target.c_str() + std::min<std::size_t>(3, target.size()), nullptr, 10);
    if (wanted > options_.capability)
      error(file, 1,
            fmt::format("'.target {}' is newer than {}, for which it is assembled", target,
                        options_.architecture));
  }

  /// Mistakes that NVIDIA's ptxas refuses as well, in its words.
  void check_sizes(const ptx::Module& module) {
    constexpr std::uint64_t kMostConstant = 0x10000, kMostShared = 0xc000, kMostParameters = 0x7ffc;
    const std::uint64_t constant = ptx::constant_bytes(module);
    if (constant > kMostConstant)
      error(fmt::format("File uses too much global constant data ({:#x} bytes, {:#x} max)", constant,
                        kMostConstant));
    for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
      const ptx::Function& function = module.functions[id];
      if (!function.is_entry || function.is_declaration) continue;
      const ptx::KernelNeeds needs = ptx::analyze(module, id);
      const auto check = [&](const char* what, std::uint64_t bytes, std::uint64_t most) {
        if (bytes > most)
          error(fmt::format("Entry function '{}' uses too much {} ({:#x} bytes, {:#x} max)", function.name,
                            what, bytes, most));
      };
      check("shared data", needs.static_shared, kMostShared);
      check("parameter space", needs.parameter_bytes, kMostParameters);
    }
  }

  void describe(const ptx::Module& module) const {
    fmt::print(stderr, "ptxas info    : {} bytes gmem\n", ptx::global_bytes(module));
    for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
      const ptx::Function& function = module.functions[id];
      if (!function.is_entry || function.is_declaration) continue;
      const ptx::KernelNeeds needs = ptx::analyze(module, id);
      fmt::print(stderr,
                 "ptxas info    : Compiling entry function '{0}' for '{1}'\n"
                 "ptxas info    : Function properties for {0}\n"
                 "    {2} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                 "ptxas info    : Used {3} registers, used {4} barriers, {5} bytes smem, {6} bytes cmem[0]\n",
                 function.name, options_.architecture, needs.local_bytes, needs.registers, needs.barriers,
                 needs.static_shared, needs.parameter_bytes);
    }
  }

  int write() const {
    std::ofstream file(options_.output, std::ios::binary);
    const std::string cubin = fatbin::write_cubin(texts_, options_.capability);
    file.write(cubin.data(), static_cast<std::streamsize>(cubin.size()));
    return file.flush() ? 0 : fail(fmt::format("Could not write '{}'", options_.output));
  }

  const PtxasOptions& options_;
  std::vector<fatbin::NamedText> texts_;
  std::vector<ptx::Module> modules_;
  unsigned errors_ = 0, warnings_ = 0;
};

}  // namespace

int ptxas(const std::vector<std::string>& words) {
  const Result<PtxasOptions> options = parse_ptxas(words);
  if (!options) return fail(options.error().message);
  if (options->version || options->help) {
    if (options->help)
      fmt::print("{}", kPtxasHelp);
    else
      print_version();
    return 0;
  }
  if (options->files.empty() && options->texts.empty()) return fail("No input files specified");
  return Assembler(*options).run();
}

}  // namespace raddle::cli
