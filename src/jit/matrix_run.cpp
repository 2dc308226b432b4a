#include "jit/matrix_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "exec/abi.h"
#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/carried_loop.h"
#include "jit/matrix_dots.h"
#include "jit/matrix_layout.h"
#include "jit/matrix_values.h"
#include "jit/matrix_words.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

constexpr unsigned kLanes = 16;  // of a vector of the host
constexpr unsigned kHalves = 2, kParts = exec::kWarpSize / kLanes;
constexpr unsigned kColumnsOfB = 8;
constexpr unsigned kVectors = kHalves * kParts;  // of A's words of a chunk: by half of the rows, by part
constexpr std::uint32_t kTops = 0x80808080;      // top bits of four bytes

/// Counts of the matrices that a run names.
struct RunSize {
  unsigned d = 0, a = 0, b = 0;
};
RunSize size_of(const std::vector<RunProduct>& products) {
  RunSize size;
  for (const RunProduct& p : products)
    size = {std::max(size.d, p.d + 1), std::max(size.a, p.a + 1), std::max(size.b, p.b + 1)};
  return size;
}

/// That are multiplied one by one; 1: the word itself is multiplied.
unsigned numbers_in_word(const isa::Opcode& opcode, SimdForm simd) {
  const Type a = MatrixLayout(opcode, "a").element();
  return !isa::is_float(a) || (a == Type::bf16 && simd.dots_of_bf16) ? 1 : 32 / element_bits(a);
}

