// Long, as one class writes all parts of one function.
#include "jit/matrix_warpgroup.h"

#include <fmt/format.h>

#include <array>

#include "jit/carried_loop.h"
#include "jit/matrix_dots.h"
#include "jit/matrix_tiles.h"
#include "jit/matrix_words.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

constexpr unsigned kLines = 8;      // rows, or columns, of a group whose chunks lie at one pitch
constexpr unsigned kBlock = 8;      // columns whose elements four registers of D hold
constexpr unsigned kKeptWords = 8;  // of a row of A
constexpr unsigned kRegisterLanes = 32;
constexpr unsigned kRegistersOfA = 4;
constexpr unsigned kPanelRow = 64;  // of A's panel: 16 rows of a chunk's words, one number of each word
const std::vector<int> kEvenThenOdd = {0, 2, 4, 6, 1, 3, 5, 7}, kInOrder = {0, 1, 2, 3, 4, 5, 6, 7};

/// The fields of a matrix descriptor, as i32: offsets in bytes.
struct Fields {
  llvm::Value *start, *leading, *stride, *base;
  llvm::Value *atom, *is_plain;  // chunks that a swizzle permutes; i1: no swizzle
};

class Writer {
 public:
  Writer(llvm::Function* function, SimdForm simd, const WarpgroupProductForm& form);
  void run();

 private:
  using Values = std::vector<llvm::Value*>;
  /// Accumulators of a half of the rows of one block: of even and of odd columns, by part.
  struct Half {
    llvm::Value* block = nullptr;  // its number
    unsigned half = 0;
  };

  // ---- pieces of code ----
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
  }
  Values loop(unsigned count, Values carried, const LoopBody& body) {
    return carried_loop(ir_, ir_.getInt32(0), count, std::move(carried), body);
  }
  llvm::AllocaInst* local(llvm::Type* element, unsigned count, const char* name);
  llvm::Value* at(llvm::Value* words, llvm::Value* index) {
    return ir_.CreateInBoundsGEP(ir_.getInt32Ty(), words, index);
  }
  llvm::Value* at(llvm::Value* words, unsigned index) { return at(words, ir_.getInt32(index)); }
  llvm::Value* load(llvm::Type* type, llvm::Value* from, unsigned align = 4) {
    return ir_.CreateAlignedLoad(type, from, llvm::Align(align));
  }
  void store(llvm::Value* value, llvm::Value* to, unsigned align = 4) {
    ir_.CreateAlignedStore(value, to, llvm::Align(align));
  }
  llvm::FixedVectorType* vector(llvm::Type* element, unsigned count) {
    return llvm::FixedVectorType::get(element, count);
  }
  llvm::Value* shuffle(llvm::Value* a, const std::vector<int>& mask) {
    return ir_.CreateShuffleVector(a, mask);
  }
  llvm::Value* joined(llvm::Value* a, llvm::Value* b);
  llvm::Value* element(llvm::Value* words, unsigned i, Type type) {
    return step_ == MatrixStep::number ? number_of_words(ir_, words, i, type) : words;
  }
  llvm::Value* halves(llvm::Value* sixteen_bits, Type type);
  llvm::Value* by_rows(const Values& columns, unsigned part);
  llvm::Value* paired(llvm::Value* first, llvm::Value* second, const std::vector<int>& order);
  llvm::Value* all_words(std::uint32_t word) { return ir_.CreateVectorSplat(lanes_, ir_.getInt32(word)); }
  llvm::Value* inverted(llvm::Value* words, std::uint32_t bits) {
    return ir_.CreateXor(words, llvm::ConstantInt::get(words->getType(), bits));
  }

  // ---- descriptors ----
  Fields fields(llvm::Value* descriptor);
  llvm::Value* line_start(const Fields& f, bool transposed, llvm::Value* rows, llvm::Value* step);
  llvm::Value* addresses(const Fields& f, llvm::Value* first);
  llvm::Value* chunk(unsigned line, llvm::Type* type);

  // ---- steps ----
  llvm::Value* step_field(llvm::Value* step, std::size_t offset);
  llvm::Value* adds(llvm::Value* step) {
    return ir_.CreateIsNotNull(step_field(step, offsetof(WarpgroupStep, adds)));
  }
  void find_first_step();

  // ---- A ----
  void unpack_a();
  void unpack_step_of_a();
  Values words_of_a(unsigned number);
  llvm::Value* place_of_kept();
  void unpack_columns_of_a();
  void put_a(llvm::Value* panel, unsigned row, unsigned half, unsigned part, llvm::Value* numbers);
  void spread_a(llvm::Value* kept);
  llvm::Value* place_in_b(llvm::Value* row, llvm::Value* k);
  void put_rows_of_a(llvm::Value* tile, unsigned chunk, unsigned row, llvm::Value* words);

  // ---- B ----
  void unpack_b();
  void unpack_block_of_b(llvm::Value* block, llvm::Value* to);
  void unpack_rows_of_b(llvm::Value* block, llvm::Value* to);
  void unpack_columns_of_b(llvm::Value* block, llvm::Value* to);
  unsigned place(unsigned k) const;
  void put_b(llvm::Value* to, unsigned k, llvm::Value* two_rows);
  llvm::Value* of_block(llvm::Value* block);

  // ---- D ----
  void multiply();
  void multiply(llvm::Value* first, unsigned blocks);
  void multiply(const std::vector<Half>& halves);
  Values products(const std::vector<Half>& halves, llvm::Value* chunk, Values sums);
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum, llvm::Value* kept);
  llvm::Value* register_of(const Half& half, unsigned odd, unsigned part);
  Values begin(const Half& half);
  /// D is what sums begin with, not what they are added to at the end.
  bool begins_with_d() const { return !is_integer_ || (!form_.saturates && sum_->isIntegerTy()); }
  void finish(const Half& half, const Values& sums);

  llvm::Function* function_;
  Builder ir_;
  const WarpgroupProductForm& form_;
  const unsigned lanes_, parts_;  // of a register of D
  const MatrixStep step_;
  const unsigned per_word_, words_;  // steps of a word; words of a column of B
  const unsigned depth_, per_step_;  // steps along K; elements of one that are 16 bits wide
  const unsigned panel_words_;       // of A's panel, for a wgmma
  const bool is_integer_, is_masked_;
  const bool in_tiles_;      // by the host's tile registers
  const unsigned row_of_b_;  // of B's panel: columns whose numbers lie together
  const bool flips_b_;       // bytes of B with their top bits inverted
  llvm::Type* number_;       // that is multiplied
  llvm::Type* sum_;
  llvm::Value *d_, *shared_, *warp_;
  llvm::Value *first_step_ = nullptr, *adds_ = nullptr;  // that counts; whether it adds to D
  llvm::AllocaInst *a_panel_ = nullptr, *a_mask_ = nullptr, *lines_ = nullptr;
  llvm::Value* b_panel_ = nullptr;
  Values excess_;  // of sums: of each half's rows, by part; empty if there is none

  // Of the step that is unpacked:
  Fields of_a_{}, of_b_{};
  llvm::Value *a_, *metadata_, *a_of_step_ = nullptr;
};

