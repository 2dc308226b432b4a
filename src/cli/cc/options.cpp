// The command line of `raddle cc`. Options are in tables by what becomes of them; a value may follow an
// option directly, after '=' or as the next word, as with nvcc.
#include "cli/cc/options.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace raddle::cli {
namespace {

bool starts_with_any(std::string_view word, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return word.starts_with(start); });
}

bool ends_with_any(std::string_view word, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return word.ends_with(end); });
}

/// "90a" of sm_90a or compute_90a.
Result<std::string> architecture_of(std::string_view value) {
  for (std::string_view prefix : {"sm_", "compute_"}) {
    if (!value.starts_with(prefix)) continue;
    const std::string_view name = value.substr(prefix.size());
    static constexpr std::string_view kKnown[] = {"50", "52", "53", "60", "61", "62", "70", "72",
                                                  "75", "80", "86", "87", "89", "90", "90a"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) return std::string(name);
    return Error::unsupported("architecture {}: clang 19 knows sm_50 to sm_90a", value);
  }
  if (value == "native") return std::string("90");
  return Error::invalid("architecture '{}': sm_90 or the like was expected", value);
}

class Reader {
 public:
  explicit Reader(const Words& arguments) : arguments_(arguments) {}

  Result<CcOptions> read() {
    while (next_ < arguments_.size()) TRY(read_word(arguments_[next_++]));
    if (options_.help) return std::move(options_);
    const std::size_t inputs = options_.cuda_sources.size() + options_.sources.size();
    const bool needs_source = options_.goal == CcGoal::object || options_.goal == CcGoal::ptx;
    if (options_.goal == CcGoal::device_link && inputs > 0)
      return Error::invalid("-dlink takes objects and libraries; compile the sources by -dc");
    if (inputs == 0 && (needs_source || options_.link_inputs.empty()))
      return Error::invalid("no source file (raddle cc app.cu -o app)");
    if (needs_source && inputs > 1 && !options_.output.empty())
      return Error::invalid("-o names one file, but there are {} sources", inputs);
    if (options_.goal == CcGoal::ptx && !options_.sources.empty())
      return Error::invalid("{} has no device code: --ptx takes .cu files", options_.sources[0]);
    return std::move(options_);
  }

 private:
  Result<void> read_word(const std::string& word) {
    if (word.empty() || word[0] != '-' || word == "-") return read_input(word);
    bool done = read_flag(word);
    if (done) return {};
    TRY_ASSIGN(done, read_valued(word));
    if (done) return {};
    TRY(refuse(word));
    if (starts_with_any(word, {"-W", "-f"})) {
      options_.both.push_back(word);
    } else if (starts_with_any(word, {"-m"})) {
      options_.host.push_back(word);
    } else {
      return Error::invalid("option {} is not known (raddle cc --help lists them)", word);
    }
    return {};
  }

  Result<void> read_input(const std::string& word) {
    if (word.ends_with(".cu") || language_ == "cu") {
      options_.cuda_sources.push_back(word);
    } else if (ends_with_any(word, {".cpp", ".cc", ".cxx", ".c", ".C"})) {
      options_.sources.push_back(word);
    } else if (ends_with_any(word, {".o", ".a", ".so"}) || word.find(".so.") != std::string::npos) {
      options_.link_inputs.push_back(word);
    } else {
      return Error::invalid("{}: neither a source (.cu, .cpp, .cc, .c) nor something to link (.o, .a, .so)",
                            word);
    }
    return {};
  }

