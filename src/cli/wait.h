// Waiting for a launch at the terminal: progress on long runs, and Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>

#include "raddle/raddle.h"

namespace raddle::cli {

/// Waits for the launch's end. On a terminal, a run of more than a second shows its progress on stderr.
/// Ctrl-C cancels the launch; a second one ends the process.
/// @param blocks     of the launch's grid
/// @param completed  blocks completed so far
/// @errors as Launch::wait
Result<LaunchReport> wait_with_progress(Launch& launch, std::uint64_t blocks,
                                        const std::function<std::uint64_t()>& completed);

/// Whether Ctrl-C cancelled the launch.
bool interrupted();

}  // namespace raddle::cli