// Along K: the words of a column of B, and the steps of a word.
unsigned words_of_column(const WarpgroupProductForm& form) {
  return form.sparse ? 2 * kKeptWords : kKeptWords;
}
unsigned steps_of_word(MatrixStep step, const WarpgroupProductForm& form) {
  return step == MatrixStep::number ? 32 / element_bits(form.a) : 1;
}

/// B's panel: whole rows of so many columns.
unsigned operand_words(const WarpgroupProductForm& form, unsigned depth, unsigned row) {
  return form.steps * depth * (form.n + row - 1) / row * row;
}

Writer::Writer(llvm::Function* function, SimdForm simd, const WarpgroupProductForm& form)
    : function_(function),
      ir_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      form_(form),
      lanes_(simd.lanes),
      parts_(simd.parts()),
      step_(step_of(simd, form)),
      per_word_(steps_of_word(step_, form)),
      words_(words_of_column(form)),
      depth_(words_ * per_word_),
      per_step_(step_ == MatrixStep::pairs_of_bf16 ? 2 : 1),
      panel_words_(depth_ / kChunkWords * kPanelRow),
      is_integer_(form.d == Type::s32),
      is_masked_(form.sparse && !is_integer_),
      in_tiles_(takes_tiles(simd, form)),
      row_of_b_(in_tiles_ ? kTileColumns : kBlock),
      flips_b_(step_ == MatrixStep::bytes && !in_tiles_ && isa::is_signed(form.a) == isa::is_signed(form.b)),
      number_(step_ == MatrixStep::number ? ir_.getFloatTy() : ir_.getInt32Ty()),
      sum_(step_ == MatrixStep::pairs_of_bf16 ? ir_.getFloatTy() : number_),
      d_(function->getArg(0)),
      shared_(function->getArg(3)),
      warp_(function->getArg(5)),
      a_(function->getArg(1)),
      metadata_(function->getArg(2)) {}

// ---- pieces of code ----

llvm::AllocaInst* Writer::local(llvm::Type* type, unsigned count, const char* name) {
  Builder entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* place = entry.CreateAlloca(llvm::ArrayType::get(type, count), nullptr, name);
  place->setAlignment(llvm::Align(64));
  return place;
}

llvm::Value* Writer::joined(llvm::Value* a, llvm::Value* b) {
  const auto count = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  std::vector<int> mask(2 * count);
  for (unsigned i = 0; i < mask.size(); ++i) mask[i] = static_cast<int>(i);
  return ir_.CreateShuffleVector(a, b, mask);
}

llvm::Value* Writer::halves(llvm::Value* sixteen_bits, Type type) {
  return widen_to_f32({&ir_, sixteen_bits, Type::b16}, type).v;
}

