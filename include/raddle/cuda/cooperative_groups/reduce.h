// reduce() of cooperative groups, and the operations that it takes.
// Source: CUDA C++ Programming Guide, "Cooperative Groups", "reduce".
#pragma once

#include "raddle/cuda/cooperative_groups.h"

namespace cooperative_groups {

#define RADDLE_OPERATION(name, expression)                         \
  template <typename T = void>                                     \
  struct name {                                                    \
    __device__ T operator()(T x, T y) const { return expression; } \
  };                                                               \
  template <>                                                      \
  struct name<void> {                                              \
    template <typename T>                                          \
    __device__ T operator()(T x, T y) const {                      \
      return expression;                                           \
    }                                                              \
  };
RADDLE_OPERATION(plus, x + y)
RADDLE_OPERATION(less, y < x ? y : x)
RADDLE_OPERATION(greater, x < y ? y : x)
RADDLE_OPERATION(bit_and, x& y)
RADDLE_OPERATION(bit_or, x | y)
RADDLE_OPERATION(bit_xor, x ^ y)
#undef RADDLE_OPERATION

/// `operation` over the values of all threads of the group, in every thread. It is taken in a tree over
/// ranks.
template <typename Group, typename T, typename Operation>
RADDLE_DEVICE T reduce(const Group& group, T value, Operation&& operation) {
  const unsigned int size = group.size(), rank = group.thread_rank();
  for (unsigned int distance = 1; distance < size; distance *= 2) {
    const T other = group.shfl_down(value, distance);
    if (rank % (2 * distance) == 0 && rank + distance < size) value = operation(value, other);
  }
  return group.shfl(value, 0);
}

}  // namespace cooperative_groups
