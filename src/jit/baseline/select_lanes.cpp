// Values that go from lane to lane. Long: it has every way in which lanes move, with AVX-512.
#include <llvm/IR/Constants.h>

#include <array>

#include "jit/baseline/patterns.h"
#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

constexpr BySize kPermute{Inst::kIdVpermb, Inst::kIdVpermw, Inst::kIdVpermd, Inst::kIdVpermq};
/// The lanes of two registers, over the first of them.
constexpr BySize kPermuteTables{Inst::kIdVpermt2b, Inst::kIdVpermt2w, Inst::kIdVpermt2d, Inst::kIdVpermt2q};

}  // namespace

void Selector::visitShuffleVectorInst(llvm::ShuffleVectorInst& i) {
  const auto from = shape_of(i.getOperand(0)->getType()), to = shape_of(i.getType());
  if (!from || !to) return cannot(i);
  if (to->kind == Class::mask) return permute_mask(i);
  const auto mask = i.getShuffleMask();
  if (std::all_of(mask.begin(), mask.end(), [](int lane) { return lane <= 0; })) return splat(i);
  if (llvm::isa<llvm::UndefValue>(i.getOperand(1)) && repeats_part(i, form_)) return repeat_part(i);
  if (!joins_halves(i)) permute(i);
}

/// The first lane in all.
void Selector::splat(llvm::ShuffleVectorInst& i) {
  const Shape to = shape(&i);
  const unsigned bits = to.element_bits;
  const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(i.getOperand(0));
  const bool is_scalar = insert && analysis_.is_deferred(*insert);
  const llvm::Value* scalar = is_scalar ? insert->getOperand(1) : nullptr;
  unsigned first = 0;
  const auto* load = scalar ? llvm::dyn_cast<llvm::LoadInst>(scalar) : nullptr;
  if (load && analysis_.is_deferred(*load)) {
    const x86::Mem from = repeated_memory(load);
    first = define_vector(&i).id();
    broadcast(vector_register(first, to.bytes_of(0)), from, bits);
  } else if (scalar && shape(scalar).kind == Class::general) {
    const x86::Gp reg = to.is_mask ? extended(scalar, 32, true) : general(scalar, bits == 64 ? 64 : 32);
    first = define_vector(&i).id();
    broadcast(vector_register(first, to.bytes_of(0)), reg, bits);
  } else {
    const x86::Vec reg = scalar ? vector(scalar) : vector(i.getOperand(0));
    first = define_vector(&i).id();
    broadcast(vector_register(first, to.bytes_of(0)), reg.xmm(), bits);
  }
  copy_pieces(i, first);
}

void Selector::copy_pieces(llvm::ShuffleVectorInst& i, unsigned first) {
  for (unsigned n = 1; n < shape(&i).count; ++n)
    if (piece(&i, n) != piece(&i)) a_.emit(Inst::kIdVmovaps, whole(define_vector(&i, n).id()), whole(first));
}

x86::Mem Selector::repeated_memory(const llvm::Value* value) {
  const auto* load = llvm::cast<llvm::LoadInst>(value);
  if (const llvm::DebugLoc& place = load->getDebugLoc()) code_.at_line(place.getLine(), place.getCol());
  return address(load->getPointerOperand());
}

void Selector::repeat_part(llvm::ShuffleVectorInst& i) {
  const bool is_half = repeated_lanes(i) * shape(&i).element_bits == 256;  // of AVX-512's registers
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(i.getOperand(0));
  if (load && analysis_.is_deferred(*load)) {
    const x86::Mem from = repeated_memory(load);
    const unsigned to = define_vector(&i).id();
    a_.emit(form_.bytes == 32 ? Inst::kIdVbroadcastf128
            : is_half         ? Inst::kIdVbroadcastf64x4
                              : Inst::kIdVbroadcastf32x4,
            whole(to), from);
    return copy_pieces(i, to);
  }
  const unsigned from = vector(i.getOperand(0)).id(), to = define_vector(&i).id();
  if (form_.bytes == 32)
    a_.vinsertf128(x86::ymm(to), x86::ymm(from), x86::xmm(from), 1);
  else
    a_.vshuff64x2(x86::zmm(to), x86::zmm(from), x86::zmm(from), is_half ? 0x44 : 0);
  copy_pieces(i, to);
}

