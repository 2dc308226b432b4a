// Makes engines by name and compiles kernels for all of them.
#include "isa/harness/engines.h"

#include <cstring>

#include "interp/interpreter.h"
#include "isa/harness/test_file.h"
#include "ptx/parser.h"
#ifdef RADDLE_TEST_JIT
#include "jit/engine.h"
#endif

namespace raddle::testing {
namespace {

#ifdef RADDLE_TEST_JIT
bool host_has(jit::SimdLevel level) {
  switch (level) {
    case jit::SimdLevel::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    case jit::SimdLevel::avx2:
      return __builtin_cpu_supports("avx2");
    default:
      return true;
  }
}
#endif

Result<NamedEngine> make_engine(const std::string& name) {
  if (name == "interp") return NamedEngine{name, interp::make_engine()};
#ifdef RADDLE_TEST_JIT
  for (auto [level_name, level] :
       {std::pair{"avx512", jit::SimdLevel::avx512}, std::pair{"avx2", jit::SimdLevel::avx2},
        std::pair{"sse42", jit::SimdLevel::sse42}, std::pair{"host", jit::SimdLevel::host}})
    if (name == level_name && host_has(level))
      return NamedEngine{name,
                         jit::make_engine({.simd = level, .tier = jit::Tier::optimised, .cache = false})};
  for (auto [quick_name, level] :
       {std::pair{"quick", jit::SimdLevel::host}, std::pair{"quick_avx2", jit::SimdLevel::avx2},
        std::pair{"quick_sse42", jit::SimdLevel::sse42}})
    if (name == quick_name && host_has(level))
      return NamedEngine{name, jit::make_engine({.simd = level, .tier = jit::Tier::quick, .cache = false})};
  for (auto [balanced_name, level] :
       {std::pair{"balanced", jit::SimdLevel::host}, std::pair{"balanced_avx2", jit::SimdLevel::avx2}})
    if (name == balanced_name && host_has(level))
      return NamedEngine{name,
                         jit::make_engine({.simd = level, .tier = jit::Tier::balanced, .cache = false})};
  for (auto [together_name, level] :
       {std::pair{"together", jit::SimdLevel::host}, std::pair{"together_avx2", jit::SimdLevel::avx2},
        std::pair{"together_sse42", jit::SimdLevel::sse42}})
    if (name == together_name && host_has(level))
      return NamedEngine{name, jit::make_engine({.simd = level,
                                                 .tier = level == jit::SimdLevel::host ? jit::Tier::optimised
                                                         : level == jit::SimdLevel::avx2 ? jit::Tier::balanced
                                                                                         : jit::Tier::quick,
                                                 .cache = false,
                                                 .together = jit::Together::wherever_possible})};
  for (auto [single_name, level] :
       {std::pair{"one_by_one", jit::SimdLevel::host}, std::pair{"one_by_one_sse42", jit::SimdLevel::sse42}})
    if (name == single_name)
      return NamedEngine{name, jit::make_engine({.simd = level,
                                                 .tier = level == jit::SimdLevel::host ? jit::Tier::optimised
                                                                                       : jit::Tier::quick,
                                                 .cache = false,
                                                 .one_by_one = jit::OneByOne::wherever_possible})};
#endif
  return Error::make(ErrorCode::not_found, "no engine '{}' in this build or on this host", name);
}

}  // namespace

Result<std::vector<NamedEngine>> make_engines(std::string_view names) {
  std::vector<NamedEngine> engines;
  const bool with_forms = names == "every", all = names == "all" || with_forms;
  const std::string known =
      "interp,avx512,avx2,sse42,quick,quick_avx2,quick_sse42,balanced,balanced_avx2,one_by_one";
  const std::string forms = with_forms ? ",together,together_avx2,together_sse42,one_by_one_sse42" : "";
  for (const std::string& name : split_list(all ? known + forms : std::string(names))) {
    auto engine = make_engine(name);
    if (engine.ok())
      engines.push_back(std::move(*engine));
    else if (!all)
      return engine.error();
  }
  return engines;
}

std::vector<NamedEngine> engines_in_turn(const std::vector<NamedEngine>& engines, std::size_t turn) {
  constexpr std::size_t kAlways = 2;
  if (engines.size() <= kAlways + 1) return engines;
  return {engines[0], engines[1], engines[kAlways + turn % (engines.size() - kAlways)]};
}

Result<CompiledKernel> CompiledKernel::create(const std::string& ptx, std::string_view kernel,
                                              const std::vector<NamedEngine>& engines, exec::BlockShape block,
                                              std::uint32_t cluster) {
  CompiledKernel result;
  result.block_ = block;
  result.cluster_ = cluster;
  result.text_ = ptx;
  std::string crash = guarded([&] {
    if (auto parsed = ptx::parse(ptx, "test"); parsed.ok())
      result.module_ = std::make_unique<ptx::Module>(std::move(*parsed));
    else
      result.errors_.push_back(parsed.error().to_string());
  });
  if (!crash.empty()) return Error::invalid("the parser crashed: {}", crash);
  if (!result.module_) return Error::invalid("{}", result.errors_[0]);
  const ptx::Function* function = result.module_->find_function(kernel);
  if (!function) return Error::make(ErrorCode::not_found, "no kernel '{}'", kernel);
  for (const auto& u : function->unsupported)
    return Error::unsupported("line {}: {}: {}", u.first_line, u.what, u.reason);
  result.kernel_ = static_cast<ptx::FunctionId>(function - result.module_->functions.data());
  for (const NamedEngine& engine : engines) {
    std::string error;
    std::unique_ptr<exec::Executable> code;
    exec::CompileOptions options;
    options.block = block;
    options.clustered = cluster > 1;
    if (engine.device == nullptr)
      crash = guarded([&] {
        auto compiled = engine.engine->compile(*result.module_, result.kernel_, options);
        if (compiled.ok())
          code = std::move(*compiled);
        else
          error = compiled.error().to_string();
      });
    if (!crash.empty()) error = "the compiler crashed: " + crash;
    result.code_.push_back(std::move(code));
    result.errors_.push_back(error);
  }
  return result;
}

Outcome CompiledKernel::run(std::size_t engine, const std::vector<std::vector<std::byte>>& arguments) const {
  const ptx::Function& function = module_->functions[kernel_];
  std::vector<std::byte> storage(function.parameter_bytes + 256);
  auto base = (reinterpret_cast<std::uintptr_t>(storage.data()) + 127) & ~std::uintptr_t{127};
  auto* block = reinterpret_cast<std::byte*>(base);
  for (std::size_t i = 0; i < function.parameters.size() && i < arguments.size(); ++i) {
    const ptx::Variable& v = module_->variables[function.parameters[i]];
    std::memcpy(block + v.offset, arguments[i].data(), std::min<std::size_t>(v.size, arguments[i].size()));
  }
  CtaLaunch launch{module_.get(), kernel_, code_[engine].get(), block_, {block, function.parameter_bytes}, 0,
                   cluster_};
  return run_cta(launch);
}

std::vector<std::byte> argument(std::uint64_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace raddle::testing
