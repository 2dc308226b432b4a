#include "jit/matrix_pieces.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "exec/abi.h"
#include "isa/op.h"
#include "jit/carried_loop.h"
#include "jit/matrix_dots.h"
#include "jit/matrix_layout.h"
#include "jit/matrix_values.h"
#include "jit/matrix_words.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

using Values = std::vector<llvm::Value*>;
constexpr unsigned kLanes = RunForm::kLanes, kVectors = RunForm::kVectors, kSums = RunForm::kSums;
constexpr unsigned kParts = RunForm::kParts, kColumnsOfB = RunForm::kColumnsOfB;
constexpr std::uint32_t kTops = 0x80808080;  // top bits of four bytes

/// What writers of all pieces want.
class PieceWriter {
 public:
  PieceWriter(llvm::Function& function, const RunForm& form)
      : function_(function),
        ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)),
        form_(form) {}

 protected:
  llvm::FixedVectorType* vector(llvm::Type* element, unsigned count = kLanes) {
    return llvm::FixedVectorType::get(element, count);
  }
  llvm::Value* at(llvm::Value* words, unsigned index) {
    return ir_.CreateConstInBoundsGEP1_32(ir_.getInt32Ty(), words, index);
  }
  llvm::Value* at(llvm::Value* words, llvm::Value* index) {
    return ir_.CreateInBoundsGEP(ir_.getInt32Ty(), words, index);
  }
  llvm::Value* times(llvm::Value* number, unsigned by) { return ir_.CreateMul(number, ir_.getInt32(by)); }
  llvm::Value* load(llvm::Type* type, llvm::Value* from) {
    return ir_.CreateAlignedLoad(type, from, llvm::Align(kMatrixAlign));
  }
  llvm::Value* load_words(llvm::Value* from) { return load(vector(ir_.getInt32Ty()), from); }
  void store(llvm::Value* value, llvm::Value* to) {
    ir_.CreateAlignedStore(value, to, llvm::Align(kMatrixAlign));
  }
  llvm::Value* all_words(std::uint32_t word) { return ir_.CreateVectorSplat(kLanes, ir_.getInt32(word)); }
  /// `body` for each number below `turns`. A loop even of two, so that LLVM keeps the order in which sums are
  /// made: chains side by side.
  Values loop(unsigned turns, Values carried, const LoopBody& body) {
    return carried_loop(ir_, ir_.getInt32(0), turns, std::move(carried), body);
  }

  llvm::Function& function_;
  Builder ir_;
  const RunForm& form_;
};

class UnpackerOfA : PieceWriter {
 public:
  using PieceWriter::PieceWriter;
  void write() {
    form_.flips_b ? write_excess() : write_numbers();
    ir_.CreateRetVoid();
  }

 private:
  llvm::Value* words() { return function_.getArg(0); }
  llvm::Value* panel() { return function_.getArg(1); }

  void write_numbers() {
    loop(form_.chunks, {}, [&](llvm::Value* chunk, Values) -> Values {
      auto* from = at(words(), times(chunk, kVectors * kLanes));
      auto* to = at(panel(), times(chunk, form_.chunk_of_a()));
      for (unsigned v = 0; v < kVectors; ++v) {
        auto* four = load_words(at(from, v * kLanes));
        for (unsigned i = 0; i < form_.in_word; ++i)
          store(number_of_words(ir_, four, i, form_.a), at(to, form_.panel_of_a(i, v)));
      }
      return {};
    });
  }

  void write_excess() {
    Values excess = loop(form_.chunks, Values(kVectors, all_words(0)), [&](llvm::Value* chunk, Values sums) {
      auto* of_chunk = at(words(), times(chunk, kVectors * kLanes));
      for (unsigned v = 0; v < kVectors; ++v)
        sums[v] = add_bytes(ir_, form_.a, sums[v], load_words(at(of_chunk, v * kLanes)), all_words(kTops));
      return sums;
    });
    for (unsigned v = 0; v < kVectors; ++v) store(sum_of_words(ir_, excess[v]), at(panel(), v * kLanes));
  }
};