/// Two vectors that are half a piece, one behind the other; or the upper half of a piece.
bool Selector::joins_halves(llvm::ShuffleVectorInst& i) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  const auto mask = i.getShuffleMask();
  const int first = mask.front();
  for (std::size_t lane = 0; lane < mask.size(); ++lane)
    if (mask[lane] != first + static_cast<int>(lane)) return false;
  const unsigned bytes = form_.bytes;
  if (first == 0 && from.bytes == bytes / 2 && to.bytes == bytes) {
    const unsigned low = vector(i.getOperand(0)).id(), high = vector(i.getOperand(1)).id();
    join_halves(define_vector(&i).id(), low, high);
    return true;
  }
  const unsigned before = static_cast<unsigned>(first) * from.element_bits / 8;
  if (to.bytes == bytes / 2 && before % bytes == bytes / 2 && static_cast<unsigned>(first) < from.lanes) {
    const unsigned reg = places_.in_register(piece(i.getOperand(0), before / bytes));
    upper_half(define_vector(&i).id(), reg);
    return true;
  }
  return false;
}

void Selector::permute(llvm::ShuffleVectorInst& i) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  const unsigned bits = to.element_bits, in_piece = 512 / bits;
  if (bits == 8 && !form_.byte_permutations) return cannot(i);
  const auto mask = i.getShuffleMask();
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    Given given;
    for (unsigned lane = 0; lane < to.lanes_of(n); ++lane) {
      const int from_lane = mask[to.lanes_before(n) + lane];
      if (from_lane < 0) continue;
      const unsigned number = static_cast<unsigned>(from_lane) % from.lanes;
      const llvm::Value* operand = i.getOperand(static_cast<unsigned>(from_lane) / from.lanes);
      if (llvm::isa<llvm::UndefValue>(operand)) continue;
      given[piece(operand, number / in_piece)].push_back({lane, number % in_piece});
    }
    if (permute_at_once(i, n, given)) continue;
    const unsigned whole = permute_one_by_one(bits, given);
    a_.vmovaps(define_vector(&i, n).zmm(), x86::zmm(whole));
  }
}

unsigned Selector::permute_one_by_one(unsigned bits, const Given& given) {
  const unsigned in_piece = 512 / bits;
  std::vector<unsigned> places(
      in_piece);  // where a lane lies: among those chosen so far, or in the next piece
  for (unsigned lane = 0; lane < in_piece; ++lane) places[lane] = lane;
  const x86::Zmm sum = x86::zmm(kScratchVector), index = x86::zmm(kScratchVector2);
  auto load_index = [&] {
    std::string numbers(64, '\0');
    for (unsigned lane = 0; lane < in_piece; ++lane)
      std::memcpy(numbers.data() + lane * bits / 8, &places[lane], bits / 8);
    a_.vmovups(index, code_.constant_at(code_.constant(numbers)));
  };
  bool is_first = true;
  for (const auto& [source, lanes] : given) {
    for (const auto& [lane, number] : lanes) places[lane] = is_first ? number : in_piece + number;
    if (is_first) {
      a_.vmovaps(sum, x86::zmm(places_.in_register(source)));
      is_first = false;
      continue;
    }
    load_index();
    a_.emit(kPermuteTables[bits], sum, index, x86::zmm(places_.in_register(source)));
    for (const auto& [lane, number] : lanes) places[lane] = lane;
    for (const auto& [lane, number] : given.begin()->second) places[lane] = lane;
  }
  return sum.id();
}

