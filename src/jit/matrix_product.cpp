#include "jit/matrix_product.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "jit/matrix_values.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

using isa::ModKind;

/// Writes the body of the function of one opcode.
class ProductWriter {
 public:
  ProductWriter(llvm::Function& function, const isa::Opcode& opcode, unsigned lanes)
      : ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)),
        function_(function),
        opcode_(opcode),
        lanes_(lanes),
        parts_(exec::kWarpSize / lanes),
        a_(ir_, {opcode, "a"}, function.getArg(1), lanes),
        b_(ir_, {opcode, "b"}, function.getArg(2), lanes),
        c_(ir_, {opcode, "c"}, function.getArg(3), lanes),
        d_(opcode, "d") {}

  void write() {
    if (isa::is_float(a_.layout().element()))
      sum_floats();
    else
      sum_integers();
    ir_.CreateRetVoid();
  }

 private:
  unsigned sums() const { return d_.registers() * d_.in_register(); }

  /// The cells of D that are element `index` of the fragments of part p.
  std::vector<MatrixCell> cells(unsigned index, unsigned p) const {
    std::vector<MatrixCell> all;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      all.push_back(d_.cell({p * lanes_ + lane, index / d_.in_register(), index % d_.in_register()}));
    return all;
  }

  void sum_floats() {
    const unsigned k = isa::matrix_shape(opcode_).k;
    for (unsigned p = 0; p < parts_; ++p) {
      std::vector<Val> totals;
      std::vector<std::vector<MatrixCell>> all;
      for (unsigned i = 0; i < sums(); ++i) {
        all.push_back(cells(i, p));
        totals.push_back(c_.gather(all[i], [](const MatrixCell& cell) { return cell; }));
      }
      for (unsigned along = 0; along < k; ++along)
        for (unsigned i = 0; i < sums(); ++i) {
          Val a = a_.gather(all[i], [&](MatrixCell cell) { return cell.column = along, cell; });
          Val b = b_.gather(all[i], [&](MatrixCell cell) { return cell.row = along, cell; });
          totals[i] = fma_rounded(a, b, totals[i], opcode_.get(ModKind::rounding));
        }
      store(p, totals);
    }
  }

  void sum_integers() {
    const unsigned words = isa::matrix_shape(opcode_).k / a_.layout().in_register();
    for (unsigned p = 0; p < parts_; ++p) {
      std::vector<Val> totals;
      for (unsigned i = 0; i < sums(); ++i) {
        const auto all = cells(i, p);
        const Val start = c_.gather(all, [](const MatrixCell& cell) { return cell; });
        Val total = start.like(0);
        for (unsigned word = 0; word < words; ++word) total = add_word(total, all, word);
        totals.push_back(opcode_.has(Mod::satfinite) ? intrinsic(llvm::Intrinsic::sadd_sat, total, start)
                                                     : total + start);
      }
      store(p, totals);
    }
  }

  /// Adds the products of a register's elements along k.
  Val add_word(Val total, const std::vector<MatrixCell>& cells, unsigned word) {
    const unsigned run = a_.layout().in_register(), first = word * run;
    for (unsigned unit = 0; unit < a_.units(); ++unit) {
      const Val a = a_.gather_unit(cells, unit, [&](MatrixCell cell) { return cell.column = first, cell; });
      const Val b = b_.gather_unit(cells, unit, [&](MatrixCell cell) { return cell.row = first, cell; });
      if (a_.layout().element() != Type::b1)
        total = total + multiply_pairs(a, b);
      else
        total = total + intrinsic(llvm::Intrinsic::ctpop, opcode_.has(Mod::xor_) ? a ^ b : a & b);
    }
    return total;
  }

  /// Sums of two products of 16-bit integers each.
  Val multiply_pairs(Val a, Val b) {
    using namespace llvm::Intrinsic;
    const ID id = lanes_ == 16  ? x86_avx512_pmaddw_d_512
                  : lanes_ == 8 ? x86_avx2_pmadd_wd
                                : x86_sse2_pmadd_wd;
    auto* pairs = llvm::FixedVectorType::get(ir_.getInt16Ty(), lanes_ * 2);
    auto* sum = ir_.CreateIntrinsic(id, {}, {ir_.CreateBitCast(a.v, pairs), ir_.CreateBitCast(b.v, pairs)});
    return {&ir_, sum, Type::s32};
  }

  void store(unsigned p, const std::vector<Val>& totals) {
    for (unsigned reg = 0; reg < d_.registers(); ++reg) {
      Val word = totals[reg * d_.in_register()];
      if (d_.element() == Type::f16)
        word = join({narrow_from_f32(totals[2 * reg], Type::f16, Mod::rn),
                     narrow_from_f32(totals[2 * reg + 1], Type::f16, Mod::rn)},
                    Type::b32);
      const unsigned bytes = d_.register_bits() / 8;
      auto* at = ir_.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), function_.getArg(0),
                                                (reg * exec::kWarpSize + p * lanes_) * bytes);
      ir_.CreateAlignedStore(word.as(isa::bits_type(d_.register_bits())).v, at, llvm::Align(kMatrixAlign));
    }
  }

  Builder ir_;
  llvm::Function& function_;
  const isa::Opcode& opcode_;
  const unsigned lanes_, parts_;
  MatrixValues a_, b_, c_;
  MatrixLayout d_;
};

}  // namespace

llvm::Function* matrix_product(llvm::Module& module, const isa::Opcode& opcode, unsigned lanes) {
  const std::string name = "raddle." + opcode.text;
  if (auto* known = module.getFunction(name)) return known;
  auto& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  ProductWriter(*function, opcode, lanes).write();
  return function;
}

}  // namespace raddle::jit
