// The calls from kernel code into the machine (exec::Services).
#pragma once

#include "exec/abi.h"

namespace raddle::machine {
const exec::Services& services();
}