bool Selector::permute_in_quarters(llvm::ShuffleVectorInst& i, unsigned n, const Given& given) {
  const unsigned bits = shape(&i).element_bits;
  if (given.size() != 1 || bits < 32) return false;
  constexpr unsigned kInQuarter = 4;  // words
  std::array<int, kInQuarter> order{-1, -1, -1, -1};
  const auto& [source, lanes] = *given.begin();
  for (const auto& [lane, number] : lanes)
    for (unsigned word = 0; word < bits / 32; ++word) {
      const unsigned to = lane * (bits / 32) + word, from = number * (bits / 32) + word;
      int& in_quarter = order[to % kInQuarter];
      const auto wanted = static_cast<int>(from % kInQuarter);
      if (from / kInQuarter != to / kInQuarter || (in_quarter >= 0 && in_quarter != wanted)) return false;
      in_quarter = wanted;
    }
  unsigned immediate = 0;
  for (unsigned word = 0; word < kInQuarter; ++word)
    immediate |= static_cast<unsigned>(std::max(order[word], 0)) << (2 * word);
  const x86::Zmm from = x86::zmm(places_.in_register(source)), to = x86::zmm(define_vector(&i, n).id());
  const bool is_float = i.getType()->getScalarType()->isFloatingPointTy();
  is_float ? a_.vpermilps(to, from, immediate) : a_.vpshufd(to, from, immediate);
  return true;
}

bool Selector::permute_at_once(llvm::ShuffleVectorInst& i, unsigned n, const Given& given) {
  const unsigned bits = shape(&i).element_bits, in_piece = 512 / bits;
  if (given.size() > 2 || given.empty()) return false;
  if (permute_in_quarters(i, n, given)) return true;
  std::string numbers(64, '\0');
  std::vector<x86::Zmm> sources;
  for (const auto& [source, lanes] : given) {
    for (const auto& [lane, number] : lanes) {
      const unsigned from = number + in_piece * static_cast<unsigned>(sources.size());
      std::memcpy(numbers.data() + lane * bits / 8, &from, bits / 8);
    }
    sources.push_back(x86::zmm(places_.in_register(source)));
  }
  const x86::Mem index = code_.constant_at(code_.constant(numbers));
  const x86::Zmm to = x86::zmm(define_vector(&i, n).id());
  if (sources.size() == 1) {
    a_.vmovups(x86::zmm(kScratchVector), index);
    a_.emit(kPermute[bits], to, x86::zmm(kScratchVector), sources[0]);
  } else {
    constexpr BySize kPermuteTwo{Inst::kIdVpermi2b, Inst::kIdVpermi2w, Inst::kIdVpermi2d, Inst::kIdVpermi2q};
    a_.vmovups(to, index);
    a_.emit(kPermuteTwo[bits], to, sources[0], sources[1]);
  }
  return true;
}

/// By way of vectors of words, lane by lane.
void Selector::permute_mask(llvm::ShuffleVectorInst& i) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  const auto lanes = i.getShuffleMask();
  const int first = lanes.front();
  bool is_run = first >= 0 && static_cast<unsigned>(first) + to.lanes <= from.lanes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    is_run &= lanes[lane] == first + static_cast<int>(lane);
  if (is_run) {
    const x86::KReg source = mask(i.getOperand(0)), result = define_mask(&i);
    a_.kshiftrq(result, source, first);
    return trim(result, to.lanes);
  }
  if (std::all_of(lanes.begin(), lanes.end(), [](int lane) { return lane <= 0; })) {
    const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(i.getOperand(0));
    const x86::KReg result = define_mask(&i);
    if (insert && analysis_.is_deferred(*insert)) {
      in_all_lanes(result, insert->getOperand(1));
    } else {
      a_.kmovq(kScratch, mask(i.getOperand(0)));
      a_.and_(kScratch.r32(), 1);
      a_.neg(kScratch);
      a_.kmovq(result, kScratch);
    }
    return trim(result, to.lanes);
  }
  if (deposit_lanes(i)) return;
  const bool by_words = from.lanes <= 32 && to.lanes <= 32;
  if (!by_words && !form_.byte_permutations) return cannot(i);
  permute_spread(i, by_words ? 16 : 8);
  const x86::KReg result = define_mask(&i);
  by_words ? a_.vpmovw2m(result, x86::zmm(kScratchVector)) : a_.vpmovb2m(result, x86::zmm(kScratchVector));
  trim(result, to.lanes);
}