class MatrixRunWriter {
 public:
  MatrixRunWriter(llvm::Function& function, const isa::Opcode& opcode, SimdForm simd,
                  const std::vector<RunProduct>& products, const std::vector<bool>& is_there)
      : function_(function),
        ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)),
        products_(products),
        is_there_(is_there),
        size_(size_of(products)),
        a_(MatrixLayout(opcode, "a").element()),
        b_(MatrixLayout(opcode, "b").element()),
        chunks_(MatrixLayout(opcode, "b").registers()),
        is_integer_(MatrixLayout(opcode, "d").element() == Type::s32),
        by_pairs_(a_ == Type::bf16 && simd.dots_of_bf16),
        in_word_(numbers_in_word(opcode, simd)),
        flips_b_(is_integer_ && isa::is_signed(a_) == isa::is_signed(b_)),
        number_(in_words() ? ir_.getInt32Ty() : ir_.getFloatTy()),
        sum_(is_integer_ ? ir_.getInt32Ty() : ir_.getFloatTy()) {}

  void write() {
    for (unsigned n = 0; n < size_.a; ++n) unpack_a(n);
    for (unsigned n = 0; n < size_.b; ++n)
      if (!is_there_[n]) unpack_b(n);
    for (const Tile& tile : tiles()) multiply(tile);
    ir_.CreateRetVoid();
  }

 private:
  using Values = std::vector<llvm::Value*>;
  /// Sums that are made at once: of one or two Ds, each of the same As in turn.
  struct Tile {
    std::vector<unsigned> ds;
  };

  bool in_words() const { return is_integer_ || by_pairs_; }  // A's and B's are multiplied as they are
  llvm::Value* matrix_d(unsigned n) { return function_.getArg(n); }
  llvm::Value* matrix_a(unsigned n) { return function_.getArg(size_.d + n); }
  llvm::Value* matrix_b(unsigned n) { return function_.getArg(size_.d + size_.a + n); }
  llvm::Value* panel_of_b(unsigned n) { return function_.getArg(size_.d + size_.a + size_.b + n); }
  llvm::FixedVectorType* vector(llvm::Type* element, unsigned count = kLanes) {
    return llvm::FixedVectorType::get(element, count);
  }
  llvm::Value* at(llvm::Value* words, unsigned index) {
    return ir_.CreateConstInBoundsGEP1_32(ir_.getInt32Ty(), words, index);
  }
  llvm::Value* load(llvm::Type* type, llvm::Value* from) {
    return ir_.CreateAlignedLoad(type, from, llvm::Align(kMatrixAlign));
  }
  void store(llvm::Value* value, llvm::Value* to) {
    ir_.CreateAlignedStore(value, to, llvm::Align(kMatrixAlign));
  }
  llvm::Value* local(unsigned words, const char* name) {
    Builder entry(&function_.getEntryBlock(), function_.getEntryBlock().begin());
    auto* place = entry.CreateAlloca(llvm::ArrayType::get(ir_.getInt32Ty(), words), nullptr, name);
    place->setAlignment(llvm::Align(64));
    return place;
  }
  llvm::Value* all_words(std::uint32_t word) { return ir_.CreateVectorSplat(kLanes, ir_.getInt32(word)); }

  // ---- A ----
  /// Panels have, chunk by chunk, the vectors of each of a word's numbers. Words are there already.
  unsigned panel_of_a(unsigned i, unsigned v) const { return (i * kVectors + v) * kLanes; }
  unsigned chunk_of_a() const { return panel_of_a(in_word_, 0); }

  void unpack_a(unsigned n) {
    panels_of_a_.push_back(in_words() ? matrix_a(n) : local(chunks_ * chunk_of_a(), "a_panel"));
    Values excess(flips_b_ ? kVectors : 0, all_words(0));
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      for (unsigned v = 0; v < kVectors; ++v) {
        if (in_words() && !flips_b_) continue;
        auto* words = load(vector(ir_.getInt32Ty()), at(matrix_a(n), (chunk * kVectors + v) * kLanes));
        if (flips_b_) excess[v] = add_bytes(ir_, a_, excess[v], words, all_words(kTops));
        for (unsigned i = 0; !in_words() && i < in_word_; ++i)
          store(number_of_words(ir_, words, i, a_),
                at(panels_of_a_[n], chunk * chunk_of_a() + panel_of_a(i, v)));
      }
    for (auto*& words : excess) words = sum_of_words(ir_, words);
    excess_.push_back(std::move(excess));
  }

  // ---- B ----
  /// Numbers of two words of eight columns are a vector: the even columns of the first, its odd ones, and so
  /// on, as those of one parity are multiplied together.
  unsigned place_in_b(unsigned word, unsigned i, unsigned odd) const {
    return ((word / 2 * in_word_ + i) * 2 + word % 2) * kColumnsOfB + odd * kColumnsOfB / 2;
  }
  unsigned chunk_of_b() const { return kChunkWords * in_word_ * kColumnsOfB; }

  /// A register has eight columns, four words each.
  void unpack_b(unsigned n) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      auto* first = at(matrix_b(n), chunk * exec::kWarpSize);
      auto *low = load(vector(ir_.getInt32Ty()), first),
           *high = load(vector(ir_.getInt32Ty()), at(first, kLanes));
      for (unsigned word = 0; word < kChunkWords; word += 2) {
        std::vector<int> mask;
        for (unsigned w = word; w < word + 2; ++w)
          for (const unsigned column : {0, 2, 4, 6, 1, 3, 5, 7})
            mask.push_back(static_cast<int>(column * kChunkWords + w));
        auto* words = ir_.CreateShuffleVector(low, high, mask);
        if (flips_b_) words = ir_.CreateXor(words, all_words(kTops));
        for (unsigned i = 0; i < in_word_; ++i)
          store(in_words() ? words : number_of_words(ir_, words, i, b_),
                at(panel_of_b(n), chunk * chunk_of_b() + place_in_b(word, i, 0)));
      }
    }
  }

  // ---- D ----
  /// What is added to a D, in order.
  std::vector<RunProduct> products_of(unsigned d) const {
    std::vector<RunProduct> all;
    std::ranges::copy_if(products_, std::back_inserter(all), [&](const RunProduct& p) { return p.d == d; });
    return all;
  }
  bool have_same_as(unsigned x, unsigned y) const {
    return std::ranges::equal(products_of(x), products_of(y), {}, &RunProduct::a, &RunProduct::a);
  }
  std::vector<Tile> tiles() const {
    std::vector<Tile> all;
    for (unsigned d = 0; d < size_.d; ++d) {
      const auto open = std::ranges::find_if(
          all, [&](const Tile& tile) { return tile.ds.size() == 1 && have_same_as(tile.ds[0], d); });
      if (open != all.end())
        open->ds.push_back(d);
      else
        all.push_back({{d}});
    }
    return all;
  }

  /// Of a D: by half of its rows, by parity of its columns, by part.
  llvm::Value* place_of_sum(unsigned d, unsigned s) {
    const unsigned half = s / (2 * kParts), odd = s / kParts % 2, part = s % kParts;
    return at(matrix_d(d), (half * 2 + odd) * exec::kWarpSize + part * kLanes);
  }
  static constexpr unsigned kSums = kHalves * 2 * kParts;

  llvm::Value* first_sum(unsigned d, unsigned s) {
    auto* sum = load(vector(sum_), place_of_sum(d, s));
    if (!flips_b_) return sum;
    const unsigned v = s / (2 * kParts) * kParts + s % kParts;
    llvm::Value* excess = nullptr;  // the same for all Ds of these As
    for (const RunProduct& p : products_of(d))
      excess = excess == nullptr ? excess_[p.a][v] : ir_.CreateAdd(excess, excess_[p.a][v]);
    return ir_.CreateSub(sum, excess);
  }

  void multiply(const Tile& tile) {
    Values sums;
    for (const unsigned d : tile.ds)
      for (unsigned s = 0; s < kSums; ++s) sums.push_back(first_sum(d, s));
    std::vector<std::vector<RunProduct>> of_d;
    for (const unsigned d : tile.ds) of_d.push_back(products_of(d));
    for (std::size_t step = 0; step < of_d[0].size(); ++step) {
      std::vector<unsigned> bs;
      for (const auto& products : of_d) bs.push_back(products[step].b);
      sums = loop(std::move(sums), [&](llvm::Value* chunk, Values now) {
        return add_chunk(of_d[0][step].a, bs, chunk, std::move(now));
      });
    }
    for (std::size_t n = 0; n < sums.size(); ++n) store(sums[n], place_of_sum(tile.ds[n / kSums], n % kSums));
  }

  /// `body` for each chunk. A loop even of two, so that LLVM keeps the order in which sums are made: chains
  /// side by side.
  Values loop(Values carried, const LoopBody& body) {
    return carried_loop(ir_, ir_.getInt32(0), chunks_, std::move(carried), body);
  }

  /// The K of a chunk, in order.
  Values add_chunk(unsigned a, const std::vector<unsigned>& bs, llvm::Value* chunk, Values sums) {
    const auto of_chunk = [&](llvm::Value* panel, unsigned words) {
      return ir_.CreateInBoundsGEP(ir_.getInt32Ty(), panel, ir_.CreateMul(chunk, ir_.getInt32(words)));
    };
    auto* of_a = of_chunk(panels_of_a_[a], chunk_of_a());
    Values of_b;
    for (const unsigned b : bs) of_b.push_back(of_chunk(panel_of_b(b), chunk_of_b()));
    for (unsigned word = 0; word < kChunkWords; ++word)
      for (unsigned i = 0; i < in_word_; ++i) {
        std::array<llvm::Value*, kVectors> rows{};
        for (unsigned v = 0; v < kVectors; ++v)
          rows[v] = of_word(ir_, load(vector(number_), at(of_a, panel_of_a(i, v))), word);
        for (std::size_t n = 0; n < bs.size(); ++n)
          for (unsigned odd = 0; odd < 2; ++odd) {
            auto* columns = four_times(load(vector(number_, 4), at(of_b[n], place_in_b(word, i, odd))));
            for (unsigned v = 0; v < kVectors; ++v) {
              auto*& sum = sums[n * kSums + (v / kParts * 2 + odd) * kParts + v % kParts];
              sum = multiply_add(rows[v], columns, sum);
            }
          }
      }
    return sums;
  }
  llvm::Value* four_times(llvm::Value* four) {
    std::vector<int> mask(kLanes);
    for (unsigned l = 0; l < kLanes; ++l) mask[l] = static_cast<int>(l % 4);
    return ir_.CreateShuffleVector(four, mask);
  }
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
    if (is_integer_) return add_bytes(ir_, a_, sum, a, b);
    if (by_pairs_) return dot_of_bf16({&ir_, a, Type::b32}, {&ir_, b, Type::b32}, {&ir_, sum, Type::f32}).v;
    return fma(Val{&ir_, a, Type::f32}, Val{&ir_, b, Type::f32}, Val{&ir_, sum, Type::f32}).v;
  }

  llvm::Function& function_;
  Builder ir_;
  const std::vector<RunProduct>& products_;
  const std::vector<bool>& is_there_;  // of each B: in its panel
  const RunSize size_;
  const Type a_, b_;
  const unsigned chunks_;  // of four words, along K
  const bool is_integer_, by_pairs_;
  const unsigned in_word_;  // numbers; 1: the word itself
  const bool flips_b_;
  llvm::Type *number_, *sum_;
  Values panels_of_a_;
  std::vector<Values> excess_;  // of each A, if there is any: by half of the rows, by part
};

}  // namespace

