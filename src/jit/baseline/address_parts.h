// What an address is made of, as far as the host's instructions can add it up: base + index * scale +
// distance.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <optional>

namespace raddle::jit::baseline {

/// An address as a base and a distance: GEPs by constants are folded into what reads or writes there.
struct Place {
  const llvm::Value* base;
  std::int64_t distance;
};
Place place_of(const llvm::Value* pointer, const llvm::DataLayout& layout);
const llvm::GEPOperator* constant_gep(const llvm::Value* value);

/// An element of an array whose number is known when the program runs: `scale` bytes each, a power of two.
struct Index {
  const llvm::Value* number;
  std::uint64_t scale;
  std::int64_t distance;
};
/// @returns none for what no address of the host's instructions can be
std::optional<Index> index_of(const llvm::GetElementPtrInst& element, const llvm::DataLayout& layout);

/// One operand of it is the address that it reads or writes; null: none.
const llvm::Value* address_in(const llvm::Instruction& i);

using Folded = llvm::DenseSet<const llvm::Instruction*>;

/// Adds to `folded` the sums, shifts, elements and casts of a block that are parts of addresses, and nothing
/// else: what reads or writes there adds them up.
void fold_addresses(const llvm::BasicBlock& block, const llvm::DataLayout& layout, Folded& folded);

/// Base, index and distance of an address, through what is folded.
struct AddressParts {
  const llvm::Value* base = nullptr;
  const llvm::Value* index = nullptr;  ///< null: none
  unsigned shift = 0;                  ///< of the index, to the left
  std::int64_t distance = 0;

  AddressParts(const llvm::Value* address, const Folded& folded, const llvm::DataLayout& layout);

 private:
  void add(const llvm::Value* value, unsigned by, const Folded& folded, const llvm::DataLayout& layout);
};

}  // namespace raddle::jit::baseline
