#include "kernels.h"

/// The plugin's only entry.
extern "C" void bench_openmp_run(const bench::PluginCall* call) {
  switch (call->kernel) {
#define BENCH_KERNEL(name, headline) \
  case bench::Kernel::name:          \
    return bench::openmp::name(*call);
#include "../kernels.def"
#undef BENCH_KERNEL
  }
}
