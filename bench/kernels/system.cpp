#include "system.h"

namespace bench {
namespace {

bool processor_has(std::string_view simd) {
  if (simd == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return simd != "avx2" || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
}

}  // namespace

Result<std::unique_ptr<System>> make_system(std::string_view name) {
  if (name == "pocl") return make_pocl_system();
  if (name == "library") return make_library_system();
  if (name == "openmp") return make_openmp_system(name, "native");
  if (name == "raddle-jit") return make_raddle_system(name, "", false);
  if (name == "raddle-windowed") return make_raddle_system(name, "", true);
  const std::string_view simd = name.substr(name.find('-') + 1);
  if (!processor_has(simd))
    return Error::make(raddle::ErrorCode::not_found, "this processor has no {}", simd);
  return name.starts_with("raddle") ? make_raddle_system(name, simd, false) : make_openmp_system(name, simd);
}

}  // namespace bench
