// The pieces of a run's function (matrix_run.h), each a function of its own, which all runs of an opcode in a
// module share: what unpacks an A, what unpacks a B, and what adds up a tile. Written again for each matrix
// they were most of the code of a kernel that multiplies, and took most of its time to compile.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "isa/row.h"
#include "jit/simd_form.h"

namespace raddle::jit {

/// How the host multiplies the matrices of an opcode.
struct RunForm {
  RunForm(const isa::Opcode& opcode, SimdForm simd);

  static constexpr unsigned kLanes = 16;  ///< of a vector of the host
  static constexpr unsigned kHalves = 2, kParts = 32 / kLanes;
  static constexpr unsigned kColumnsOfB = 8;
  static constexpr unsigned kVectors =
      kHalves * kParts;  ///< of A's words of a chunk: by half of the rows, by part
  static constexpr unsigned kSums = kHalves * 2 * kParts;  ///< vectors of a D

  std::string opcode;
  isa::Type a, b;
  unsigned chunks;  ///< of four words, along K
  bool is_integer, by_pairs;
  unsigned in_word;  ///< numbers that are multiplied one by one; 1: the word itself is multiplied
  bool flips_b;

  bool in_words() const { return is_integer || by_pairs; }  ///< A's and B's are multiplied as they are

  // Places in panels, in words.
  /// A's have, chunk by chunk, the vectors of each of a word's numbers. Where words are multiplied, A is its
  /// own.
  unsigned panel_of_a(unsigned i, unsigned v) const { return (i * kVectors + v) * kLanes; }
  unsigned chunk_of_a() const { return panel_of_a(in_word, 0); }
  /// Numbers of two words of eight columns are a vector: the even columns of the first, its odd ones, and so
  /// on, as those of one parity are multiplied together.
  unsigned place_in_b(unsigned word, unsigned i, unsigned odd) const {
    return ((word / 2 * in_word + i) * 2 + word % 2) * kColumnsOfB + odd * kColumnsOfB / 2;
  }
  unsigned chunk_of_b() const;
  unsigned words_of_panel_of_a() const { return chunks * chunk_of_a(); }
  static constexpr unsigned kWordsOfExcess = kVectors * kLanes;
};

/// An empty function of pointers to different matrices, of which some that follow one another are only read.
llvm::Function* new_matrix_function(llvm::Module& module, const std::string& name, unsigned pointers,
                                    unsigned first_read, unsigned read);

/// void(ptr a, ptr panel): puts A's numbers into its panel. Of those that are multiplied as words, with B
/// flipped: puts the sums that come out too large for that into the panel, kWordsOfExcess.
llvm::Function* unpacker_of_a(llvm::Module& module, const RunForm& form);
/// void(ptr b, ptr panel)
llvm::Function* unpacker_of_b(llvm::Module& module, const RunForm& form);

/// void(ptr d..., {ptr a, ptr b..., ptr excess, where there is any}...): adds products of the same As, in
/// turn, to Ds, one or two. All but the Ds are what unpackers have made.
/// @param ds     how many
/// @param steps  As; each has a B for every D
llvm::Function* tile_adder(llvm::Module& module, const RunForm& form, unsigned ds, unsigned steps);

}  // namespace raddle::jit