/// Lanes that keep their order, with others between, as bits of a number.
bool Selector::deposit_lanes(llvm::ShuffleVectorInst& i) {
  const unsigned count = shape(i.getOperand(0)).lanes;
  const auto lanes = i.getShuffleMask();
  std::uint64_t places[2] = {0, 0};
  int next[2] = {-1, -1}, first[2] = {0, 0};
  for (unsigned lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane] < 0) continue;
    const unsigned operand = static_cast<unsigned>(lanes[lane]) / count;
    const int number = lanes[lane] % static_cast<int>(count);
    if (may_be_zero(i.getOperand(operand))) continue;
    if (next[operand] < 0) first[operand] = next[operand] = number;
    if (number != next[operand]++) return false;
    places[operand] |= std::uint64_t{1} << lane;
  }
  const x86::Gp sum = kScratch3, bits = kScratch, pattern = kScratch2;
  a_.xor_(sum.r32(), sum.r32());
  for (unsigned operand = 0; operand < 2; ++operand) {
    if (places[operand] == 0) continue;
    a_.kmovq(bits, mask(i.getOperand(operand)));
    if (first[operand] != 0) a_.shr(bits, first[operand]);
    a_.mov(pattern, places[operand]);
    a_.pdep(bits, bits, pattern);
    a_.or_(sum, bits);
    places_.write_over(Class::mask);
  }
  a_.kmovq(define_mask(&i), sum);
  return true;
}

void Selector::permute_spread(llvm::ShuffleVectorInst& i, unsigned bits) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  const auto lanes = i.getShuffleMask();
  const x86::Zmm whole = x86::zmm(kScratchVector), index = x86::zmm(kScratchVector2),
                 spread = x86::zmm(kScratchVector3);
  bool is_first = true;
  for (unsigned operand = 0; operand < 2; ++operand) {
    std::string numbers(64, '\0');
    std::uint64_t chosen = 0;
    for (unsigned lane = 0; lane < to.lanes; ++lane) {
      if (lanes[lane] < 0 || static_cast<unsigned>(lanes[lane]) / from.lanes != operand) continue;
      numbers[lane * bits / 8] = static_cast<char>(static_cast<unsigned>(lanes[lane]) % from.lanes);
      chosen |= std::uint64_t{1} << lane;
    }
    if (chosen == 0) continue;
    a_.emit(bits == 8 ? Inst::kIdVpmovm2b : Inst::kIdVpmovm2w, spread, mask(i.getOperand(operand)));
    places_.write_over(Class::mask);  // few are left where others are homes
    a_.vmovups(index, code_.constant_at(code_.constant(numbers)));
    if (!is_first) {
      mask_constant(kScratchMask, chosen);
      a_.k(x86::k(kScratchMask));
    }
    a_.emit(kPermute[bits], whole, index, spread);
    is_first = false;
  }
}

x86::Mem Selector::side_by_side(const llvm::Value* value) {
  const Shape all = shape(value);
  if (all.count == 1) return places_.in_memory(piece(value));
  const std::int32_t at = places_.allocate(form_.bytes * all.count, form_.bytes);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    a_.emit(Inst::kIdVmovups, x86::ptr(x86::rsp, at + static_cast<std::int32_t>(form_.bytes * n)),
            whole(places_.in_register(piece(value, n))));
  }
  return x86::ptr(x86::rsp, at);
}

