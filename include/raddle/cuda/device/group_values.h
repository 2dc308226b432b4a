// How values of any size move between the lanes of a warp, for cooperative groups.
#pragma once

#include "raddle/cuda/device/synchronization.h"

/// Lanes with lower numbers than this one's.
RADDLE_DEVICE unsigned int raddle_lanes_below() { return __nvvm_read_ptx_sreg_lanemask_lt(); }

/// The bits of `bits` at the places of `mask`, moved together: bit i belongs to the thread with rank i.
RADDLE_DEVICE unsigned int raddle_packed(unsigned int bits, unsigned int mask) {
  unsigned int packed = 0;
  for (int rank = 0; mask != 0; ++rank, mask &= mask - 1) packed |= (bits >> (__ffs(mask) - 1) & 1) << rank;
  return packed;
}

/// `value`, each word of which has gone through `move`.
template <typename T, typename Move>
RADDLE_DEVICE T raddle_by_words(T value, Move move) {
  constexpr int count = (sizeof(T) + 3) / 4;
  int words[count] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < count; ++i) words[i] = move(words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <typename T>
RADDLE_DEVICE T raddle_from_lane(unsigned int mask, T value, unsigned int lane) {
  return raddle_by_words(value, [&](int word) { return __shfl_sync(mask, word, (int)lane); });
}