class UnpackerOfB : PieceWriter {
 public:
  using PieceWriter::PieceWriter;
  /// A register has eight columns, four words each.
  void write() {
    loop(form_.chunks, {}, [&](llvm::Value* chunk, Values) -> Values {
      auto* first = at(function_.getArg(0), times(chunk, exec::kWarpSize));
      auto *low = load_words(first), *high = load_words(at(first, kLanes));
      auto* to = at(function_.getArg(1), times(chunk, form_.chunk_of_b()));
      for (unsigned word = 0; word < kChunkWords; word += 2) unpack(low, high, word, to);
      return {};
    });
    ir_.CreateRetVoid();
  }

 private:
  void unpack(llvm::Value* low, llvm::Value* high, unsigned word, llvm::Value* to) {
    std::vector<int> mask;
    for (unsigned w = word; w < word + 2; ++w)
      for (const unsigned column : {0, 2, 4, 6, 1, 3, 5, 7})
        mask.push_back(static_cast<int>(column * kChunkWords + w));
    auto* words = ir_.CreateShuffleVector(low, high, mask);
    if (form_.flips_b) words = ir_.CreateXor(words, all_words(kTops));
    for (unsigned i = 0; i < form_.in_word; ++i)
      store(form_.in_words() ? words : number_of_words(ir_, words, i, form_.b),
            at(to, form_.place_in_b(word, i, 0)));
  }
};

class TileAdder : PieceWriter {
 public:
  TileAdder(llvm::Function& function, const RunForm& form, unsigned ds, unsigned steps)
      : PieceWriter(function, form),
        ds_(ds),
        steps_(steps),
        number_(form.in_words() ? ir_.getInt32Ty() : ir_.getFloatTy()),
        sum_(form.is_integer ? ir_.getInt32Ty() : ir_.getFloatTy()) {}

  static unsigned arguments(const RunForm& form, unsigned ds, unsigned steps) {
    return ds + steps * of_step(form, ds);
  }

  void write() {
    Values sums;
    const Values excess = all_excess();
    for (unsigned d = 0; d < ds_; ++d)
      for (unsigned s = 0; s < kSums; ++s) sums.push_back(first_sum(d, s, excess));
    for (unsigned step = 0; step < steps_; ++step)
      sums = loop(form_.chunks, std::move(sums),
                  [&](llvm::Value* chunk, Values now) { return add_chunk(step, chunk, std::move(now)); });
    for (unsigned n = 0; n < sums.size(); ++n) store(sums[n], place_of_sum(n / kSums, n % kSums));
    ir_.CreateRetVoid();
  }

 private:
  static unsigned of_step(const RunForm& form, unsigned ds) { return 1 + ds + (form.flips_b ? 1 : 0); }
  llvm::Value* argument(unsigned step, unsigned n) {
    return function_.getArg(ds_ + step * of_step(form_, ds_) + n);
  }
  llvm::Value* panel_of_a(unsigned step) { return argument(step, 0); }
  llvm::Value* panel_of_b(unsigned step, unsigned d) { return argument(step, 1 + d); }

  /// Of all As, by half of the rows, by part.
  Values all_excess() {
    Values excess;
    for (unsigned v = 0; form_.flips_b && v < kVectors; ++v) {
      llvm::Value* of_all = nullptr;
      for (unsigned step = 0; step < steps_; ++step) {
        auto* one = load_words(at(argument(step, 1 + ds_), v * kLanes));
        of_all = of_all == nullptr ? one : ir_.CreateAdd(of_all, one);
      }
      excess.push_back(of_all);
    }
    return excess;
  }

  /// Of a D: by half of its rows, by parity of its columns, by part.
  llvm::Value* place_of_sum(unsigned d, unsigned s) {
    const unsigned half = s / (2 * kParts), odd = s / kParts % 2, part = s % kParts;
    return at(function_.getArg(d), (half * 2 + odd) * exec::kWarpSize + part * kLanes);
  }
  llvm::Value* first_sum(unsigned d, unsigned s, const Values& excess) {
    auto* sum = load(vector(sum_), place_of_sum(d, s));
    return excess.empty() ? sum : ir_.CreateSub(sum, excess[s / (2 * kParts) * kParts + s % kParts]);
  }

