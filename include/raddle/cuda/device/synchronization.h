// Barriers of a block and a warp, fences, votes, matches, reductions and shuffles among the lanes of a warp.
// Source: CUDA C++ Programming Guide, "Synchronization Functions", "Warp Vote Functions" to "Warp Shuffle
// Functions".
#pragma once

#include "raddle/cuda/device/attributes.h"

// __syncthreads() itself is known to clang.
RADDLE_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
RADDLE_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
RADDLE_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
RADDLE_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
RADDLE_DEVICE void __barrier_sync(unsigned int barrier) { __nvvm_barrier_sync(barrier); }
RADDLE_DEVICE void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
  __nvvm_barrier_sync_cnt(barrier, threads);
}
RADDLE_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
RADDLE_DEVICE void __threadfence() { __nvvm_membar_gl(); }
RADDLE_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

// Votes.
RADDLE_DEVICE int __all_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_all_sync(mask, predicate != 0);
}
RADDLE_DEVICE int __any_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_any_sync(mask, predicate != 0);
}
RADDLE_DEVICE int __uni_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_uni_sync(mask, predicate != 0);
}
RADDLE_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
RADDLE_DEVICE unsigned int __activemask() {
  unsigned int mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}

// Reductions of one 32-bit value per lane (sm_80).
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
RADDLE_DEVICE unsigned int __reduce_add_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_add(value, mask);
}
RADDLE_DEVICE int __reduce_add_sync(unsigned int mask, int value) {
  return __nvvm_redux_sync_add(value, mask);
}
RADDLE_DEVICE unsigned int __reduce_min_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umin(value, mask);
}
RADDLE_DEVICE int __reduce_min_sync(unsigned int mask, int value) {
  return __nvvm_redux_sync_min(value, mask);
}
RADDLE_DEVICE unsigned int __reduce_max_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umax(value, mask);
}
RADDLE_DEVICE int __reduce_max_sync(unsigned int mask, int value) {
  return __nvvm_redux_sync_max(value, mask);
}
RADDLE_DEVICE unsigned int __reduce_and_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_and(value, mask);
}
RADDLE_DEVICE unsigned int __reduce_or_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_or(value, mask);
}
RADDLE_DEVICE unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_xor(value, mask);
}
#endif

// A value of 4 or 8 bytes as one or two words of 32 bits.
template <typename T>
struct raddle_words {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffled value has 2, 4 or 8 bytes");
  static constexpr int count = sizeof(T) / 4;
  int word[count];
};

// Shuffles. The last operand of shfl holds the segment's mask in bits 8 to 12 and the clamp in bits 0 to 4.
#define RADDLE_SHUFFLE(name, mode, third, clamp)                                                    \
  template <typename T>                                                                             \
  RADDLE_DEVICE T name(unsigned int mask, T value, third which, int width = warpSize) {             \
    if constexpr (sizeof(T) == 2) {                                                                 \
      const int word = __builtin_bit_cast(unsigned short, value);                                   \
      return __builtin_bit_cast(T, (unsigned short)name(mask, word, which, width));                 \
    } else {                                                                                        \
      auto words = __builtin_bit_cast(raddle_words<T>, value);                                      \
      for (int i = 0; i < words.count; ++i)                                                         \
        words.word[i] =                                                                             \
            __nvvm_shfl_sync_##mode##_i32(mask, words.word[i], which, ((32 - width) << 8) | clamp); \
      return __builtin_bit_cast(T, words);                                                          \
    }                                                                                               \
  }
RADDLE_SHUFFLE(__shfl_sync, idx, int, 0x1f)
RADDLE_SHUFFLE(__shfl_up_sync, up, unsigned int, 0)
RADDLE_SHUFFLE(__shfl_down_sync, down, unsigned int, 0x1f)
RADDLE_SHUFFLE(__shfl_xor_sync, bfly, int, 0x1f)
#undef RADDLE_SHUFFLE

// Matches (sm_70).
template <typename T>
RADDLE_DEVICE unsigned int __match_any_sync(unsigned int mask, T value) {
  if constexpr (sizeof(T) == 4) {
    return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(int, value));
  } else {
    return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, value));
  }
}
template <typename T>
RADDLE_DEVICE unsigned int __match_all_sync(unsigned int mask, T value, int* predicate) {
  if constexpr (sizeof(T) == 4) {
    return __nvvm_match_all_sync_i32p(mask, __builtin_bit_cast(int, value), predicate);
  } else {
    return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(long long, value), predicate);
  }
}