/// Of four columns of eight rows' numbers, those of a part of a register: row by row.
llvm::Value* Writer::by_rows(const Values& columns, unsigned part) {
  auto* all = joined(joined(columns[0], columns[1]), joined(columns[2], columns[3]));
  std::vector<int> mask(lanes_);
  for (unsigned l = 0; l < lanes_; ++l)
    mask[l] = static_cast<int>(l % kChunkWords * kLines + (part * lanes_ + l) / kChunkWords);
  return shuffle(all, mask);
}

/// Of two vectors of 16 bits, words with one of each, in this order.
llvm::Value* Writer::paired(llvm::Value* first, llvm::Value* second, const std::vector<int>& order) {
  const int count = static_cast<int>(order.size());
  std::vector<int> mask;
  for (const int i : order) mask.insert(mask.end(), {i, count + i});
  return ir_.CreateBitCast(ir_.CreateShuffleVector(first, second, mask),
                           vector(ir_.getInt32Ty(), order.size()));
}

// ---- descriptors ----

Fields Writer::fields(llvm::Value* descriptor) {
  const auto bits = [&](unsigned from, unsigned count) {
    return ir_.CreateTrunc(ir_.CreateAnd(ir_.CreateLShr(descriptor, from), (1u << count) - 1),
                           ir_.getInt32Ty());
  };
  const auto bytes = [&](unsigned from) { return ir_.CreateShl(bits(from, 14), 4); };
  auto* mode = bits(62, 2);
  auto* is_plain = ir_.CreateICmpEQ(mode, ir_.getInt32(0));
  // Modes 0, 1, 2, 3 permute 1, 8, 4, 2 chunks.
  auto* atom = ir_.CreateSelect(is_plain, ir_.getInt32(1), ir_.CreateLShr(ir_.getInt32(16), mode));
  return {bytes(0), bytes(16), bytes(32), bits(49, 3), atom, is_plain};
}

/// Where the first line of a group would lie without swizzle: of the eight rows numbered `rows`, chunk
/// `step`; of a transposed matrix, of the eight columns numbered `step`.
llvm::Value* Writer::line_start(const Fields& f, bool transposed, llvm::Value* rows, llvm::Value* step) {
  auto* of_chunk = ir_.getInt32(kChunkWords * 4);
  llvm::Value* offset = nullptr;
  if (!transposed) {
    auto* pitch = ir_.CreateSelect(f.is_plain, f.leading, of_chunk);
    offset = ir_.CreateAdd(ir_.CreateMul(rows, f.stride), ir_.CreateMul(step, pitch));
  } else {
    auto* plain = ir_.CreateAdd(ir_.CreateMul(rows, f.stride), ir_.CreateMul(step, f.leading));
    auto* shift = ir_.CreateIntrinsic(llvm::Intrinsic::cttz, {ir_.getInt32Ty()}, {f.atom, ir_.getTrue()});
    auto* inside = ir_.CreateMul(ir_.CreateAnd(rows, ir_.CreateSub(f.atom, ir_.getInt32(1))), of_chunk);
    auto* swizzled = ir_.CreateAdd(inside, ir_.CreateMul(ir_.CreateLShr(rows, shift), f.leading));
    swizzled = ir_.CreateAdd(swizzled, ir_.CreateMul(step, f.stride));
    offset = ir_.CreateSelect(f.is_plain, plain, swizzled);
  }
  return ir_.CreateAdd(f.start, offset);
}

/// Shared addresses of a group's eight chunks. Lines of 128 bytes are numbered from where the pattern starts.
llvm::Value* Writer::addresses(const Fields& f, llvm::Value* first) {
  const auto all = [&](llvm::Value* scalar) { return ir_.CreateVectorSplat(kLines, scalar); };
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < kLines; ++i) numbers.push_back(ir_.getInt32(i));
  auto* pitch = ir_.CreateShl(f.atom, 4);
  auto* plain = ir_.CreateAdd(all(first), ir_.CreateMul(llvm::ConstantVector::get(numbers), all(pitch)));
  auto* line = ir_.CreateSub(ir_.CreateLShr(plain, 7), all(f.base));
  auto* phase = ir_.CreateAnd(line, all(ir_.CreateSub(f.atom, ir_.getInt32(1))));
  return ir_.CreateXor(plain, ir_.CreateShl(phase, 4));
}

/// From the addresses in `lines_`: a store of a vector and loads of scalars take less than extractions.
llvm::Value* Writer::chunk(unsigned line, llvm::Type* type) {
  auto* address = ir_.CreateAlignedLoad(ir_.getInt32Ty(), at(lines_, line), llvm::Align(4), true);
  auto* place = ir_.CreateZExt(address, ir_.getInt64Ty());
  return load(type, ir_.CreateInBoundsGEP(ir_.getInt8Ty(), shared_, place), 16);
}

// ---- steps ----

