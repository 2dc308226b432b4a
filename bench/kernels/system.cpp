#include "system.h"

#include <functional>
#include <utility>

namespace bench {
namespace {

using Maker = std::function<Result<std::unique_ptr<System>>()>;

/// Widths that a system is built for here, or why not.
Result<void> check_width(const std::string& simd) {
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool here = simd == "avx512" ? avx512
                    : simd == "avx2" ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                     : true;
  if (here) return {};
  return Error::make(raddle::ErrorCode::not_found, "this processor has no {}", simd);
}

std::vector<std::pair<std::string, Maker>> makers() {
  std::vector<std::pair<std::string, Maker>> all = {
      {"raddle-jit", [] { return make_raddle_system("raddle-jit", "", false); }},
      {"raddle-windowed", [] { return make_raddle_system("raddle-windowed", "", true); }}};
  const auto add_widths = [&](const std::string& family, const auto& make) {
    for (const char* simd : {"avx512", "avx2", "sse42"}) {
      const std::string name = family + "-" + simd;
      all.emplace_back(name, [=]() -> Result<std::unique_ptr<System>> {
        if (Result<void> here = check_width(simd); !here.ok()) return here.error();
        return make(name, simd);
      });
    }
  };
  add_widths("raddle",
             [](const auto& name, const auto& simd) { return make_raddle_system(name, simd, false); });
  all.emplace_back("pocl", make_pocl_system);
  all.emplace_back("openmp", [] { return make_openmp_system("openmp", "native"); });
  add_widths("openmp", make_openmp_system);
  all.emplace_back("library", make_library_system);
  return all;
}

}  // namespace

const std::vector<std::string>& system_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, make] : makers()) names.push_back(name);
    return names;
  }();
  return kNames;
}

Result<std::unique_ptr<System>> make_system(const std::string& wanted) {
  for (const auto& [name, make] : makers()) {
    if (name == wanted) return make();
  }
  return Error::invalid("no system {}", wanted);
}

}  // namespace bench
