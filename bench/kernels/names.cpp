#include "names.h"

#include <array>

namespace bench {

std::span<const Kernel> all_kernels() {
  static constexpr std::array kAll = {
#define BENCH_KERNEL(name, headline) Kernel::name,
#include "kernels.def"
#undef BENCH_KERNEL
  };
  return kAll;
}

std::string_view kernel_name(Kernel kernel) {
  static constexpr std::string_view kNames[] = {
#define BENCH_KERNEL(name, headline) #name,
#include "kernels.def"
#undef BENCH_KERNEL
  };
  return kNames[static_cast<int>(kernel)];
}

std::span<const std::string_view> system_names() {
  static constexpr std::string_view kNames[] = {
      "raddle-jit", "raddle-windowed", "raddle-avx512", "raddle-avx2",  "raddle-sse42", "pocl",
      "openmp",     "openmp-avx512",   "openmp-avx2",   "openmp-sse42", "library"};
  return kNames;
}

}  // namespace bench