llvm::Value* Writer::step_field(llvm::Value* step, std::size_t offset) {
  auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), sizeof(WarpgroupStep));
  auto* place = ir_.CreateInBoundsGEP(type, function_->getArg(4), {step, ir_.getInt32(offset)});
  return load(ir_.getInt64Ty(), place, alignof(WarpgroupStep));
}

/// The latest that does not add: what those before it make is never seen.
void Writer::find_first_step() {
  first_step_ = ir_.getInt32(0);
  adds_ = ir_.getTrue();
  for (unsigned n = 0; n < form_.steps; ++n) {
    auto* step = ir_.getInt32(n);
    first_step_ = ir_.CreateSelect(adds(step), first_step_, step);
    adds_ = ir_.CreateAnd(adds_, adds(step));
  }
}

// ---- A ----

void Writer::unpack_a() {
  if (flips_b_) excess_.assign(std::size_t{2} * parts_, all_words(0));
  llvm::Value *a = a_, *to = a_panel_;
  excess_ = loop(form_.steps, excess_, [&](llvm::Value* step, const Values& carried) {
    excess_ = carried;
    for (auto*& excess : excess_) excess = ir_.CreateSelect(adds(step), excess, all_words(0));
    of_a_ = fields(step_field(step, offsetof(WarpgroupStep, a)));
    a_ = at(a, ir_.CreateMul(step, ir_.getInt32(kRegistersOfA * kRegisterLanes)));
    a_of_step_ = at(to, ir_.CreateMul(step, ir_.getInt32(panel_words_)));
    unpack_step_of_a();
    return excess_;
  });
  for (auto*& excess : excess_) excess = sum_of_words(ir_, excess);
}

/// To a row of the panel: the numbers of a part of a register.
void Writer::put_a(llvm::Value* panel, unsigned row, unsigned half, unsigned part, llvm::Value* numbers) {
  if (form_.negates)
    numbers = step_ == MatrixStep::number ? ir_.CreateFNeg(numbers) : inverted(numbers, 0x80008000);
  if (flips_b_) {
    auto*& excess = excess_[half * parts_ + part];
    excess = add_bytes(ir_, form_.a, excess, numbers, all_words(0x80808080));
  }
  if (in_tiles_) return put_rows_of_a(panel, row, (half * parts_ + part) * lanes_ / kChunkWords, numbers);
  store(numbers, at(panel, row * kPanelRow + half * kRegisterLanes + part * lanes_), lanes_ * 4);
}

/// To a tile, whose rows have all words of a step: chunk `chunk` of the rows from `row` on.
void Writer::put_rows_of_a(llvm::Value* tile, unsigned chunk, unsigned row, llvm::Value* words) {
  for (unsigned i = 0; i < lanes_ / kChunkWords; ++i) {
    const int first = static_cast<int>(i * kChunkWords);
    store(shuffle(words, {first, first + 1, first + 2, first + 3}),
          at(tile, (row + i) * kKeptWords + chunk * kChunkWords), 16);
  }
}

/// A register of A by parts, as it is or as it would be; that of half h and chunk c is h + 2c.
Writer::Values Writer::words_of_a(unsigned number) {
  Values parts;
  if (form_.a_in_registers) {
    for (unsigned part = 0; part < parts_; ++part)
      parts.push_back(
          load(vector(ir_.getInt32Ty(), lanes_), at(a_, number * kRegisterLanes + part * lanes_)));
    return parts;
  }
  auto* rows = ir_.CreateAdd(ir_.CreateShl(warp_, 1), ir_.getInt32(number % 2));
  ir_.CreateStore(addresses(of_a_, line_start(of_a_, false, rows, ir_.getInt32(number / 2))), lines_, true);
  for (unsigned i = 0; i < kLines; ++i) parts.push_back(chunk(i, vector(ir_.getInt32Ty(), kChunkWords)));
  while (parts.size() > parts_) {
    Values wider;
    for (std::size_t i = 0; i < parts.size(); i += 2) wider.push_back(joined(parts[i], parts[i + 1]));
    parts = std::move(wider);
  }
  return parts;
}

/// Where elements are put before they are spread, if they are.
llvm::Value* Writer::place_of_kept() {
  return form_.sparse ? local(number_, panel_words_ / 2, "a_kept") : a_of_step_;
}

/// A whose columns lie together: 16-bit elements of eight rows are a chunk.
void Writer::unpack_columns_of_a() {
  auto* type = vector(ir_.getInt16Ty(), kLines);
  auto* panel = place_of_kept();
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned c = 0; c < 2; ++c) {
      auto* rows = ir_.CreateAdd(ir_.CreateShl(warp_, 1), ir_.getInt32(half));
      ir_.CreateStore(addresses(of_a_, line_start(of_a_, true, rows, ir_.getInt32(c))), lines_, true);
      for (unsigned i = 0; i < per_word_; ++i) {
        Values columns;
        for (unsigned w = 0; w < kChunkWords; ++w) {
          auto* first = chunk(2 * w + i, type);
          columns.push_back(step_ == MatrixStep::number ? halves(first, form_.a)
                                                        : paired(first, chunk(2 * w + 1, type), kInOrder));
        }
        for (unsigned part = 0; part < parts_; ++part)
          put_a(panel, c * per_word_ + i, half, part, by_rows(columns, part));
      }
    }
  if (form_.sparse) spread_a(panel);
}

