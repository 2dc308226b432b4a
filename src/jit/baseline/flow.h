// How often a function's blocks run, as far as its loops and the branches marked unlikely tell, and the order
// in which they are written: what hardly ever runs lies behind the rest.
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>
#include <vector>

namespace raddle::jit::baseline {

/// Whether a block goes on to its successor `n` hardly ever, as the terminator's weights say.
bool is_unlikely(const llvm::Instruction& terminator, unsigned n);

struct Flow {
  explicit Flow(const llvm::Function& function);

  struct Block {
    const llvm::BasicBlock* block;
    std::vector<std::uint32_t> predecessors, successors;
    float frequency = 0;  ///< of the function's entry: 1
  };
  std::vector<Block> blocks;         ///< by number: in the function's order
  std::vector<std::uint32_t> order;  ///< in which they are written
};

}  // namespace raddle::jit::baseline
