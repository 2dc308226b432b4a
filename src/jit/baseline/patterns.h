// What IR says in several instructions and the host does in one, or in a cheaper one than for all values.
#pragma once

#include <llvm/IR/Instructions.h>

#include <optional>

#include "jit/baseline/pieces.h"

namespace raddle::jit::baseline {

/// Its lanes of 64 bits are numbers of 32, without signs or with them.
bool fits_32_bits(const llvm::Value* value, bool is_signed);

/// Which power of two, if a number of 64 bits is multiplied by that and one more: a shift and a sum, where a
/// product of vectors takes three steps. Addresses are checked so.
std::optional<unsigned> power_and_one(const llvm::BinaryOperator& product);

/// Of the words' products by constants only the upper halves are read, and the words by nothing else: one
/// instruction makes the products of every other lane.
bool is_factor_of_high_products(const llvm::ZExtInst& words);

/// How many of the first operand's lanes a shuffle repeats to the end of its result; 0: it is no such thing.
unsigned repeated_lanes(const llvm::ShuffleVectorInst& shuffle);
/// It repeats the lower half or quarter of a register.
bool repeats_part(const llvm::ShuffleVectorInst& shuffle, const Form& form);
/// What a splat, or a shuffle that repeats a part of a register, reads from memory itself: no other reads it,
/// and nothing is written between.
bool is_repeated_load(const llvm::LoadInst& load, const Form& form);

}  // namespace raddle::jit::baseline