void Writer::unpack_step_of_a() {
  if (form_.a_transposed) return unpack_columns_of_a();
  auto* panel = place_of_kept();
  for (unsigned r = 0; r < kRegistersOfA; ++r) {
    const Values words = words_of_a(r);
    for (unsigned part = 0; part < parts_; ++part)
      for (unsigned i = 0; i < per_word_; ++i)
        put_a(panel, r / 2 * per_word_ + i, r % 2, part, element(words[part], i, form_.a));
  }
  if (form_.sparse) spread_a(panel);
}

/// Where the k-th kept element of a row belongs. Four bits of metadata say so for each chunk.
llvm::Value* Writer::place_in_b(llvm::Value* row, llvm::Value* k) {
  const auto number = [&](unsigned value) { return ir_.getInt32(value); };
  const bool is_word = per_word_ == 1, is_byte = per_word_ == 4;
  auto* chunk = is_word ? k : ir_.CreateLShr(k, 1);
  auto *upper = ir_.CreateLShr(row, 3), *quad = ir_.CreateShl(ir_.CreateAnd(row, 7), 2);
  llvm::Value *thread = nullptr, *shift = nullptr;
  if (is_byte) {
    thread = ir_.CreateAdd(upper, ir_.CreateShl(ir_.CreateLShr(chunk, 3), 1));
    shift = ir_.CreateShl(ir_.CreateAnd(chunk, 7), 2);
  } else {
    thread = ir_.CreateAdd(number(form_.selector * 2), ir_.CreateLShr(chunk, 2));
    shift = ir_.CreateAdd(ir_.CreateShl(upper, 4), ir_.CreateShl(ir_.CreateAnd(chunk, 3), 2));
  }
  auto* word = load(ir_.getInt32Ty(), at(metadata_, ir_.CreateAdd(quad, thread)));
  auto* bits = ir_.CreateLShr(word, shift);
  if (is_word) return ir_.CreateAdd(ir_.CreateShl(chunk, 1), ir_.CreateAnd(ir_.CreateLShr(bits, 1), 1));
  bits = ir_.CreateLShr(bits, ir_.CreateShl(ir_.CreateAnd(k, 1), 1));
  return ir_.CreateAdd(ir_.CreateShl(chunk, 2), ir_.CreateAnd(bits, 3));
}

/// Kept elements to their places among zeros, and a mask of them.
void Writer::spread_a(llvm::Value* kept) {
  ir_.CreateMemSet(a_panel_, ir_.getInt8(0), panel_words_ * 4, llvm::MaybeAlign(64));
  if (is_masked_) ir_.CreateMemSet(a_mask_, ir_.getInt8(0), panel_words_ * 4, llvm::MaybeAlign(64));
  loop(16, {}, [&](llvm::Value* row, const Values&) {
    loop(kKeptWords * per_word_, {}, [&](llvm::Value* k, const Values&) -> Values {
      const auto index = [&](llvm::Value* of) {
        auto *word = ir_.CreateUDiv(of, ir_.getInt32(per_word_)),
             *i = ir_.CreateURem(of, ir_.getInt32(per_word_));
        auto* line = ir_.CreateAdd(
            ir_.CreateMul(ir_.CreateUDiv(word, ir_.getInt32(kChunkWords)), ir_.getInt32(per_word_)), i);
        auto* place = ir_.CreateAdd(ir_.CreateMul(row, ir_.getInt32(kChunkWords)),
                                    ir_.CreateURem(word, ir_.getInt32(kChunkWords)));
        return ir_.CreateAdd(ir_.CreateMul(line, ir_.getInt32(kPanelRow)), place);
      };
      auto* to = index(place_in_b(row, k));
      store(load(number_, at(kept, index(k))), at(a_panel_, to));
      if (is_masked_) store(ir_.getInt32(~0u), at(a_mask_, to));
      return {};
    });
    return Values{};
  });
}

// ---- B ----

/// Blocks one behind the other; those of a tile side by side.
llvm::Value* Writer::of_block(llvm::Value* block) {
  const unsigned words = form_.steps * depth_ * row_of_b_, together = row_of_b_ / kBlock;
  auto* first = ir_.CreateMul(ir_.CreateUDiv(block, ir_.getInt32(together)), ir_.getInt32(words));
  auto* within = ir_.CreateMul(ir_.CreateURem(block, ir_.getInt32(together)), ir_.getInt32(kBlock));
  return at(b_panel_, ir_.CreateAdd(first, within));
}

