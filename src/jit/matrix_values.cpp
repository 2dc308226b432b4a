#include "jit/matrix_values.h"

#include "jit/function_builder.h"
#include "jit/vector_math.h"

namespace raddle::jit {

Val MatrixValues::load(unsigned reg, unsigned p) {
  const unsigned bits = layout_.register_bits();
  auto*& known = loaded_[{reg, p}];
  if (known == nullptr) {
    auto* at = ir_.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), registers_,
                                              (reg * exec::kWarpSize + p * lanes_) * bits / 8);
    auto* type = llvm::FixedVectorType::get(ir_.getIntNTy(bits), lanes_);
    known = ir_.CreateAlignedLoad(type, at, llvm::Align(kMatrixAlign));
  }
  return {&ir_, known, isa::bits_type(bits)};
}

/// An element as f32, f64 or s32; or a unit.
Val MatrixValues::unpack(Val word, unsigned element) {
  if (by_units_) return unpack_unit(word, element);
  switch (const Type type = layout_.element()) {
    case Type::f16:
    case Type::bf16:
      return widen_to_f32(jit::element(word, type, element), type);
    case Type::tf32:
      return (word & word.like(0xffffe000ll)).as(Type::f32);
    case Type::e4m3:
    case Type::e5m2:
      return widen_fp8_to_f32(jit::element(word, Type::b8, element), type);
    case Type::f64:
    case Type::f32:
    case Type::s32:
      return word.as(type);
    default:
      return unpack_integer(word, element);
  }
}

Val MatrixValues::unpack_integer(Val word, unsigned element) {
  const unsigned bits = layout_.element_bits();
  const Type type = isa::is_signed(layout_.element()) ? Type::s32 : Type::u32;
  return shr(shl(word.as(type), 32 - bits * (element + 1)), 32 - bits).as(Type::s32);
}

/// Words, or elements `unit` of both halves of a register's words, widened to 16 bits.
Val MatrixValues::unpack_unit(Val word, unsigned unit) {
  const unsigned bits = layout_.element_bits();
  if (takes_words_) return word.as(Type::s32) ^ word.as(Type::s32).like(static_cast<std::int32_t>(inverted_));
  auto* pairs = llvm::FixedVectorType::get(ir_.getInt16Ty(), lanes_ * 2);
  llvm::Value* top =
      ir_.CreateShl(ir_.CreateBitCast(word.v, pairs), llvm::ConstantInt::get(pairs, 16 - bits * (unit + 1)));
  auto* down = llvm::ConstantInt::get(pairs, 16 - bits);
  top = isa::is_signed(layout_.element()) ? ir_.CreateAShr(top, down) : ir_.CreateLShr(top, down);
  return {&ir_, ir_.CreateBitCast(top, word.v->getType()), Type::s32};
}

Val MatrixValues::unpacked(unsigned reg, unsigned element, unsigned p) {
  auto [known, is_new] = unpacked_.try_emplace({reg, {element, p}});
  if (is_new) known->second = unpack(load(reg, p), element);
  return known->second;
}

/// Of all lanes of the warp.
llvm::Value* MatrixValues::whole(const MatrixHolder& source) {
  auto*& all = whole_[{source.reg, source.element}];
  if (all != nullptr) return all;
  std::vector<llvm::Value*> pieces;
  for (unsigned p = 0; p < exec::kWarpSize / lanes_; ++p)
    pieces.push_back(unpacked(source.reg, source.element, p).v);
  for (unsigned width = lanes_; pieces.size() > 1; width *= 2) {
    std::vector<int> both(width * 2);
    for (unsigned i = 0; i < both.size(); ++i) both[i] = static_cast<int>(i);
    std::vector<llvm::Value*> joined;
    for (std::size_t i = 0; i < pieces.size(); i += 2)
      joined.push_back(ir_.CreateShuffleVector(pieces[i], pieces[i + 1], both));
    pieces = std::move(joined);
  }
  return all = pieces[0];
}

