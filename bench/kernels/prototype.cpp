// Figures of the prototype and of the machine they were measured on; each kernel scales with its own bound.
#include "prototype.h"

namespace bench {
namespace {

constexpr double kCopy = 18.9, kUpdate = 33.0, kRead = 19.5, kFma = 225.0;  // GB/s, GFLOP/s

}  // namespace

double prototype_estimate(Kernel kernel, const Limits& here) {
  const double copy = here.copy_gb_per_second / kCopy;
  const double update = here.update_gb_per_second / kUpdate;
  const double read = here.read_gb_per_second / kRead;
  const double compute = here.fma_gflop_per_second / kFma;
  switch (kernel) {
    case Kernel::saxpy:
      return 31.0 * update;
    case Kernel::black_scholes:
      return 0.39 * compute;
    case Kernel::sgemm_16x16:
      return 45.0 * compute;
    case Kernel::sgemm_32x32:
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
    default:
      return 0;
  }
}

}  // namespace bench
