// Words of matrices in vectors of the host, as the functions of products take them apart: rows of a matrix
// with four words each side by side, and the numbers that words hold.
#pragma once

#include "jit/value.h"

namespace raddle::jit {

inline constexpr unsigned kChunkWords = 4;  ///< 16 bytes lie together, whatever the layout

/// Bits of an element in a word.
unsigned element_bits(Type type);

/// Element i of each word, from the low bits, as f32.
llvm::Value* number_of_words(Builder& ir, llvm::Value* words, unsigned i, Type type);

/// Of each row's four words the w-th, four times.
llvm::Value* of_word(Builder& ir, llvm::Value* words, unsigned w);

/// In each lane the sum of its row's four words.
llvm::Value* sum_of_words(Builder& ir, llvm::Value* words);

/// sum + a * b, four bytes of a word each. The host multiplies unsigned bytes by signed ones: where a and b
/// are of one kind, b's top bits are to be inverted.
/// @param type  of a's bytes
llvm::Value* add_bytes(Builder& ir, Type type, llvm::Value* sum, llvm::Value* a, llvm::Value* b);

}  // namespace raddle::jit
