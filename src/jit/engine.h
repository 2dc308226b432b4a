// The LLVM engine: a warp as SIMD vectors. The only public header of src/jit.
#pragma once

#include <memory>

#include "exec/executable.h"

namespace raddle::jit {

/// Widest vectors the code may use, for tests and for hosts with unlike cores; `host` takes what the CPU has.
enum class SimdLevel { host, avx512, avx2, sse42 };

std::unique_ptr<exec::Engine> make_engine(SimdLevel level = SimdLevel::host);

/// CPU name and features in use, for `raddle device` and cache keys.
std::string host_description(SimdLevel level = SimdLevel::host);

}  // namespace raddle::jit
