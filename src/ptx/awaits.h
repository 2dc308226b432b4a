// Instructions that a thread repeats until they say yes, and does nothing else meanwhile: it may as well sleep
// (mbarrier.test_wait and try_wait in a loop of their own). Waits (waits.h) tells loops that may wait for
// others; this tells that such a loop is nothing but the wait.
#pragma once

#include "ptx/cfg.h"

namespace raddle::ptx {

/// Whether a thread for which the instruction, which has a predicate for its result, gives false comes back to
/// it whatever else happens, asks for the same again, and has had no effect on the way.
bool is_awaited(const Function& function, const Cfg& cfg, const Instruction& instruction);

}  // namespace raddle::ptx
