#include "jit/quads.h"

#include <llvm/Analysis/VectorUtils.h>

#include <vector>

namespace raddle::jit {
namespace {

using Words = std::array<llvm::Value*, kQuad>;

unsigned lanes_in(llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

/// Of every 16 bytes of two vectors, two pieces of each in turn, from the lower or upper half.
llvm::Value* in_turn(Builder& ir, llvm::Value* a, llvm::Value* b, unsigned piece_words, bool upper) {
  const unsigned lanes = lanes_in(a);
  std::vector<int> mask;
  for (unsigned quad = upper ? kQuad / 2 : 0; quad < lanes; quad += kQuad)
    for (unsigned word = 0; word < kQuad / 2; word += piece_words)
      for (const unsigned vector : {0U, lanes})
        for (unsigned i = 0; i < piece_words; ++i) mask.push_back(static_cast<int>(vector + quad + word + i));
  return ir.CreateShuffleVector(a, b, mask);
}

/// Columns of four by four words become rows, in every 16 bytes.
Words transposed(Builder& ir, const Words& rows) {
  Words columns;
  for (const bool upper : {false, true}) {
    auto *first = in_turn(ir, rows[0], rows[1], 1, upper), *second = in_turn(ir, rows[2], rows[3], 1, upper);
    for (const bool odd : {false, true})
      columns[2 * upper + odd] = in_turn(ir, first, second, 2, odd);
  }
  return columns;
}

}  // namespace

Words words_of_quads(Builder& ir, llvm::Value* quads) {
  const unsigned lanes = lanes_in(quads) / kQuad;
  Words rows;
  for (unsigned first = 0; first < kQuad; ++first) {
    std::vector<int> mask;  // the quads of every fourth lane
    for (unsigned lane = first; lane < lanes; lane += kQuad)
      for (unsigned word = 0; word < kQuad; ++word) mask.push_back(static_cast<int>(lane * kQuad + word));
    rows[first] = ir.CreateShuffleVector(quads, mask);
  }
  return transposed(ir, rows);
}

llvm::Value* quads_of_words(Builder& ir, const Words& words) {
  const unsigned lanes = lanes_in(words[0]), in_vector = lanes / kQuad;
  const Words rows = transposed(ir, words);
  if (in_vector == 1) return llvm::concatenateVectors(ir, rows);
  std::vector<llvm::Value*> quads;  // by vectors of the host: of longer shuffles LLVM makes its own again
  for (unsigned lane = 0; lane < lanes; lane += in_vector) {
    std::vector<int> mask;
    for (const unsigned vector : {0U, lanes})
      for (unsigned word = 0; word < kQuad; ++word)
        mask.push_back(static_cast<int>(vector + lane / kQuad * kQuad + word));
    quads.push_back(ir.CreateShuffleVector(rows[lane % kQuad], rows[lane % kQuad + 1], mask));
  }
  return llvm::concatenateVectors(ir, quads);
}

}  // namespace raddle::jit
