// The reference interpreter: one program counter per lane; slow, obvious, exact. The oracle of the JIT.
#pragma once

#include <memory>

#include "exec/executable.h"

namespace raddle::interp {
std::unique_ptr<exec::Engine> make_engine();
}
