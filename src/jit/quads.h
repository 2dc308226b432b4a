// Accesses of four words a lane, side by side in memory, on hosts whose shuffles of two vectors stay within 16
// bytes (AVX2, SSE): four by four words change places there. As shuffles across all of a window, which
// LLVM takes one by one, they are twice as many instructions.
#pragma once

#include <array>

#include "jit/value.h"

namespace raddle::jit {

constexpr unsigned kQuad = 4;  ///< words of a lane

/// @param quads  32-bit words, kQuad of each lane side by side; of four or eight lanes
/// @return       each lane's first words, its second ones, ...
std::array<llvm::Value*, kQuad> words_of_quads(Builder& ir, llvm::Value* quads);

/// The way back.
llvm::Value* quads_of_words(Builder& ir, const std::array<llvm::Value*, kQuad>& words);

}  // namespace raddle::jit