constexpr unsigned kFour = 4, kApart = exec::kWarpSize / kFour;

/// A source's lanes in memory: those 8 apart side by side. From there a vector that repeats four of them is
/// one load, where shuffles would be as many as the arithmetic.
llvm::Value* MatrixValues::staged(const MatrixHolder& source) {
  auto*& place = staged_[{source.reg, source.element}];
  if (place != nullptr) return place;
  auto* values = whole(source);
  std::vector<int> order;
  for (unsigned i = 0; i < exec::kWarpSize; ++i)
    order.push_back(static_cast<int>(i / kFour + i % kFour * kApart));
  place = ir_.CreateAlloca(values->getType());
  ir_.CreateStore(ir_.CreateShuffleVector(values, order), place);
  keep_in_memory(ir_, place);
  return place;
}

/// The vector, where every four lanes want the same four of a source that are 8 apart; else null.
llvm::Value* MatrixValues::repeated(const std::vector<MatrixHolder>& holders, const MatrixHolder& source) {
  const unsigned first = holders[0].lane;
  std::vector<int> four;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    const bool fits =
        holders[lane].same_source(source) && holders[lane].lane == first + lane % kFour * kApart;
    if (!fits) return nullptr;
    four.push_back(static_cast<int>(lane % kFour));
  }
  auto* element = unpacked(source.reg, source.element, 0).v->getType()->getScalarType();
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  auto* at = ir_.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), staged(source), first * kFour * bytes);
  auto* loaded =
      ir_.CreateAlignedLoad(llvm::FixedVectorType::get(element, kFour), at, llvm::Align(kFour * bytes));
  return lanes_ == kFour ? static_cast<llvm::Value*>(loaded) : ir_.CreateShuffleVector(loaded, four);
}

/// For the lanes whose holder is the source's register and element; the others are poison.
Val MatrixValues::shuffled(const std::vector<MatrixHolder>& holders, const MatrixHolder& source) {
  std::vector<int> from(lanes_, -1), within(lanes_, -1);
  const unsigned part = source.lane / lanes_;
  bool is_one_part = true;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if (!holders[lane].same_source(source)) continue;
    is_one_part &= holders[lane].lane / lanes_ == part;
    from[lane] = static_cast<int>(holders[lane].lane);
    within[lane] = static_cast<int>(holders[lane].lane % lanes_);
  }
  const Val value = unpacked(source.reg, source.element, part);
  if (!is_one_part)
    if (auto* vector = repeated(holders, source)) return {&ir_, vector, value.type};
  auto* shuffle =
      is_one_part ? ir_.CreateShuffleVector(value.v, within) : ir_.CreateShuffleVector(whole(source), from);
  return {&ir_, shuffle, value.type};
}

Val MatrixValues::gather_holders(const std::vector<MatrixCell>& cells, const Where& where, bool is_unit,
                                 unsigned unit) {
  std::vector<MatrixHolder> holders;
  std::vector<unsigned> key;
  for (const MatrixCell& cell : cells) {
    MatrixHolder holder = layout_.holder(where(cell));
    if (is_unit) holder.element = unit;
    holders.push_back(holder);
    key.insert(key.end(), {holder.lane, holder.reg, holder.element});
  }
  auto [known, is_new] = gathered_.try_emplace(std::move(key));
  if (!is_new) return known->second;
  Val result = shuffled(holders, holders[0]);
  std::vector<bool> done(lanes_);
  for (unsigned first = 0; first < lanes_; ++first) {
    if (done[first]) continue;
    std::vector<int> blend(lanes_);
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const bool is_here = holders[lane].same_source(holders[first]);
      blend[lane] = static_cast<int>(is_here ? lanes_ + lane : lane);
      if (is_here) done[lane] = true;
    }
    if (first == 0) continue;
    result.v = ir_.CreateShuffleVector(result.v, shuffled(holders, holders[first]).v, blend);
  }
  return known->second = result;
}

}  // namespace raddle::jit
