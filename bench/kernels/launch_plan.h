// How each workload is launched: kernel, grid, block, arguments. One description for the two systems that
// launch (Raddle and OpenCL), so that both run the same shapes.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "workload.h"

namespace bench {

/// A buffer of the workload, from `offset` bytes on.
struct BufferArgument {
  int index;
  long offset = 0;
};
using Argument = std::variant<BufferArgument, std::int32_t, float>;

struct Launch {
  std::string_view file;  ///< of examples/kernels, without extension
  std::string_view kernel;
  unsigned grid[3];   ///< blocks
  unsigned block[3];  ///< threads
  std::vector<Argument> arguments;
};

/// The launches that make one run, in order.
std::vector<Launch> launch_plan(const Workload& workload);

}  // namespace bench
