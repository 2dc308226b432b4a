// Registers of a warp's matrices in memory: each one's lanes in order, one register behind the other.
#pragma once

#include <utility>
#include <vector>

#include "jit/warp_emitter.h"

namespace raddle::jit {

/// Those of one operand, in memory that all instructions of a PTX function share.
class FragmentMemory {
 public:
  /// @param most  registers that an operand of this name has
  FragmentMemory(WarpEmitter& e, const char* name, unsigned bits, unsigned most = 8)
      : e_(e), word_(e.code.vector_of(e.ir.getIntNTy(bits))), bits_(bits) {
    auto* bytes = llvm::ArrayType::get(e.ir.getInt8Ty(), most * exec::kWarpSize * 8);
    place_ = e.code.shared_alloca(bytes, name, 64);
  }
  llvm::Value* place() const { return place_; }
  /// Of a lane's register, bytes from it on.
  llvm::Value* of_lane(llvm::Value* lane, unsigned reg, unsigned bytes) {
    auto* at = e_.ir.CreateMul(lane, e_.ir.getInt32(bits_ / 8));
    at = e_.ir.CreateAdd(at, e_.ir.getInt32(reg * exec::kWarpSize * bits_ / 8 + bytes));
    return e_.ir.CreateInBoundsGEP(e_.ir.getInt8Ty(), place_, at);
  }
  /// @param first  registers that lie before them
  void store(const std::vector<ptx::Operand>& registers, unsigned first = 0) {
    for (unsigned i = 0; i < registers.size(); ++i) {
      const WarpValue value = e_.registers.read(registers[i]);
      for (unsigned p = 0; p < e_.parts(); ++p)
        e_.ir.CreateAlignedStore(e_.part(value, p, isa::bits_type(bits_)).v, part(first + i, p),
                                 llvm::Align(16));
    }
  }
  void load(const std::vector<ptx::Operand>& registers) {
    for (unsigned i = 0; i < registers.size(); ++i) {
      std::vector<llvm::Value*> parts;
      for (unsigned p = 0; p < e_.parts(); ++p)
        parts.push_back(e_.ir.CreateAlignedLoad(word_, part(i, p), llvm::Align(16)));
      e_.registers.write_parts(registers[i], isa::bits_type(bits_), std::move(parts));
    }
  }

 private:
  llvm::Value* part(unsigned i, unsigned p) {
    const unsigned at = (i * exec::kWarpSize + p * e_.lanes()) * bits_ / 8;
    return e_.ir.CreateConstInBoundsGEP1_32(e_.ir.getInt8Ty(), place_, at);
  }

  WarpEmitter& e_;
  llvm::Type* word_;
  unsigned bits_;
  llvm::Value* place_;
};

/// The elements of a matrix of 8x8 16-bit ones, row by row, as the words of the warp's lanes.
inline std::vector<llvm::Value*> words_of_lanes(WarpEmitter& e, llvm::Value* elements) {
  auto* words = e.ir.CreateBitCast(elements, llvm::FixedVectorType::get(e.ir.getInt32Ty(), exec::kWarpSize));
  return e.by_part([&](unsigned p) {
    return Val{&e.ir, e.ir.CreateExtractVector(e.words(), words, e.ir.getInt64(p * e.lanes())), Type::b32};
  });
}

/// Where an instruction's function finds the registers of a matrix: where they live, or in a copy.
/// @param name  of the copy
inline llvm::Value* in_memory(WarpEmitter& e, const std::vector<ptx::Operand>& registers, const char* name,
                              unsigned bits) {
  if (auto* place = e.registers.fragment(registers)) return place;
  FragmentMemory copy(e, name, bits);
  copy.store(registers);
  return copy.place();
}

}  // namespace raddle::jit