/// Row of B's panel where the eight numbers of this k are: of neighbouring words in turn, as one vector holds
/// them.
unsigned Writer::place(unsigned k) const {
  const unsigned word = k / per_word_, i = k % per_word_;
  return (word / 2 * per_word_ + i) * 2 + word % 2;
}

/// The numbers of this k, and those of the next row.
void Writer::put_b(llvm::Value* to, unsigned k, llvm::Value* two_rows) {
  auto* first = at(to, place(k) * row_of_b_);
  if (row_of_b_ == kBlock) return store(two_rows, first, 64);
  store(shuffle(two_rows, {0, 1, 2, 3, 4, 5, 6, 7}), first, 32);
  store(shuffle(two_rows, {8, 9, 10, 11, 12, 13, 14, 15}), at(first, row_of_b_), 32);
}

void Writer::unpack_b() {
  loop(form_.steps, {}, [&](llvm::Value* step, const Values&) {
    of_b_ = fields(step_field(step, offsetof(WarpgroupStep, b)));
    auto* within = ir_.CreateMul(step, ir_.getInt32(depth_ * row_of_b_));
    return loop(form_.n / kBlock, {}, [&](llvm::Value* block, const Values&) {
      unpack_block_of_b(block, at(of_block(block), within));
      return Values{};
    });
  });
}

void Writer::unpack_block_of_b(llvm::Value* block, llvm::Value* to) {
  if (form_.b_transposed)
    unpack_columns_of_b(block, to);
  else
    unpack_rows_of_b(block, to);
}

void Writer::unpack_rows_of_b(llvm::Value* block, llvm::Value* to) {
  auto* type = vector(ir_.getInt32Ty(), kChunkWords);
  for (unsigned c = 0; c < words_ / kChunkWords; ++c) {
    ir_.CreateStore(addresses(of_b_, line_start(of_b_, false, block, ir_.getInt32(c))), lines_, true);
    Values chunks;
    for (const int column : kEvenThenOdd) chunks.push_back(chunk(static_cast<unsigned>(column), type));
    auto* even = joined(joined(chunks[0], chunks[1]), joined(chunks[2], chunks[3]));
    auto* odd = joined(joined(chunks[4], chunks[5]), joined(chunks[6], chunks[7]));
    for (unsigned pair = 0; pair < 2; ++pair) {
      std::vector<int> mask(2 * kBlock);
      for (unsigned i = 0; i < mask.size(); ++i)
        mask[i] = static_cast<int>(i % kBlock * kChunkWords + pair * 2 + i / kBlock);
      auto* words = ir_.CreateShuffleVector(even, odd, mask);
      for (unsigned i = 0; i < per_word_; ++i) {
        const unsigned k = (c * kChunkWords + pair * 2) * per_word_ + i;
        auto* numbers = element(words, i, form_.b);
        put_b(to, k, flips_b_ ? inverted(numbers, 0x80808080) : numbers);
      }
    }
  }
}

void Writer::unpack_columns_of_b(llvm::Value* block, llvm::Value* to) {
  auto* type = vector(ir_.getInt16Ty(), kBlock);
  for (unsigned step = 0; step < depth_ * per_step_ / kLines; ++step) {
    ir_.CreateStore(addresses(of_b_, line_start(of_b_, true, block, ir_.getInt32(step))), lines_, true);
    const auto line = [&](unsigned i) { return chunk(i, type); };
    for (unsigned i = 0; i < kLines / per_step_; ++i) {
      if (place(i) % 2 != 0) continue;  // it is stored together with the one before
      llvm::Value* two = nullptr;
      if (step_ == MatrixStep::number)
        two = halves(joined(shuffle(line(i), kEvenThenOdd), shuffle(line(i + per_word_), kEvenThenOdd)),
                     form_.b);
      else
        two = joined(paired(line(2 * i), line(2 * i + 1), kEvenThenOdd),
                     paired(line(2 * i + 2), line(2 * i + 3), kEvenThenOdd));
      put_b(to, step * kLines / per_step_ + i, two);
    }
  }
}

// ---- D ----

llvm::Value* Writer::register_of(const Half& half, unsigned odd, unsigned part) {
  const bool pairs = form_.d == Type::f16;
  auto* first = ir_.CreateMul(half.block, ir_.getInt32(pairs ? 2 : 4));
  auto* number = ir_.CreateAdd(first, ir_.getInt32(pairs ? half.half : half.half * 2 + odd));
  return at(d_,
            ir_.CreateAdd(ir_.CreateMul(number, ir_.getInt32(kRegisterLanes)), ir_.getInt32(part * lanes_)));
}

