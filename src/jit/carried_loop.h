// A loop of LLVM IR that carries values from turn to turn, for functions that are written by hand.
#pragma once

#include <functional>
#include <vector>

#include "jit/value.h"

namespace raddle::jit {

/// @param turn     its number (i32)
/// @param carried  the values before it
/// @returns those behind it
using LoopBody =
    std::function<std::vector<llvm::Value*>(llvm::Value* turn, std::vector<llvm::Value*> carried)>;

/// Writes the loop where `ir` is, at least one turn, and leaves `ir` behind it.
/// @param first  number of the first turn (i32)
/// @param end    the number after that of the last
/// @returns the values behind the last turn
std::vector<llvm::Value*> carried_loop(Builder& ir, llvm::Value* first, unsigned end,
                                       std::vector<llvm::Value*> carried, const LoopBody& body);

}  // namespace raddle::jit
