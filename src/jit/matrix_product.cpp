#include "jit/matrix_product.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "jit/matrix_dots.h"
#include "jit/matrix_values.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

using isa::ModKind;

constexpr std::uint32_t kTopBits = 0x80808080;  // of four bytes

/// Writes the body of the function of one opcode.
class ProductWriter {
 public:
  ProductWriter(llvm::Function& function, const isa::Opcode& opcode, SimdForm simd, unsigned selector)
      : ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)),
        function_(function),
        opcode_(opcode),
        simd_(simd),
        lanes_(simd.lanes),
        parts_(simd.parts()),
        a_(ir_, {opcode, "a"}, function.getArg(1), lanes_),
        b_(ir_, {opcode, "b"}, function.getArg(2), lanes_),
        c_(ir_, {opcode, "c"}, function.getArg(3), lanes_),
        d_(opcode, "d"),
        selector_(selector) {}

  void write() {
    if (isa::is_sparse(opcode_))
      sum_sparse();
    else if (a_.layout().element() == Type::bf16 && simd_.dots_of_bf16)
      sum_pairs();
    else if (isa::is_float(a_.layout().element()))
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

  /// Sums are chains of additions, each of which waits for the last: as many side by side as registers hold.
  void sum_floats() {
    const unsigned together = lanes_ == 16 && a_.layout().element() != Type::f64 && sums() <= 8 ? 2 : 1;
    for (unsigned p = 0; p < parts_; p += together) sum_float_parts(p, together);
  }

  void sum_float_parts(unsigned first, unsigned count) {
    const unsigned k = isa::matrix_shape(opcode_).k;
    std::vector<Val> totals;
    std::vector<std::vector<MatrixCell>> all;
    for (unsigned i = 0; i < count * sums(); ++i) {
      all.push_back(cells(i % sums(), first + i / sums()));
      totals.push_back(c_.gather(all[i], [](const MatrixCell& cell) { return cell; }));
    }
    for (unsigned along = 0; along < k; ++along)
      for (unsigned i = 0; i < totals.size(); ++i) {
        Val a = a_.gather(all[i], [&](MatrixCell cell) { return cell.column = along, cell; });
        Val b = b_.gather(all[i], [&](MatrixCell cell) { return cell.row = along, cell; });
        totals[i] = fma_rounded(a, b, totals[i], opcode_.get(ModKind::rounding));
      }
    for (unsigned p = 0; p < count; ++p)
      store(first + p, {totals.begin() + p * sums(), totals.begin() + (p + 1) * sums()});
  }

  /// D register by register: `sum(cells, C's value)`.
  template <class Sum>
  void each_sum(Sum sum) {
    for (unsigned p = 0; p < parts_; ++p) {
      std::vector<Val> totals;
      for (unsigned i = 0; i < sums(); ++i) {
        const auto all = cells(i, p);
        totals.push_back(sum(all, c_.gather(all, [](const MatrixCell& cell) { return cell; })));
      }
      store(p, totals);
    }
  }
  /// Registers along k.
  unsigned words() const { return isa::matrix_shape(opcode_).k / a_.layout().in_register(); }

  /// bf16, two products at once.
  void sum_pairs() {
    a_.take_words();
    b_.take_words();
    each_sum([&](const std::vector<MatrixCell>& all, Val total) {
      for (unsigned word = 0; word < words(); ++word)
        total = dot_of_bf16(unit_of_a(all, word, 0), unit_of_b(all, word, 0), total);
      return total;
    });
  }

  /// The unit of the register that holds elements of A, or B, from this word along k on.
  Val unit_of_a(const std::vector<MatrixCell>& cells, unsigned word, unsigned unit) {
    const unsigned first = word * a_.layout().in_register();
    return a_.gather_unit(cells, unit, [&](MatrixCell cell) { return cell.column = first, cell; });
  }
  Val unit_of_b(const std::vector<MatrixCell>& cells, unsigned word, unsigned unit) {
    const unsigned first = word * a_.layout().in_register();
    return b_.gather_unit(cells, unit, [&](MatrixCell cell) { return cell.row = first, cell; });
  }

  /// The elements of A as they are kept; for each, every lane picks the row of B that its metadata names.
  void sum_sparse() {
    const isa::SparseChunks chunks = isa::sparse_chunks(a_.layout().element());
    const unsigned kept = isa::matrix_shape(opcode_).k / 2;
    const bool is_float = isa::is_float(a_.layout().element());
    for (unsigned p = 0; p < parts_; ++p) {
      std::vector<Val> totals;
      for (unsigned i = 0; i < sums(); ++i) {
        const auto all = cells(i, p);
        const Val start = c_.gather(all, [](const MatrixCell& cell) { return cell; });
        Val total = is_float ? start : start.like(0);
        for (unsigned s = 0; s < kept; ++s) {
          const Val a = a_.gather(all, [&](MatrixCell cell) { return cell.column = s, cell; });
          const Val b = picked(all, chunks, metadata(all, p, s / chunks.kept, chunks), s);
          total = is_float ? fma(a, b, total) : total + a * b;
        }
        totals.push_back(is_float ? total : with_start(total, start));
      }
      store(p, totals);
    }
  }

  /// The four bits of a chunk of each lane's row, lowest.
  Val metadata(const std::vector<MatrixCell>& cells, unsigned p, unsigned chunk,
               const isa::SparseChunks& chunks) {
    const bool is_wide = a_.layout().element_bits() >= 16;
    const unsigned lanes_of_four = isa::matrix_shape(opcode_).k / chunks.columns / 4;
    std::vector<int> from;
    std::vector<std::uint32_t> shift;
    for (const MatrixCell& cell : cells) {
      const unsigned below = cell.row / 8;  // rows of the lower half
      const unsigned place = is_wide ? chunk / 4 : chunk / 8 * 2 + below;
      from.push_back(static_cast<int>((cell.row % 8 * 4 + selector_ * lanes_of_four + place) % lanes_));
      shift.push_back(is_wide ? below * 16 + chunk % 4 * 4 : chunk % 8 * 4);
    }
    auto* words = llvm::FixedVectorType::get(ir_.getInt32Ty(), lanes_);
    auto* at = ir_.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), function_.getArg(4), p * lanes_ * 4);
    auto* own = ir_.CreateShuffleVector(ir_.CreateAlignedLoad(words, at, llvm::Align(kMatrixAlign)), from);
    return {&ir_, ir_.CreateLShr(own, llvm::ConstantDataVector::get(ir_.getContext(), shift)), Type::u32};
  }

  /// B's element that goes with element s of what is kept.
  Val picked(const std::vector<MatrixCell>& cells, const isa::SparseChunks& chunks, Val metadata,
             unsigned s) {
    const unsigned first = s / chunks.kept * chunks.columns, within = s % chunks.kept;
    auto row = [&](unsigned along) {
      return b_.gather(cells, [&](MatrixCell cell) { return cell.row = first + along, cell; });
    };
    auto bit = [&](unsigned number) { return ne(metadata & metadata.like(1ll << number), metadata.like(0)); };
    if (chunks.columns == 2) return select(bit(1), row(1), row(0));
    const unsigned index = within / chunks.together * 2, step = chunks.together, rest = within % step;
    return select(bit(index + 1), select(bit(index), row(3 * step + rest), row(2 * step + rest)),
                  select(bit(index), row(step + rest), row(rest)));
  }

  /// The host multiplies unsigned bytes by signed ones. Where both matrices' are of one kind, the top bits of
  /// B's are inverted: elements are 128 more, or less, and the sums so many times A's.
  void sum_integers() {
    if (by_bytes()) {
      a_.take_words();
      b_.take_words(are_alike() ? kTopBits : 0);
    } else if (is_bits()) {
      a_.take_words();
      b_.take_words();
    }
    each_sum([&](const std::vector<MatrixCell>& all, Val start) {
      Val total = start.like(0), excess = total;
      for (unsigned word = 0; word < words(); ++word) {
        total = add_word(total, all, word);
        if (by_bytes() && are_alike())
          excess =
              add_bytes(unit_of_a(all, word, 0), start.like(static_cast<std::int32_t>(kTopBits)), excess);
      }
      return with_start(total - excess, start);
    });
  }

  /// Adds the products of a register's elements along k.
  Val add_word(Val total, const std::vector<MatrixCell>& cells, unsigned word) {
    for (unsigned unit = 0; unit < a_.units(); ++unit) {
      const Val a = unit_of_a(cells, word, unit), b = unit_of_b(cells, word, unit);
      if (is_bits())
        total = total + intrinsic(llvm::Intrinsic::ctpop, opcode_.has(Mod::xor_) ? a ^ b : a & b);
      else
        total = by_bytes() ? add_bytes(a, b, total) : total + multiply_pairs(a, b);
    }
    return total;
  }

  Val add_bytes(Val a, Val b, Val total) {
    return isa::is_signed(a_.layout().element()) ? dot_of_bytes(b, a, total) : dot_of_bytes(a, b, total);
  }
  bool is_bits() const { return a_.layout().element() == Type::b1; }
  bool by_bytes() const { return simd_.dots_of_bytes && a_.layout().element_bits() == 8; }
  bool are_alike() const {
    return isa::is_signed(a_.layout().element()) == isa::is_signed(b_.layout().element());
  }

  Val with_start(Val total, Val start) {
    return opcode_.has(Mod::satfinite) ? intrinsic(llvm::Intrinsic::sadd_sat, total, start) : total + start;
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
  const SimdForm simd_;
  const unsigned lanes_, parts_;
  MatrixValues a_, b_, c_;
  MatrixLayout d_;
  unsigned selector_;
};

}  // namespace

llvm::Function* matrix_product(llvm::Module& module, const isa::Opcode& opcode, SimdForm simd,
                               unsigned selector) {
  const std::string name = "raddle." + opcode.text + "." + std::to_string(selector);
  if (auto* known = module.getFunction(name)) return known;
  auto& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, pointer, pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  for (const unsigned read : {1, 2, 4}) {  // so that what was put there for one call may stay for the next
    function->addParamAttr(read, llvm::Attribute::ReadOnly);
    function->addParamAttr(read, llvm::Attribute::NoCapture);
  }
  ProductWriter(*function, opcode, simd, selector).write();
  return function;
}

}  // namespace raddle::jit