Writer::Values Writer::begin(const Half& half) {
  Values sums;
  auto* zero = llvm::Constant::getNullValue(vector(sum_, lanes_));
  for (unsigned odd = 0; odd < 2; ++odd)
    for (unsigned part = 0; part < parts_; ++part) {
      if (is_integer_ && !begins_with_d()) {
        sums.push_back(flips_b_ ? ir_.CreateNeg(excess_[half.half * parts_ + part]) : zero);
        continue;
      }
      auto* old = load(vector(ir_.getInt32Ty(), lanes_), register_of(half, odd, part), lanes_ * 4);
      const bool pairs = form_.d == Type::f16;
      auto* number = pairs ? element(old, odd, Type::f16) : ir_.CreateBitCast(old, vector(sum_, lanes_));
      sums.push_back(ir_.CreateSelect(adds_, number, zero));
      if (flips_b_) sums.back() = ir_.CreateSub(sums.back(), excess_[half.half * parts_ + part]);
    }
  return sums;
}

void Writer::finish(const Half& half, const Values& sums) {
  auto* type = vector(ir_.getInt32Ty(), lanes_);
  for (unsigned part = 0; part < parts_; ++part) {
    auto *even = sums[part], *odd = sums[parts_ + part];
    if (form_.d == Type::f16) {
      const auto narrowed = [&](llvm::Value* v) {
        return narrow_from_f32({&ir_, v, Type::f32}, Type::f16, Mod::rn).as(Type::b16).to(Type::u32);
      };
      store((narrowed(even) | shl(narrowed(odd), 16)).v, register_of(half, 0, part), lanes_ * 4);
      continue;
    }
    for (unsigned side = 0; side < 2; ++side) {
      auto* sum = side == 0 ? even : odd;
      auto* to = register_of(half, side, part);
      if (is_integer_ && !begins_with_d()) {
        if (sum_->isFloatTy()) sum = ir_.CreateFPToSI(sum, type);
        auto* old = ir_.CreateSelect(adds_, load(type, to, lanes_ * 4), llvm::Constant::getNullValue(type));
        sum = form_.saturates ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, old, sum)
                              : ir_.CreateAdd(old, sum);
      }
      store(sum, to, lanes_ * 4);
    }
  }
}

llvm::Value* Writer::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum, llvm::Value* kept) {
  switch (step_) {
    case MatrixStep::bits:
      return ir_.CreateAdd(sum, ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, ir_.CreateAnd(a, b)));
    case MatrixStep::bytes:
      return add_bytes(ir_, form_.a, sum, a, b);
    case MatrixStep::pairs_of_bf16:
      return dot_of_bf16({&ir_, a, Type::b32}, {&ir_, b, Type::b32}, {&ir_, sum, Type::f32}).v;
    case MatrixStep::number:
      break;
  }
  auto* next = fma(Val{&ir_, a, Type::f32}, Val{&ir_, b, Type::f32}, Val{&ir_, sum, Type::f32}).v;
  return kept ? ir_.CreateSelect(kept, next, sum) : next;
}

/// The K of one chunk, in order.
Writer::Values Writer::products(const std::vector<Half>& halves, llvm::Value* chunk, Values sums) {
  const unsigned steps = kChunkWords * per_word_;
  auto* of_chunk = ir_.CreateMul(chunk, ir_.getInt32(per_word_ * kPanelRow));
  auto* a = at(a_panel_, of_chunk);
  auto* mask = is_masked_ ? at(a_mask_, of_chunk) : nullptr;
  Values b;
  for (const Half& half : halves)
    b.push_back(at(of_block(half.block), ir_.CreateMul(chunk, ir_.getInt32(steps * kBlock))));
  std::vector<int> again(lanes_);
  for (unsigned l = 0; l < lanes_; ++l) again[l] = static_cast<int>(l % 4);
  for (unsigned k = 0; k < steps; ++k) {
    std::array<Values, 2> rows, kept;
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned part = 0; part < parts_; ++part) {
        const unsigned index = k % per_word_ * kPanelRow + half * kRegisterLanes + part * lanes_;
        if (half != halves[0].half && half != halves.back().half) continue;
        const auto word = [&](llvm::Value* panel, llvm::Type* type) {
          return of_word(ir_, load(vector(type, lanes_), at(panel, index), lanes_ * 4), k / per_word_);
        };
        rows[half].push_back(word(a, number_));
        if (!mask) continue;
        auto* flags = word(mask, ir_.getInt32Ty());
        kept[half].push_back(ir_.CreateICmpNE(flags, llvm::Constant::getNullValue(flags->getType())));
      }
    for (std::size_t n = 0; n < halves.size(); ++n)
      for (unsigned odd = 0; odd < 2; ++odd) {
        const unsigned index = place(k) * kBlock + odd * 4;
        auto* columns = shuffle(load(vector(number_, 4), at(b[n], index), 16), again);
        for (unsigned part = 0; part < parts_; ++part) {
          auto*& sum = sums[(n * 2 + odd) * parts_ + part];
          sum = multiply_add(rows[halves[n].half][part], columns, sum,
                             mask ? kept[halves[n].half][part] : nullptr);
        }
      }
  }
  return sums;
}