  /// Options without a value.
  bool read_flag(const std::string& word) {
    struct Flag {
      std::string_view name;
      std::function<void(CcOptions&)> set;
    };
    static const Flag kFlags[] = {
        {"-c", [](CcOptions& o) { o.goal = CcGoal::object; }},
        {"--compile", [](CcOptions& o) { o.goal = CcGoal::object; }},
        {"-dc", [](CcOptions& o) { o.goal = CcGoal::object, o.relocatable = true; }},
        {"--device-c", [](CcOptions& o) { o.goal = CcGoal::object, o.relocatable = true; }},
        {"-dw", [](CcOptions& o) { o.goal = CcGoal::object, o.relocatable = false; }},
        {"--device-w", [](CcOptions& o) { o.goal = CcGoal::object, o.relocatable = false; }},
        {"-dlink", [](CcOptions& o) { o.goal = CcGoal::device_link; }},
        {"--device-link", [](CcOptions& o) { o.goal = CcGoal::device_link; }},
        {"-lib", [](CcOptions& o) { o.goal = CcGoal::library; }},
        {"--lib", [](CcOptions& o) { o.goal = CcGoal::library; }},
        {"--ptx", [](CcOptions& o) { o.goal = CcGoal::ptx; }},
        {"-ptx", [](CcOptions& o) { o.goal = CcGoal::ptx; }},
        {"-g", [](CcOptions& o) { o.line_info = o.debug = true; }},
        {"-G", [](CcOptions& o) { o.line_info = true; }},
        {"-lineinfo", [](CcOptions& o) { o.line_info = true; }},
        {"--generate-line-info", [](CcOptions& o) { o.line_info = true; }},
        {"-use_fast_math", [](CcOptions& o) { o.fast_math = o.flush_denormals = true; }},
        {"--use_fast_math", [](CcOptions& o) { o.fast_math = o.flush_denormals = true; }},
        {"-v", [](CcOptions& o) { o.show_commands = true; }},
        {"--verbose", [](CcOptions& o) { o.show_commands = true; }},
        {"-keep", [](CcOptions& o) { o.keep = true; }},
        {"--keep", [](CcOptions& o) { o.keep = true; }},
        {"-h", [](CcOptions& o) { o.help = true; }},
        {"--help", [](CcOptions& o) { o.help = true; }},
        {"-shared", [](CcOptions& o) { o.link_inputs.push_back("-shared"); }},
        {"-w", [](CcOptions& o) { o.both.push_back("-w"); }},
        {"-pthread", [](CcOptions& o) { o.link_inputs.push_back("-pthread"); }},
        // clang does this anyway.
        {"--extended-lambda", [](CcOptions&) {}},
        {"-extended-lambda", [](CcOptions&) {}},
        {"--expt-extended-lambda", [](CcOptions&) {}},
        {"-expt-extended-lambda", [](CcOptions&) {}},
        {"--expt-relaxed-constexpr", [](CcOptions&) {}},
        {"-expt-relaxed-constexpr", [](CcOptions&) {}},
    };
    for (const Flag& flag : kFlags) {
      if (word != flag.name) continue;
      flag.set(options_);
      return true;
    }
    if (word.size() == 3 && word.starts_with("-O")) {
      options_.optimisation = word;
      options_.optimisation_given = true;
      return true;
    }
    return false;
  }

