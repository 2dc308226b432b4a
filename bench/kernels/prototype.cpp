// Figures of the prototype and of the machine they were measured on; each kernel scales with its own bound.
#include "prototype.h"

namespace bench {
namespace {

constexpr Limits kThere{18.9, 33.0, 19.5, 225.0};

}  // namespace

double prototype_estimate(Kernel kernel, const Limits& here) {
  const double copy = here.copy_gb_per_second / kThere.copy_gb_per_second;
  const double update = here.update_gb_per_second / kThere.update_gb_per_second;
  const double read = here.read_gb_per_second / kThere.read_gb_per_second;
  const double compute = here.fma_gflop_per_second / kThere.fma_gflop_per_second;
  switch (kernel) {
    case Kernel::saxpy:
      return 31.0 * update;
    case Kernel::black_scholes:
      return 0.39 * compute;
    case Kernel::sgemm_16:
      return 45.0 * compute;
    case Kernel::sgemm_32:
      return 72.0 * compute;
    case Kernel::sgemm_64x32:
      return 114.0 * compute;
    case Kernel::reduction:
      return 14.3 * read;
    case Kernel::stencil:
      return 15.0 * copy;
    case Kernel::nbody:
      return 5.0 * compute;
    case Kernel::histogram:
      return 1.0 * compute;
    case Kernel::mandelbrot:
      return 6.6 * compute;
    case Kernel::bitonic_sort:
      return 55.0 * compute;
  }
  return 0;
}

}  // namespace bench
