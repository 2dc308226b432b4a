// inclusive_scan() and exclusive_scan() of cooperative groups.
// Source: CUDA C++ Programming Guide, "Cooperative Groups", "inclusive_scan and exclusive_scan".
#pragma once

#include "raddle/cuda/cooperative_groups/reduce.h"

namespace cooperative_groups {

/// `operation` over the values of the threads up to this one, by rank.
template <typename Group, typename T, typename Operation>
RADDLE_DEVICE T inclusive_scan(const Group& group, T value, Operation&& operation) {
  const unsigned int rank = group.thread_rank();
  for (unsigned int distance = 1; distance < group.size(); distance *= 2) {
    const T before = group.shfl_up(value, distance);
    if (rank >= distance) value = operation(before, value);
  }
  return value;
}
template <typename Group, typename T>
RADDLE_DEVICE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
/// The same without this thread's own value; T() in the thread with rank 0.
template <typename Group, typename T, typename Operation>
RADDLE_DEVICE T exclusive_scan(const Group& group, T value, Operation&& operation) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T() : before;
}
template <typename Group, typename T>
RADDLE_DEVICE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
