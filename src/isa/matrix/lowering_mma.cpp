// JIT: products of matrices that a warp holds together: a call of the opcode's function, with the registers
// in memory that all products of a PTX function share. A run of mma is one call, at its last.
#include <algorithm>
#include <array>

#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/matrix_memory.h"
#include "jit/matrix_product.h"
#include "jit/matrix_run.h"
#include "jit/mma_run.h"

namespace raddle::jit {
namespace {

void emit_product(WarpEmitter& e) {
  const unsigned bits = e.type(0) == Type::f64 ? 64 : 32;
  auto *a = in_memory(e, e.elements(1), "matrix_a", bits), *b = in_memory(e, e.elements(2), "matrix_b", bits);
  llvm::Value* metadata = llvm::PoisonValue::get(e.ir.getPtrTy());
  unsigned selector = 0;
  if (isa::is_sparse(e.opcode())) {
    FragmentMemory words(e, "matrix_metadata", 32);
    words.store({e.operand(4)});
    metadata = words.place();
    selector = static_cast<unsigned>(e.operand(5).value);
  }
  auto* product = matrix_product(*e.code.function()->getParent(), e.opcode(), e.code.simd(), selector);
  if (auto* sums = e.registers.fragment(e.elements(0));
      sums != nullptr && sums == e.registers.fragment(e.elements(3))) {
    e.if_any(e.bits(e.executing()), [&] { e.ir.CreateCall(product, {sums, a, b, sums, metadata}); });
    return;
  }
  FragmentMemory d(e, "matrix_d", bits), c(e, "matrix_c", bits);
  c.store(e.elements(3));
  e.ir.CreateCall(product, {d.place(), a, b, c.place(), metadata});
  d.load(e.elements(0));
}

/// Matrices of a run, each where it lives in memory.
class RunMatrices {
 public:
  explicit RunMatrices(WarpEmitter& e) : e_(e) {}
  /// @returns false if a matrix does not lie in memory as a whole
  bool add(const ptx::Instruction& mma) {
    const auto operands = e_.cursor.function.operands_of(mma);
    std::array<unsigned, 3> numbers{};
    for (unsigned k = 0; k < numbers.size(); ++k) {
      const auto elements = e_.cursor.function.elements_of(operands[k]);
      auto* place = e_.registers.fragment({elements.begin(), elements.end()});
      if (place == nullptr) return false;
      auto& places = places_[k];
      const auto known = std::ranges::find(places, place);
      numbers[k] = static_cast<unsigned>(known - places.begin());
      if (known == places.end()) places.push_back(place);
    }
    products_.push_back({numbers[0], numbers[1], numbers[2]});
    return true;
  }
  void multiply() {
    auto* function = matrix_run(*e_.code.function()->getParent(), e_.opcode(), e_.code.simd(), products_);
    std::vector<llvm::Value*> all;
    for (const auto& places : places_) all.insert(all.end(), places.begin(), places.end());
    e_.if_any(e_.bits(e_.executing()), [&] { e_.ir.CreateCall(function, all); });
  }

 private:
  WarpEmitter& e_;
  std::array<std::vector<llvm::Value*>, 3> places_;  // of D, A and B
  std::vector<RunProduct> products_;
};

/// @returns false if the mma is none of a run
bool emit_run(WarpEmitter& e) {
  const ptx::Function& function = e.cursor.function;
  if (e.code.thread() != nullptr || !is_run_opcode(e.opcode()) || !has_run_products(e.opcode(), e.code.simd()))
    return false;
  const auto run = mma_run(function, function.blocks[e.cursor.block], *e.cursor.instruction);
  RunMatrices matrices(e);
  if (run.size() < 2 || !std::ranges::all_of(run, [&](auto* mma) { return matrices.add(*mma); })) return false;
  if (run.back() == e.cursor.instruction) matrices.multiply();
  return true;
}

}  // namespace

template <>
void emit<Op::mma>(WarpEmitter& e) {
  if (!emit_run(e)) emit_product(e);
}

template <>
void emit<Op::mma_sp>(WarpEmitter& e) {
  emit_product(e);
}

template <>
void emit<Op::wmma_mma>(WarpEmitter& e) {
  emit_product(e);
}

template <>
void emit<Op::wmma_mma_f16>(WarpEmitter& e) {
  emit_product(e);
}

}  // namespace raddle::jit
