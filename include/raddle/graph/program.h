// Programs that build graphs (G-3), and where they and the scheduler run (G-7).
#pragma once

#include <functional>

#include "raddle/graph/graph.h"

namespace raddle::graph {

/// A program in C++: any function. Control flow over parameters, and over what the device made before
/// (Executor::read), gives other graphs in other runs.
using GraphProgram = std::function<Result<void>(Graph&)>;

/// Who runs a program, or the scheduler.
enum class Side : std::uint8_t {
  host,    ///< the thread that calls
  device,  ///< the device, as a task in one of its streams: it begins when the stream has come to it
};

struct Sides {
  Side program = Side::host, scheduler = Side::host;
  /// Both are one task, or one piece of the calling thread's work; else each is by itself. Needs equal sides.
  bool as_one = false;
};

}  // namespace raddle::graph