void Selector::visitExtractElementInst(llvm::ExtractElementInst& i) {
  const auto all = shape_of(i.getVectorOperandType()), to = shape_of(i.getType());
  if (!all || !to) return cannot(i);
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(i.getIndexOperand());
  if (all->is_mask) {
    load_bits(kScratch, i.getVectorOperand());
    if (number) {
      a_.shr(kScratch, number->getZExtValue());
    } else {
      a_.mov(x86::ecx, general(i.getIndexOperand(), 32));
      a_.shr(kScratch, x86::cl);
    }
    const x86::Gp result = define_general(&i, 32);
    a_.mov(result, kScratch.r32());
    return void(a_.and_(result, 1));
  }
  const unsigned bytes = all->element_bits / 8;
  x86::Mem at;
  if (number) {
    const auto lane = static_cast<unsigned>(number->getZExtValue());
    if (lane >= all->lanes) return cannot(i);
    const PieceId source = piece(i.getVectorOperand(), lane * bytes / form_.bytes);
    if (lane * bytes % form_.bytes == 0 && bytes >= 4) {
      const unsigned reg = places_.in_register(source);
      if (to->kind == Class::vector)
        a_.vmovaps(define_vector(&i).xmm(), x86::xmm(reg));
      else if (bytes == 8)
        a_.vmovq(define_general(&i, 64), x86::xmm(reg));
      else
        a_.vmovd(define_general(&i, 32), x86::xmm(reg));
      return;
    }
    if (is_taken_from_register(i, source)) return take_from_register(i, source, lane * bytes % form_.bytes);
    at = places_.in_memory(source, static_cast<std::int32_t>(lane * bytes % form_.bytes));
  } else {
    if ((all->lanes & (all->lanes - 1)) != 0) return cannot(i);
    at = side_by_side(i.getVectorOperand());
    a_.mov(kScratch.r32(), general(i.getIndexOperand(), 32));
    a_.and_(kScratch.r32(), all->lanes - 1);  // any lane will do for a number beyond the last
    if (!at.hasBaseReg()) {
      a_.lea(kScratch2, at);
      at = x86::ptr(kScratch2);
    }
    at.setIndex(kScratch, bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3);
  }
  at.setSize(bytes);
  if (to->kind == Class::general) {
    const x86::Gp result = define_general(&i, bytes == 8 ? 64 : 32);
    bytes >= 4 ? a_.mov(result, at) : a_.movzx(result, at);
  } else if (bytes == 2) {
    a_.movzx(x86::eax, at);
    a_.vmovd(define_vector(&i).xmm(), x86::eax);
  } else {
    const x86::Xmm result = define_vector(&i).xmm();
    bytes == 8 ? a_.vmovsd(result, at) : a_.vmovss(result, at);
  }
}

/// By way of memory many lanes come faster, but the first of them later.
bool Selector::is_taken_from_register(const llvm::ExtractElementInst& i, PieceId source) {
  constexpr unsigned kFew = 4;
  const Piece& piece = analysis_.pieces[source];
  if (piece.place < 0 || piece.is_constant() || (piece.is_stored && piece.home < 0)) return false;
  const auto users = i.getVectorOperand()->users();
  return llvm::count_if(
             users, [](const llvm::User* user) { return llvm::isa<llvm::ExtractElementInst>(user); }) <= kFew;
}

/// The lane that begins so many bytes into a register, by way of the quarter (or half) that it lies in.
void Selector::take_from_register(llvm::ExtractElementInst& i, PieceId source, unsigned at) {
  constexpr unsigned kQuarter = 16;
  const Shape to = shape(&i);
  const unsigned bytes = to.element_bits / 8, number = at % kQuarter / bytes;
  unsigned reg = places_.in_register(source);
  if (at >= kQuarter) {
    if (form_.bytes == 64)
      a_.vextracti32x4(x86::xmm(kScratchVector), x86::zmm(reg), at / kQuarter);
    else
      a_.vextracti128(x86::xmm(kScratchVector), x86::ymm(reg), 1);
    reg = kScratchVector;
  }
  const x86::Xmm from = x86::xmm(reg);
  if (to.kind == Class::vector && bytes >= 4) {
    const unsigned first = number * bytes / 4;  // of the words; what lies behind them does not matter
    a_.vpshufd(define_vector(&i).xmm(), from, first | (first + 1) << 2);
    return;
  }
  const x86::Gp word =
      to.kind == Class::vector ? x86::Gp(x86::eax) : define_general(&i, bytes == 8 ? 64 : 32);
  if (bytes == 8)
    number == 0 ? a_.vmovq(word, from) : a_.vpextrq(word, from, number);
  else if (bytes == 4)
    number == 0 ? a_.vmovd(word, from) : a_.vpextrd(word, from, number);
  else if (bytes == 2)
    a_.vpextrw(word, from, number);
  else
    a_.vpextrb(word, from, number);
  if (to.kind == Class::vector) a_.vmovd(define_vector(&i).xmm(), x86::eax);
}

