// The reference interpreter: one program counter per lane; slow, obvious, exact. The oracle of the JIT.
#pragma once

#include <memory>

#include "exec/access.h"
#include "exec/executable.h"

namespace raddle::interp {
/// @param listener  hears of every access; outlives the engine's kernels
std::unique_ptr<exec::Engine> make_engine(exec::AccessListener* listener = nullptr);
}  // namespace raddle::interp
