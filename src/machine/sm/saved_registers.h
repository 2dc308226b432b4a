// The registers of interrupted code, out of what the system saves for a signal handler.
#pragma once

#include <ucontext.h>

#include "exec/registers.h"

namespace raddle::machine {

/// Asks the processor where it saves which registers. Once, before any signal.
void prepare_saved_registers();
/// Async-signal-safe. Does nothing on processors other than x86-64.
void save_registers(const ucontext_t& context, exec::SavedRegisters& registers);

}  // namespace raddle::machine