bool is_run_opcode(const isa::Opcode& opcode) {
  const isa::MatrixShape shape = isa::matrix_shape(opcode);
  const Type d = MatrixLayout(opcode, "d").element();
  return shape.m == 16 && shape.n == kColumnsOfB && isa::matrix_products(opcode) == 1 &&
         !isa::is_sparse(opcode) && (d == Type::f32 || d == Type::s32) && !opcode.has(Mod::satfinite) &&
         element_bits(MatrixLayout(opcode, "a").element()) >= 8;
}

bool has_run_products(const isa::Opcode& opcode, SimdForm simd) {
  return simd.lanes == kLanes && (isa::is_float(MatrixLayout(opcode, "a").element()) || simd.dots_of_bytes);
}

unsigned panel_bytes(const isa::Opcode& opcode, SimdForm simd) {
  return MatrixLayout(opcode, "b").registers() * exec::kWarpSize * numbers_in_word(opcode, simd) * 4;
}

llvm::Function* matrix_run(llvm::Module& module, const isa::Opcode& opcode, SimdForm simd,
                           const std::vector<RunProduct>& products, const std::vector<bool>& is_there) {
  std::string name = "raddle.run." + opcode.text;
  for (const RunProduct& p : products) name += fmt::format(".{}_{}_{}", p.d, p.a, p.b);
  name += '.';
  for (const bool there : is_there) name += there ? '1' : '0';
  if (auto* known = module.getFunction(name)) return known;
  const RunSize size = size_of(products);
  auto& context = module.getContext();
  const std::vector<llvm::Type*> pointers(std::size_t{size.d} + size.a + 2 * size.b,
                                          llvm::PointerType::getUnqual(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), pointers, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  for (unsigned n = 0; n < pointers.size(); ++n) {
    function->addParamAttr(n, llvm::Attribute::NoAlias);
    function->addParamAttr(n, llvm::Attribute::NoCapture);
    if (n >= size.d && n < size.d + size.a + size.b) function->addParamAttr(n, llvm::Attribute::ReadOnly);
  }
  MatrixRunWriter(*function, opcode, simd, products, is_there).write();
  return function;
}

}  // namespace raddle::jit