void Selector::visitInsertElementInst(llvm::InsertElementInst& i) {
  const auto all = shape_of(i.getType());
  if (!all) return cannot(i);
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(2));
  if (all->is_mask) {
    const x86::Gp truth = extended(i.getOperand(1), 64, false);
    load_bits(kScratch, i.getOperand(0));
    if (number)
      a_.mov(x86::ecx, static_cast<std::uint32_t>(number->getZExtValue()));
    else
      a_.mov(x86::ecx, general(i.getOperand(2), 32));
    a_.btr(kScratch, kScratch2);
    a_.mov(kScratch3, truth);
    a_.shl(kScratch3, x86::cl);
    a_.or_(kScratch, kScratch3);
    return define_from_bits(&i);
  }
  insert_lane(i);
}

void Selector::insert_lane(llvm::InsertElementInst& i) {
  const Shape all = shape(&i);
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(2));
  // Which lane of which piece: a mask of all pieces' lanes, of which each takes its own.
  const unsigned bits = all.element_bits;
  if (all.lanes > 64) return cannot(i);
  if (number) {
    a_.mov(kScratch3, std::uint64_t{1} << number->getZExtValue());
  } else {
    a_.mov(x86::ecx, general(i.getOperand(2), 32));
    a_.mov(x86::edx, 1);
    a_.shl(kScratch3, x86::cl);
  }
  const llvm::Value* scalar = i.getOperand(1);
  asmjit::Operand element;
  if (shape(scalar).kind == Class::general)
    element = general(scalar, bits == 64 ? 64 : 32);
  else
    element = vector(scalar).xmm();
  for (unsigned n = 0; n < all.count; ++n) {
    const unsigned result = places_.define_from(piece(&i, n), piece(i.getOperand(0), n));
    if (number && number->getZExtValue() / (512 / bits) != n) continue;
    if (n != 0) {
      a_.mov(kScratch, kScratch3);
      a_.shr(kScratch, all.lanes_before(n));
    }
    a_.kmovq(x86::k(kScratchMask), n == 0 ? kScratch3 : kScratch);
    a_.k(x86::k(kScratchMask));
    broadcast(x86::zmm(result), element, bits);
  }
}

/// All lanes together: of a mask by its bits, of a vector by halves.
bool Selector::reduce(llvm::IntrinsicInst& i) {
  const llvm::Value* value = i.getArgOperand(0);
  const Shape all = shape(value);
  const llvm::Intrinsic::ID id = i.getIntrinsicID();
  if (all.is_mask) {
    load_bits(kScratch, value);
    if (id == llvm::Intrinsic::vector_reduce_or) {
      a_.test(kScratch, kScratch);
      a_.setne(x86::al);
    } else if (id == llvm::Intrinsic::vector_reduce_and) {
      a_.mov(kScratch2, all.lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << all.lanes) - 1);
      a_.cmp(kScratch, kScratch2);
      a_.sete(x86::al);
    } else {
      return false;
    }
    a_.movzx(define_general(&i, 32), x86::al);
    return true;
  }
  const unsigned bits = all.element_bits;
  if ((bits != 32 && bits != 64) || all.bytes < 32 || (all.bytes & (all.bytes - 1)) != 0) return false;
  const bool is_wide = bits == 64;
  const bool is_sum = id == llvm::Intrinsic::vector_reduce_add || id == llvm::Intrinsic::vector_reduce_or ||
                      id == llvm::Intrinsic::vector_reduce_and || id == llvm::Intrinsic::vector_reduce_xor;
  if (is_wide && !is_sum && !form_.mask_registers) return false;
  InstId instruction = 0;
  switch (id) {
    case llvm::Intrinsic::vector_reduce_add:
      instruction = is_wide ? Inst::kIdVpaddq : Inst::kIdVpaddd;
      break;
    case llvm::Intrinsic::vector_reduce_or:
      instruction = logic(llvm::Instruction::Or);
      break;
    case llvm::Intrinsic::vector_reduce_and:
      instruction = logic(llvm::Instruction::And);
      break;
    case llvm::Intrinsic::vector_reduce_xor:
      instruction = logic(llvm::Instruction::Xor);
      break;
    case llvm::Intrinsic::vector_reduce_umax:
      instruction = is_wide ? Inst::kIdVpmaxuq : Inst::kIdVpmaxud;
      break;
    case llvm::Intrinsic::vector_reduce_smax:
      instruction = is_wide ? Inst::kIdVpmaxsq : Inst::kIdVpmaxsd;
      break;
    case llvm::Intrinsic::vector_reduce_smin:
      instruction = is_wide ? Inst::kIdVpminsq : Inst::kIdVpminsd;
      break;
    default:
      instruction = is_wide ? Inst::kIdVpminuq : Inst::kIdVpminud;
  }
  const x86::Vec sum = whole(kScratchVector), other = whole(kScratchVector2);
  a_.emit(Inst::kIdVmovaps, sum, whole(places_.in_register(piece(value))));
  for (unsigned n = 1; n < all.count; ++n) {
    places_.begin_piece();
    a_.emit(instruction, sum, sum, whole(places_.in_register(piece(value, n))));
  }
  if (std::min(all.bytes, form_.bytes) == 64) {
    a_.vextracti64x4(other.ymm(), sum.zmm(), 1);
    a_.emit(instruction, sum.ymm(), sum.ymm(), other.ymm());
  }
  a_.vextracti128(other.xmm(), sum.ymm(), 1);
  a_.emit(instruction, sum.xmm(), sum.xmm(), other.xmm());
  a_.vpshufd(other.xmm(), sum.xmm(), 0x0e);
  a_.emit(instruction, sum.xmm(), sum.xmm(), other.xmm());
  if (is_wide) {
    a_.vmovq(define_general(&i, 64), sum.xmm());
    return true;
  }
  a_.vpshufd(other.xmm(), sum.xmm(), 0x01);
  a_.emit(instruction, sum.xmm(), sum.xmm(), other.xmm());
  a_.vmovd(define_general(&i, 32), sum.xmm());
  return true;
}

