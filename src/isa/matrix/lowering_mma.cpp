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
  auto *sums = e.registers.fragment(e.elements(0)), *start = e.registers.fragment(e.elements(3));
  if (sums != nullptr && start != nullptr && sums != a && sums != b) {
    e.if_any(e.bits(e.executing()), [&] { e.ir.CreateCall(product, {sums, a, b, start, metadata}); });
    return;
  }
  FragmentMemory d(e, "matrix_d", bits), c(e, "matrix_c", bits);
  c.store(e.elements(3));
  e.ir.CreateCall(product, {d.place(), a, b, c.place(), metadata});
  d.load(e.elements(0));
}

/// The run of an mma, whose matrices all lie in memory as a whole.
class Run {
 public:
  Run(WarpEmitter& e, const ptx::Instruction& mma)
      : e_(e),
        function_(e.cursor.function),
        block_(function_.blocks[e.cursor.block]),
        mmas_(mma_run(function_, block_, mma)) {
    exists_ = mmas_.size() > 1 && std::ranges::all_of(mmas_, [&](auto* each) { return add(*each); });
  }
  bool exists() const { return exists_; }
  /// At the last: for all.
  void multiply() {
    if (mmas_.back() != e_.cursor.instruction) return;
    std::vector<llvm::Value*> all;
    for (const auto& places : places_) all.insert(all.end(), places.begin(), places.end());
    std::vector<bool> is_there;
    for (const ptx::Instruction* mma : with_new_b_) {
      all.push_back(panel(*mma));
      is_there.push_back(is_in_panel(*mma));
    }
    auto* function =
        matrix_run(*e_.code.function()->getParent(), e_.opcode(), e_.code.simd(), products_, is_there);
    e_.if_any(e_.bits(e_.executing()), [&] { e_.ir.CreateCall(function, all); });
  }

 private:
  static constexpr unsigned kB = 2;

  std::vector<ptx::Operand> matrix(const ptx::Instruction& mma, unsigned k) const {
    const auto elements = function_.elements_of(function_.operands_of(mma)[k]);
    return {elements.begin(), elements.end()};
  }
  /// @returns false if one of its matrices does not lie in memory as a whole
  bool add(const ptx::Instruction& mma) {
    std::array<unsigned, kB + 1> numbers{};
    for (unsigned k = 0; k < numbers.size(); ++k) {
      auto* place = e_.registers.fragment(matrix(mma, k));
      if (place == nullptr) return false;
      auto& places = places_[k];
      const auto known = std::ranges::find(places, place);
      numbers[k] = static_cast<unsigned>(known - places.begin());
      if (known != places.end()) continue;
      places.push_back(place);
      if (k == kB) with_new_b_.push_back(&mma);
    }
    products_.push_back({numbers[0], numbers[1], numbers[2]});
    return true;
  }
  /// A run before has put its B there.
  bool is_in_panel(const ptx::Instruction& mma) const {
    const auto* earlier = earlier_with_b(function_, block_, *mmas_[0], mma);
    return earlier != nullptr && Run(e_, *earlier).exists();
  }
  /// Of an mma's B, which all runs of the function share.
  llvm::Value* panel(const ptx::Instruction& mma) {
    auto* bytes = llvm::ArrayType::get(e_.ir.getInt8Ty(), panel_bytes(e_.opcode(), e_.code.simd()));
    const std::string b = std::to_string(matrix(mma, kB)[0].index);
    return e_.code.shared_alloca(bytes, "panel." + e_.opcode().text + "." + b, 64);
  }

  WarpEmitter& e_;
  const ptx::Function& function_;
  const ptx::Block& block_;
  const std::vector<const ptx::Instruction*> mmas_;
  std::array<std::vector<llvm::Value*>, kB + 1> places_;  // of D, A and B
  std::vector<const ptx::Instruction*> with_new_b_;       // for each B the first
  std::vector<RunProduct> products_;
  bool exists_ = false;
};

/// @returns false if the mma is none of a run
bool emit_run(WarpEmitter& e) {
  if (e.code.thread() != nullptr || !is_run_opcode(e.opcode()) ||
      !has_run_products(e.opcode(), e.code.simd()))
    return false;
  Run run(e, *e.cursor.instruction);
  if (run.exists()) run.multiply();
  return run.exists();
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