void Writer::multiply(const std::vector<Half>& halves) {
  Values sums;
  for (const Half& half : halves)
    for (auto* sum : begin(half)) sums.push_back(sum);
  const unsigned chunks = words_ / kChunkWords;  // of a step
  sums = carried_loop(
      ir_, ir_.CreateMul(first_step_, ir_.getInt32(chunks)), form_.steps * chunks, sums,
      [&](llvm::Value* chunk, const Values& carried) { return products(halves, chunk, carried); });
  const std::size_t each = 2 * parts_;
  for (std::size_t n = 0; n < halves.size(); ++n)
    finish(halves[n], Values(sums.begin() + static_cast<std::ptrdiff_t>(n * each),
                             sums.begin() + static_cast<std::ptrdiff_t>((n + 1) * each)));
}

/// As many sums at once as the host has registers for.
void Writer::multiply(llvm::Value* first, unsigned blocks) {
  std::vector<Half> all;
  for (unsigned n = 0; n < blocks; ++n) {
    auto* block = ir_.CreateAdd(first, ir_.getInt32(n));
    for (unsigned half = 0; half < 2; ++half) all.push_back({block, half});
  }
  if (parts_ <= 2) return multiply(all);
  for (const Half& half : all) multiply(std::vector<Half>{half});
}

void Writer::run() {
  a_panel_ = local(number_, form_.steps * panel_words_, "a_panel");
  if (is_masked_) a_mask_ = local(ir_.getInt32Ty(), panel_words_, "a_mask");
  lines_ = local(ir_.getInt32Ty(), kLines, "lines");
  find_first_step();
  unpack_a();
  if (form_.shares_b) {
    b_panel_ = function_->getArg(6);
    auto *absent = new_block("absent"), *there = new_block("there");
    ir_.CreateCondBr(function_->getArg(7), there, absent);
    ir_.SetInsertPoint(absent);
    unpack_b();
    ir_.CreateBr(there);
    ir_.SetInsertPoint(there);
  } else {
    b_panel_ = local(number_, operand_words(form_, depth_, row_of_b_), "b_panel");
    unpack_b();
  }
  multiply();
  ir_.CreateRetVoid();
}

void Writer::multiply() {
  if (in_tiles_)
    return multiply_in_tiles(
        ir_, form_,
        {.a = a_panel_,
         .b = b_panel_,
         .first_step = first_step_,
         .begin = [&](llvm::Value* block, unsigned half) { return begin({block, half}); },
         .finish = [&](llvm::Value* block, unsigned half,
                       const Values& sums) { finish({block, half}, sums); }});
  const unsigned blocks = form_.n / kBlock;
  if (blocks >= 2)
    loop(blocks / 2, {}, [&](llvm::Value* turn, const Values&) {
      multiply(ir_.CreateShl(turn, 1), 2);
      return Values{};
    });
  if (blocks % 2 != 0) multiply(ir_.getInt32(blocks - 1), 1);
}

}  // namespace

MatrixStep step_of(SimdForm simd, const WarpgroupProductForm& form) {
  const bool is_bytes = form.a == Type::s8 || form.a == Type::u8;
  if (form.a == Type::b1) return MatrixStep::bits;
  if (!form.sparse && is_bytes && simd.dots_of_bytes) return MatrixStep::bytes;
  if (!form.sparse && form.a == Type::bf16 && simd.dots_of_bf16) return MatrixStep::pairs_of_bf16;
  return MatrixStep::number;
}

unsigned operand_bytes(SimdForm simd, const WarpgroupProductForm& form) {
  const unsigned depth = words_of_column(form) * steps_of_word(step_of(simd, form), form);
  return operand_words(form, depth, takes_tiles(simd, form) ? kTileColumns : kBlock) * 4;
}

std::string WarpgroupProductForm::name() const {
  return fmt::format("wgmma.{}.{}.{}.n{}.k{}{}{}{}{}{}{}{}.{}", isa::type_name(d), isa::type_name(a),
                     isa::type_name(b), n, steps, sparse ? ".sparse" : "", saturates ? ".satfinite" : "",
                     a_in_registers ? ".registers" : "", a_transposed ? ".a_transposed" : "",
                     b_transposed ? ".b_transposed" : "", negates ? ".negated" : "",
                     shares_b ? ".shared" : "", selector);
}

llvm::Function* warpgroup_product(llvm::Module& module, SimdForm simd, const WarpgroupProductForm& form) {
  if (auto* known = module.getFunction(form.name())) return known;
  auto& context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *i32 = llvm::Type::getInt32Ty(context);
  auto* i1 = llvm::Type::getInt1Ty(context);
  std::vector<llvm::Type*> types = {pointer, pointer, pointer, pointer, pointer, i32};
  if (form.shares_b) types.insert(types.end(), {pointer, i1});
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, form.name(), module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  Writer(function, simd, form).run();
  return function;
}

}  // namespace raddle::jit
