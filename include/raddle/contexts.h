// How device contexts share a machine. A device context is what the host interface selects as a whole:
// the address spaces in it, with their tasks. A CUDA context is one address space.
#pragma once

#include <cstdint>

namespace raddle {

/// Results are the same; what runs beside what is not.
enum class ContextMode : std::uint8_t {
  queued,      ///< one at a time, in turns: a context's tasks run while it is selected
  concurrent,  ///< all at once
};

}  // namespace raddle
