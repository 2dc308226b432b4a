// Kernels in which threads wait for one another in loops, made from their parts: how the flag is read, how
// the loop ends, what kind of block it is in.
#pragma once

#include <string>
#include <vector>

/// A kernel `NAME(flags, held, group)`: each `group` threads are a unit; unit u waits until flags[u + 1] is
/// not 0, then sets flags[u]. Thread t stores 1 to held[t] when it begins and t * 2654435761 when it has
/// waited.
struct WaitingKernel {
  std::string name;        ///< read_exit_kind
  bool in_block;           ///< the flags are in shared memory: units are those of one block
  bool meets = false;      ///< it has barriers, which are for whole warps
  bool is_hidden = false;  ///< no analysis sees that it waits: the JIT's lanes cannot, for one another
  bool traps = false;      ///< the loop ends by a trap
  /// The kind that the JIT should choose, where that is certain.
  std::string kind;
};

struct WaitingKernels {
  std::string text;  ///< PTX
  std::vector<WaitingKernel> kernels;
};

WaitingKernels waiting_kernels();
