// Symbols that are there so that programs link and start, and that say so when they are called. A file of its
// own: without the prototypes, which these need not follow.
#include <atomic>
#include <cstdio>

#include "raddle/cuda/types/errors.h"

namespace raddle::cudart {

cudaError_t missing(const char* symbol, std::atomic<bool>& said);

// In a section of their own, by which `raddle doctor` tells them.
#define MISSING(symbol)                                                                               \
  extern "C" __attribute__((visibility("default"), section("raddle_missing"))) cudaError_t symbol() { \
    static std::atomic<bool> said{false};                                                             \
    return missing(#symbol, said);                                                                    \
  }
#include "cudart/missing.def"

}  // namespace raddle::cudart
