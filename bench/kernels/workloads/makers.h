// A maker for each line of kernels.def; the files beside this one have them, by kind.
#pragma once

#include <memory>

#include "../workload.h"

namespace bench::workloads {

#define BENCH_KERNEL(name, headline) std::unique_ptr<Workload> name(bool quick);
#include "../kernels.def"
#undef BENCH_KERNEL

}  // namespace bench::workloads
