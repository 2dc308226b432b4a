#include "jit/transposes.h"

#include <llvm/Analysis/VectorUtils.h>

#include <vector>

namespace raddle::jit {
namespace {

using Words = std::array<llvm::Value*, kQuad>;

unsigned lanes_in(llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

/// Of every 16 bytes of two vectors, pieces of both in turn, from the lower or upper half.
llvm::Value* in_turn(Builder& ir, llvm::Value* a, llvm::Value* b, unsigned piece, bool upper) {
  const unsigned lanes = lanes_in(a), row = 128 / a->getType()->getScalarSizeInBits();
  std::vector<int> mask;
  for (unsigned first = upper ? row / 2 : 0; first < lanes; first += row)
    for (unsigned element = 0; element < row / 2; element += piece)
      for (const unsigned vector : {0U, lanes})
        for (unsigned i = 0; i < piece; ++i) mask.push_back(static_cast<int>(vector + first + element + i));
  return ir.CreateShuffleVector(a, b, mask);
}

/// Rows `first` and `first + 4`, and so on, of so many elements.
llvm::Value* every_fourth_row(Builder& ir, llvm::Value* rows, unsigned first, unsigned elements) {
  std::vector<int> mask;
  for (unsigned row = first; row < lanes_in(rows) / elements; row += kQuad)
    for (unsigned element = 0; element < elements; ++element)
      mask.push_back(static_cast<int>(row * elements + element));
  return ir.CreateShuffleVector(rows, mask);
}

/// Of four by four words in every 16 bytes.
Words columns_of(Builder& ir, const Words& rows) {
  Words columns;
  for (const bool upper : {false, true}) {
    auto *first = in_turn(ir, rows[0], rows[1], 1, upper), *second = in_turn(ir, rows[2], rows[3], 1, upper);
    for (const bool odd : {false, true}) columns[2 * upper + odd] = in_turn(ir, first, second, 2, odd);
  }
  return columns;
}

}  // namespace

Words words_of_quads(Builder& ir, llvm::Value* quads) {
  Words rows;
  for (unsigned first = 0; first < kQuad; ++first) rows[first] = every_fourth_row(ir, quads, first, kQuad);
  return columns_of(ir, rows);
}

llvm::Value* quads_of_words(Builder& ir, const Words& words) {
  const unsigned lanes = lanes_in(words[0]), in_vector = lanes / kQuad;
  const Words rows = columns_of(ir, words);
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

llvm::Value* transposed(Builder& ir, llvm::Value* elements, bool across) {
  constexpr unsigned kSide = 8;
  if (across) {
    std::vector<int> from;
    for (unsigned i = 0; i < kSide * kSide; ++i)
      from.push_back(static_cast<int>(i % kSide * kSide + i / kSide));
    return ir.CreateShuffleVector(elements, from);
  }
  Words rows;
  for (unsigned first = 0; first < kQuad; ++first) rows[first] = every_fourth_row(ir, elements, first, kSide);
  std::vector<llvm::Value*> columns;  // two each, which lie in the halves of 16 bytes then
  for (const bool upper : {false, true}) {
    auto *first = in_turn(ir, rows[0], rows[1], 1, upper), *second = in_turn(ir, rows[2], rows[3], 1, upper);
    for (const bool odd : {false, true})
      columns.push_back(ir.CreateShuffleVector(in_turn(ir, first, second, 2, odd),
                                               {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}));
  }
  return llvm::concatenateVectors(ir, columns);
}

}  // namespace raddle::jit