  /// The K of a chunk, in order.
  Values add_chunk(unsigned step, llvm::Value* chunk, Values sums) {
    auto* of_a = at(panel_of_a(step), times(chunk, form_.chunk_of_a()));
    Values of_b;
    for (unsigned d = 0; d < ds_; ++d)
      of_b.push_back(at(panel_of_b(step, d), times(chunk, form_.chunk_of_b())));
    for (unsigned word = 0; word < kChunkWords; ++word)
      for (unsigned i = 0; i < form_.in_word; ++i) {
        std::array<llvm::Value*, kVectors> rows{};
        for (unsigned v = 0; v < kVectors; ++v)
          rows[v] = of_word(ir_, load(vector(number_), at(of_a, form_.panel_of_a(i, v))), word);
        for (unsigned d = 0; d < ds_; ++d)
          for (unsigned odd = 0; odd < 2; ++odd) {
            auto* columns = four_times(load(vector(number_, 4), at(of_b[d], form_.place_in_b(word, i, odd))));
            for (unsigned v = 0; v < kVectors; ++v) {
              auto*& sum = sums[d * kSums + (v / kParts * 2 + odd) * kParts + v % kParts];
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
    if (form_.is_integer) return add_bytes(ir_, form_.a, sum, a, b);
    if (form_.by_pairs)
      return dot_of_bf16({&ir_, a, Type::b32}, {&ir_, b, Type::b32}, {&ir_, sum, Type::f32}).v;
    return fma(Val{&ir_, a, Type::f32}, Val{&ir_, b, Type::f32}, Val{&ir_, sum, Type::f32}).v;
  }

  const unsigned ds_, steps_;
  llvm::Type *number_, *sum_;
};

}  // namespace

RunForm::RunForm(const isa::Opcode& op, SimdForm simd)
    : opcode(op.text),
      a(MatrixLayout(op, "a").element()),
      b(MatrixLayout(op, "b").element()),
      chunks(MatrixLayout(op, "b").registers()),
      is_integer(MatrixLayout(op, "d").element() == Type::s32),
      by_pairs(a == Type::bf16 && simd.dots_of_bf16),
      in_word(is_integer || by_pairs ? 1 : 32 / element_bits(a)),
      flips_b(is_integer && isa::is_signed(a) == isa::is_signed(b)) {}

llvm::Function* new_matrix_function(llvm::Module& module, const std::string& name, unsigned pointers,
                                    unsigned first_read, unsigned read) {
  auto& context = module.getContext();
  const std::vector<llvm::Type*> types(pointers, llvm::PointerType::getUnqual(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  for (unsigned n = 0; n < pointers; ++n) {
    function->addParamAttr(n, llvm::Attribute::NoAlias);
    function->addParamAttr(n, llvm::Attribute::NoCapture);
    if (n >= first_read && n < first_read + read) function->addParamAttr(n, llvm::Attribute::ReadOnly);
  }
  return function;
}

unsigned RunForm::chunk_of_b() const { return kChunkWords * in_word * kColumnsOfB; }

llvm::Function* unpacker_of_a(llvm::Module& module, const RunForm& form) {
  const std::string name = "raddle.run.a." + form.opcode;
  if (auto* known = module.getFunction(name)) return known;
  auto* function = new_matrix_function(module, name, 2, 0, 1);
  UnpackerOfA(*function, form).write();
  return function;
}

llvm::Function* unpacker_of_b(llvm::Module& module, const RunForm& form) {
  const std::string name = "raddle.run.b." + form.opcode;
  if (auto* known = module.getFunction(name)) return known;
  auto* function = new_matrix_function(module, name, 2, 0, 1);
  UnpackerOfB(*function, form).write();
  return function;
}

llvm::Function* tile_adder(llvm::Module& module, const RunForm& form, unsigned ds, unsigned steps) {
  const std::string name = fmt::format("raddle.run.tile.{}.{}.{}", form.opcode, ds, steps);
  if (auto* known = module.getFunction(name)) return known;
  const unsigned pointers = TileAdder::arguments(form, ds, steps);
  auto* function = new_matrix_function(module, name, pointers, ds, pointers - ds);
  TileAdder(*function, form, ds, steps).write();
  return function;
}

}  // namespace raddle::jit
