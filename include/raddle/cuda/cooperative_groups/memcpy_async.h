// memcpy_async() and wait() of cooperative groups. The copy is done when memcpy_async returns, as the guide
// allows. Source: CUDA C++ Programming Guide, "Cooperative Groups", "memcpy_async".
#pragma once

#include "raddle/cuda/cooperative_groups.h"

namespace cooperative_groups {

/// Copies `bytes` bytes, all threads of the group together.
template <typename Group, typename To, typename From>
RADDLE_DEVICE void memcpy_async(const Group& group, To* to, const From* from, size_t bytes) {
  const bool words = (((size_t)to | (size_t)from | bytes) & 3) == 0;
  const size_t count = words ? bytes / 4 : bytes;
  for (size_t i = group.thread_rank(); i < count; i += group.size()) {
    if (words) {
      ((unsigned int*)to)[i] = ((const unsigned int*)from)[i];
    } else {
      ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
    }
  }
}
/// Waits for all copies of the group.
template <typename Group>
RADDLE_DEVICE void wait(const Group& group) {
  group.sync();
}
/// Waits for all copies but the last `stages`.
template <unsigned int stages, typename Group>
RADDLE_DEVICE void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
