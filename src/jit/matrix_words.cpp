#include "jit/matrix_words.h"

#include "jit/matrix_dots.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

unsigned lanes_of(llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

/// Each row's four words, from the one so many further on.
llvm::Value* turned(Builder& ir, llvm::Value* words, unsigned by) {
  std::vector<int> mask(lanes_of(words));
  for (unsigned l = 0; l < mask.size(); ++l)
    mask[l] = static_cast<int>(l / kChunkWords * kChunkWords + (l + by) % kChunkWords);
  return ir.CreateShuffleVector(words, mask);
}

}  // namespace

unsigned element_bits(Type type) { return type == Type::tf32 || type == Type::b1 ? 32 : isa::bit_size(type); }

llvm::Value* number_of_words(Builder& ir, llvm::Value* words, unsigned i, Type type) {
  const Val word{&ir, words, Type::u32};
  const unsigned bits = element_bits(type);
  switch (type) {
    case Type::tf32:
      return (word & word.like(~std::int64_t{0x1fff})).as(Type::f32).v;
    case Type::bf16:
      return (i == 0 ? shl(word, 16) : word & word.like(0xffff0000ll)).as(Type::f32).v;
    case Type::f16:
      return widen_to_f32(shr(word, bits * i).to(Type::b16), Type::f16).v;
    case Type::s8:
      return int_to_float(shr(shl(word, 24 - bits * i).as(Type::s32), 24), Type::f32).v;
    case Type::u8:
      return int_to_float((shr(word, bits * i) & word.like(0xff)).as(Type::s32), Type::f32).v;
    default:
      return widen_fp8_to_f32(shr(word, bits * i).to(Type::b8), type).v;
  }
}

llvm::Value* of_word(Builder& ir, llvm::Value* words, unsigned w) {
  std::vector<int> mask(lanes_of(words));
  for (unsigned l = 0; l < mask.size(); ++l) mask[l] = static_cast<int>(l / kChunkWords * kChunkWords + w);
  return ir.CreateShuffleVector(words, mask);
}

llvm::Value* sum_of_words(Builder& ir, llvm::Value* words) {
  auto* pairs = ir.CreateAdd(words, turned(ir, words, 1));
  return ir.CreateAdd(pairs, turned(ir, pairs, 2));
}

llvm::Value* add_bytes(Builder& ir, Type type, llvm::Value* sum, llvm::Value* a, llvm::Value* b) {
  const Val of_a{&ir, a, Type::b32}, of_b{&ir, b, Type::b32}, start{&ir, sum, Type::s32};
  return isa::is_signed(type) ? dot_of_bytes(of_b, of_a, start).v : dot_of_bytes(of_a, of_b, start).v;
}

}  // namespace raddle::jit
