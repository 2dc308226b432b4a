// JIT: products of matrices that a warp holds together: a call of the opcode's function, with the registers
// in memory that all products of a PTX function share.
#include "isa/op.h"
#include "jit/matrix_product.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

/// Registers of one operand in memory.
class FragmentMemory {
 public:
  FragmentMemory(WarpEmitter& e, const char* name, unsigned bits)
      : e_(e), word_(e.code.vector_of(e.ir.getIntNTy(bits))), bits_(bits) {
    auto* bytes = llvm::ArrayType::get(e.ir.getInt8Ty(), kMostRegisters * exec::kWarpSize * 8);
    place_ = e.code.shared_alloca(bytes, name, 64);
  }
  llvm::Value* place() const { return place_; }
  void store(const std::vector<ptx::Operand>& registers) {
    for (unsigned i = 0; i < registers.size(); ++i) {
      const WarpValue value = e_.registers.read(registers[i]);
      for (unsigned p = 0; p < e_.parts(); ++p)
        e_.ir.CreateAlignedStore(e_.part(value, p, isa::bits_type(bits_)).v, part(i, p), llvm::Align(16));
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
  static constexpr unsigned kMostRegisters = 8;
  llvm::Value* part(unsigned i, unsigned p) {
    const unsigned at = (i * exec::kWarpSize + p * e_.lanes()) * bits_ / 8;
    return e_.ir.CreateConstInBoundsGEP1_32(e_.ir.getInt8Ty(), place_, at);
  }

  WarpEmitter& e_;
  llvm::Type* word_;
  unsigned bits_;
  llvm::Value* place_;
};

void emit_product(WarpEmitter& e) {
  const unsigned bits = e.type(0) == Type::f64 ? 64 : 32;
  FragmentMemory d(e, "matrix_d", bits), a(e, "matrix_a", bits), b(e, "matrix_b", bits),
      c(e, "matrix_c", bits);
  a.store(e.elements(1));
  b.store(e.elements(2));
  c.store(e.elements(3));
  auto* product = matrix_product(*e.code.function()->getParent(), e.opcode(), e.lanes());
  e.ir.CreateCall(product, {d.place(), a.place(), b.place(), c.place()});
  d.load(e.elements(0));
}

}  // namespace

template <>
void emit<Op::mma>(WarpEmitter& e) {
  emit_product(e);
}

}  // namespace raddle::jit
