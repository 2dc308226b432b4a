// Rows and columns that change places: four words of each lane, side by side in memory, and matrices of
// halves of words. On hosts whose shuffles of two vectors stay within 16 bytes (AVX2, SSE) they are
// shuffles of registers there. Of one shuffle across all LLVM takes each result by itself, twice as many.
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

/// Of 8 rows of 8 elements of 16 bits: rows become columns.
/// @param across  the host has shuffles across all of a register (AVX-512)
llvm::Value* transposed(Builder& ir, llvm::Value* elements, bool across);

}  // namespace raddle::jit
