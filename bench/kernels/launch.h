// A launch as the CUDA programmer chose it: kernel, grid, block, arguments. One description for the two
// systems that launch (Raddle and OpenCL), so that both run the same shapes.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace bench {

/// A buffer of the workload, from `offset` bytes on.
struct BufferArgument {
  int index;
  long offset = 0;
};
using Argument = std::variant<BufferArgument, std::int32_t, float>;

struct Launch {
  std::string_view file;  ///< of examples/kernels or bench/kernels/cuda, without extension
  std::string_view kernel;
  unsigned grid[3];   ///< blocks
  unsigned block[3];  ///< threads
  std::vector<Argument> arguments;
  unsigned shared_bytes = 0;  ///< dynamic, per block; OpenCL's kernels have it as an array of their own
  unsigned cluster = 0;       ///< blocks along x; 0: no clusters
};

/// Blocks for all elements.
inline unsigned blocks(long elements, long per_block) {
  return static_cast<unsigned>((elements + per_block - 1) / per_block);
}

}  // namespace bench