  /// Options with a value; false if `word` is not one of them.
  Result<bool> read_valued(const std::string& word) {
    using Set = std::function<Result<void>(const std::string&)>;
    const auto pass = [](Words& words, std::string option) -> Set {
      return [&words, option](const std::string& value) -> Result<void> {
        words.push_back(option + value);
        return {};
      };
    };
    const auto split = [](Words& words) -> Set {
      return [&words](const std::string& value) -> Result<void> {
        for (std::size_t begin = 0; begin <= value.size();) {
          const std::size_t end = std::min(value.find(',', begin), value.size());
          words.push_back(value.substr(begin, end - begin));
          begin = end + 1;
        }
        return {};
      };
    };
    const auto ignore = [](const std::string&) -> Result<void> { return {}; };
    const auto architecture = [this](const std::string& value) { return set_architecture(value); };
    struct Valued {
      std::string_view name;
      Set set;
    };
    const Valued table[] = {
        {"-o",
         [this](const std::string& v) -> Result<void> {
           options_.output = v;
           return {};
         }},
        {"--output-file",
         [this](const std::string& v) -> Result<void> {
           options_.output = v;
           return {};
         }},
        {"-x",
         [this](const std::string& v) -> Result<void> {
           language_ = v;
           return {};
         }},
        {"-isystem",
         [this](const std::string& v) -> Result<void> {
           options_.both.insert(options_.both.end(), {"-isystem", v});
           return {};
         }},
        {"-include",
         [this](const std::string& v) -> Result<void> {
           options_.both.insert(options_.both.end(), {"-include", v});
           return {};
         }},
        {"--std", pass(options_.both, "-std=")},
        {"-std", pass(options_.both, "-std=")},
        {"-Xcompiler", split(options_.host)},
        {"--compiler-options", split(options_.host)},
        {"-Xlinker",
         [this](const std::string& v) -> Result<void> {
           options_.link_inputs.push_back("-Wl," + v);
           return {};
         }},
        {"-Wl,", pass(options_.link_inputs, "-Wl,")},
        {"-arch", architecture},
        {"--gpu-architecture", architecture},
        {"-gencode", [this](const std::string& v) { return set_from_gencode(v); }},
        {"--generate-code", [this](const std::string& v) { return set_from_gencode(v); }},
        {"-fmad",
         [this](const std::string& v) -> Result<void> {
           options_.contract = v == "true";
           return {};
         }},
        {"--fmad",
         [this](const std::string& v) -> Result<void> {
           options_.contract = v == "true";
           return {};
         }},
        {"-ftz",
         [this](const std::string& v) -> Result<void> {
           options_.flush_denormals = v == "true";
           return {};
         }},
        {"--ftz",
         [this](const std::string& v) -> Result<void> {
           options_.flush_denormals = v == "true";
           return {};
         }},
        {"-cudart", [this](const std::string& v) { return set_runtime(v); }},
        {"--cudart", [this](const std::string& v) { return set_runtime(v); }},
        {"-default-stream", [this](const std::string& v) { return set_default_stream(v); }},
        {"--default-stream", [this](const std::string& v) { return set_default_stream(v); }},
        {"-rdc", [this](const std::string& v) { return set_relocatable(v); }},
        {"--relocatable-device-code", [this](const std::string& v) { return set_relocatable(v); }},
        // Quotients and roots are always rounded exactly; the model's registers are not limited; cubins are
        // not made.
        {"-prec-div", ignore},
        {"--prec-div", ignore},
        {"-prec-sqrt", ignore},
        {"--prec-sqrt", ignore},
        {"-maxrregcount", ignore},
        {"--maxrregcount", ignore},
        {"-Xptxas", ignore},
        {"--ptxas-options", ignore},
        {"-ccbin", ignore},
        {"--compiler-bindir", ignore},
        {"-t", ignore},
        {"--threads", ignore},
        {"-I", pass(options_.both, "-I")},
        {"-D", pass(options_.both, "-D")},
        {"-U", pass(options_.both, "-U")},
        {"-L", pass(options_.link_inputs, "-L")},
        {"-l", pass(options_.link_inputs, "-l")},
    };
    for (const Valued& option : table) {
      if (!word.starts_with(option.name)) continue;
      std::string value = word.substr(option.name.size());
      const bool joined = option.name.size() == 2 || option.name.ends_with(',');  // -Ifolder, -Wl,option
      if (!value.empty() && value[0] != '=' && !joined) continue;
      if (!value.empty() && value[0] == '=') value.erase(0, 1);
      if (value.empty()) {
        if (next_ == arguments_.size()) return Error::invalid("{} needs a value", word);
        value = arguments_[next_++];
      }
      TRY(option.set(value));
      return true;
    }
    return false;
  }

  Result<void> set_architecture(const std::string& value) {
    TRY_ASSIGN(options_.architecture, architecture_of(value));
    return {};
  }
  /// Compiles the newest architecture that clang knows: a program has one module.
  Result<void> set_from_gencode(const std::string& value) {
    const std::size_t at = value.find("arch=");
    if (at == std::string::npos)
      return Error::invalid("-gencode {}: arch=compute_90 or the like was expected", value);
    const std::size_t begin = at + 5;
    auto name = architecture_of(value.substr(begin, value.find(',', begin) - begin));
    if (!name && architectures_ > 0) return {};
    if (!name) return std::move(name.error());
    if (architectures_++ == 0 || *name > options_.architecture) options_.architecture = *name;
    return {};
  }
  Result<void> set_runtime(const std::string& value) {
    if (value != "shared" && value != "static") return Error::invalid("-cudart {}: shared or static", value);
    options_.static_runtime = value == "static";
    return {};
  }
  Result<void> set_default_stream(const std::string& value) {
    if (value == "per-thread") options_.both.push_back("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    if (value != "per-thread" && value != "legacy" && value != "null")
      return Error::invalid("--default-stream {}: legacy or per-thread", value);
    return {};
  }
  Result<void> set_relocatable(const std::string& value) {
    if (value != "true" && value != "false") return Error::invalid("-rdc={}: true or false", value);
    options_.relocatable = value == "true";
    return {};
  }
  /// Options of nvcc's that ask for something that is not there.
  static Result<void> refuse(const std::string& word) {
    if (starts_with_any(word, {"-dlto", "-cubin", "--cubin", "-fatbin", "--fatbin", "-run", "-dryrun"}))
      return Error::unsupported("{}: raddle cc makes programs (-o), objects (-c) and PTX (--ptx)", word);
    return {};
  }

  const Words& arguments_;
  std::size_t next_ = 0;
  std::string language_;
  int architectures_ = 0;
  CcOptions options_;
};

}  // namespace

Result<CcOptions> read_cc_options(const Words& arguments) { return Reader(arguments).read(); }

}  // namespace raddle::cli