/// A whole piece, or sixteen or thirty-two bytes of one.
bool Selector::insert_part(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i), part = shape(i.getArgOperand(1));
  const unsigned at =
      static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(i.getArgOperand(2))->getZExtValue()) *
      part.element_bits / 8;
  if (all.kind != Class::vector || (part.bytes != 16 && part.bytes != 32) || at % part.bytes != 0 ||
      all.bytes % form_.bytes != 0)
    return false;
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const bool is_here = at / form_.bytes == n;
    const unsigned source = is_here ? vector(i.getArgOperand(1)).id() : 0;
    const unsigned to = places_.define_from(piece(&i, n), piece(i.getArgOperand(0), n));
    const unsigned place = at % form_.bytes / part.bytes;
    if (!is_here) continue;
    if (part.bytes == form_.bytes)
      a_.emit(Inst::kIdVmovaps, whole(to), whole(source));
    else if (form_.bytes == 32)
      a_.vinserti128(x86::ymm(to), x86::ymm(to), x86::xmm(source), place);
    else if (part.bytes == 16)
      a_.vinserti32x4(x86::zmm(to), x86::zmm(to), x86::xmm(source), place);
    else
      a_.vinserti64x4(x86::zmm(to), x86::zmm(to), x86::ymm(source), place);
  }
  return true;
}

bool Selector::extract_part(llvm::IntrinsicInst& i) {
  const Shape part = shape(&i);
  if (part.kind != Class::vector || (part.bytes != 16 && part.bytes != 32)) return false;
  const unsigned at =
      static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(i.getArgOperand(1))->getZExtValue()) *
      part.element_bits / 8;
  if (at % part.bytes != 0) return false;
  const unsigned from = places_.in_register(piece(i.getArgOperand(0), at / form_.bytes));
  const unsigned to = define_vector(&i).id(), place = at % form_.bytes / part.bytes;
  if (form_.bytes == 32)
    a_.vextracti128(x86::xmm(to), x86::ymm(from), place);
  else if (part.bytes == 16)
    a_.vextracti32x4(x86::xmm(to), x86::zmm(from), place);
  else
    a_.vextracti64x4(x86::ymm(to), x86::zmm(from), place);
  return true;
}

}  // namespace raddle::jit::baseline
