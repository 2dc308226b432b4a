// Requests to the machine that concern many lanes at once: arrays by lane on the stack (exec/texture.h),
// filled with vectors, one call, results read back as vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/warp_emitter.h"

namespace raddle::jit {

class RequestLanes {
 public:
  /// Bytes of 32-bit values by lane.
  static constexpr std::size_t kRow = sizeof(std::uint32_t) * exec::kWarpSize;

  /// @param bytes  of the structure
  RequestLanes(WarpEmitter& e, std::size_t bytes);

  /// Writes an operand's lanes to the array of `bits`-wide integers at `offset`.
  void put(std::size_t offset, unsigned bits, const ptx::Operand& source);
  /// Calls a service for the lanes that execute: `void(warp, word, lanes, this structure)`.
  void call(exec::Service service, std::uint32_t word);
  /// Writes a destination from the array at `offset`; `bits` of its elements count.
  void get(std::size_t offset, unsigned stored_bits, unsigned bits, const ptx::Operand& destination);
  /// Whether the 32-bit integers at `offset` differ from 0, per part.
  Mask flags(std::size_t offset);
  /// The word at `offset`.
  llvm::Value* word(std::size_t offset);

 private:
  llvm::Value* at(std::size_t offset, unsigned bits, unsigned part);
  llvm::FixedVectorType* vector(unsigned bits);

  WarpEmitter& e_;
  llvm::Value* base_;
};

}  // namespace raddle::jit
