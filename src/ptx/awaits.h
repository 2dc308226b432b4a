// Instructions that a thread repeats until they say yes, doing nothing else meanwhile, so that it may as well
// sleep: mbarrier.test_wait and try_wait in a loop of their own. Waits (waits.h) finds loops that may wait
// for others; this tells whether such a loop is nothing but the wait.
#pragma once

#include "ptx/cfg.h"

namespace raddle::ptx {

/// Asks whether a phase of an mbarrier is over.
bool asks_for_phase(const isa::Opcode& opcode);

/// Whether a thread that gets false from the instruction, whose result is a predicate, comes back to it on
/// every path, asks for the same again, and has had no effect on the way.
bool is_awaited(const Function& function, const Cfg& cfg, const Instruction& instruction);

}  // namespace raddle::ptx
