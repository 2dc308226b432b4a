// Finds what waits for no copy, where copies land late (T-16): loads of bytes that one has yet to write,
// stores to bytes that one has yet to read. A later wait may make up for it, so results need not show it.
#pragma once

#include "exec/access.h"

namespace raddle {

/// For the interpreter of devices whose copies land late. Other devices' kernels it lets pass.
exec::AccessListener& copy_checker();

}  // namespace raddle
