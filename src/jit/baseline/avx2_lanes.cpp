// Lanes that move without the permutations of AVX-512, and lanes that become narrower.
#include <llvm/IR/Constants.h>

#include "jit/baseline/avx2.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

/// Which lane of two registers each of a result is, those of the second one behind the first's; -1: any.
using LanesOfTwo = llvm::SmallVector<int, 16>;

/// In each half of the registers, pieces of both take turns.
struct Interleaving {
  InstId id;
  unsigned row;           ///< lanes of a half
  unsigned piece, first;  ///< lanes; of a half, where pieces begin
};
constexpr Interleaving kInterleavings[] = {{Inst::kIdVpunpcklwd, 8, 1, 0},  {Inst::kIdVpunpckhwd, 8, 1, 4},
                                           {Inst::kIdVpunpckldq, 4, 1, 0},  {Inst::kIdVpunpckhdq, 4, 1, 2},
                                           {Inst::kIdVpunpcklqdq, 4, 2, 0}, {Inst::kIdVpunpckhqdq, 4, 2, 2}};

bool makes(const Interleaving& way, const LanesOfTwo& wanted) {
  if (wanted.size() != 2 * way.row) return false;
  for (unsigned lane = 0; lane < wanted.size(); ++lane) {
    const unsigned in_row = lane % way.row, piece = in_row / way.piece,
                   number = lane - in_row + way.first + piece / 2 * way.piece + in_row % way.piece +
                            piece % 2 * 2 * way.row;
    if (wanted[lane] >= 0 && wanted[lane] != static_cast<int>(number)) return false;
  }
  return true;
}

/// The operand of VPERM2I128, if halves of the registers are halves of the result.
std::optional<unsigned> halves_of(const LanesOfTwo& wanted) {
  if (wanted.size() != 8) return {};
  unsigned how = 0;
  for (unsigned half = 0; half < 2; ++half) {
    int source = -1;
    for (unsigned word = 0; word < 4; ++word) {
      const int number = wanted[half * 4 + word];
      if (number < 0) continue;
      if (number % 4 != static_cast<int>(word) || (source >= 0 && source != number / 4)) return {};
      source = number / 4;
    }
    how |= static_cast<unsigned>(std::max(0, source)) << 4 * half;
  }
  return how;
}

}  // namespace

x86::Mem Avx2Selector::repeated(std::uint64_t bits) {
  std::string bytes;
  for (unsigned n = 0; n < form_.bytes / sizeof bits; ++n)
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  return constant(bytes);
}

/// From vector registers only.
void Avx2Selector::broadcast(const x86::Vec& to, const asmjit::Operand& element, unsigned bits) {
  if (!x86::Reg::isGp(element)) return Selector::broadcast(to, element, bits);
  const x86::Gp from = element.as<x86::Gp>();
  bits == 64 ? a_.vmovq(to.xmm(), from.r64()) : a_.vmovd(to.xmm(), from.r32());
  Selector::broadcast(to, to.xmm(), bits);
}

// ---- lanes become narrower ----

unsigned Avx2Selector::narrowed(unsigned to, const llvm::Value* value, unsigned first, unsigned count,
                                unsigned bits, Lanes lanes) {
  const Shape all = shape(value);
  if (bits == all.element_bits) return vector(value, first).id();
  const unsigned in_register =
      all.element_bits / (2 * bits);  // pieces, once they are twice as wide as wanted
  unsigned bytes = 0;
  for (unsigned n = 0; n < std::min(count, in_register); ++n) bytes += all.bytes_of(first + n) / in_register;
  const unsigned low = narrowed(to, value, first, std::min(count, in_register), 2 * bits, lanes);
  const unsigned other = in_register == 4 ? kScratchVector : kScratchVector3;
  const unsigned high =
      count > in_register ? narrowed(other, value, first + in_register, count - in_register, 2 * bits, lanes)
                          : low;
  halve(to, low, high, bytes, 2 * bits, lanes);
  return to;
}

/// The host packs the halves of its registers each for itself.
void Avx2Selector::halve(unsigned to, unsigned low, unsigned high, unsigned bytes, unsigned bits,
                         Lanes lanes) {
  const x86::Vec result = vector_register(to, bytes), first = vector_register(low, bytes),
                 second = vector_register(high, bytes);
  if (bits == 64) {
    a_.emit(Inst::kIdVshufps, result, first, second, asmjit::Imm(lanes == Lanes::upper_halves ? 0xdd : 0x88));
  } else if (lanes == Lanes::truths) {
    a_.emit(bits == 32 ? Inst::kIdVpackssdw : Inst::kIdVpacksswb, result, first, second);
  } else {
    const x86::Mem lower = repeated(bits == 32 ? 0x0000ffff0000ffffu : 0x00ff00ff00ff00ffu);
    const x86::Vec other = high == low ? result : vector_register(kScratchVector2, bytes);
    a_.emit(Inst::kIdVpand, result, first, lower);
    if (high != low) a_.emit(Inst::kIdVpand, other, second, lower);
    a_.emit(bits == 32 ? Inst::kIdVpackusdw : Inst::kIdVpackuswb, result, result, other);
  }
  if (bytes > 16) a_.vpermq(x86::ymm(to), x86::ymm(to), 0xd8);
}

// ---- permutations ----

Avx2Selector::Given Avx2Selector::sources_of(llvm::ShuffleVectorInst& i, unsigned n) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  Given given;
  for (unsigned lane = 0; lane < to.lanes_of(n); ++lane) {
    const int number = i.getShuffleMask()[to.lanes_before(n) + lane];
    if (number < 0) continue;
    const unsigned in_operand = static_cast<unsigned>(number) % from.lanes;
    const llvm::Value* operand = i.getOperand(static_cast<unsigned>(number) / from.lanes);
    if (llvm::isa<llvm::UndefValue>(operand)) continue;
    given[piece(operand, in_operand / from.lanes_in_piece())].emplace_back(
        lane, in_operand % from.lanes_in_piece());
  }
  return given;
}

/// Lanes of 64 bits are two words each, and those of 16 half of one where both halves go together.
bool Avx2Selector::become_words(Given& given, unsigned bits) {
  if (bits == 32) return true;
  if (bits < 16) return false;
  Given words;
  unsigned taken = 0;
  for (const auto& [source, lanes] : given) {
    auto& of_source = words[source];
    for (const auto& [lane, number] : lanes) {
      if (bits == 64) {
        for (unsigned word = 0; word < 2; ++word) of_source.emplace_back(lane * 2 + word, number * 2 + word);
        continue;
      }
      if (lane % 2 != number % 2) return false;
      const std::pair word(lane / 2, number / 2);
      if (!of_source.empty() && of_source.back() == word) continue;
      if (taken >> word.first & 1) return false;  // halves of two words
      taken |= 1u << word.first;
      of_source.push_back(word);
    }
  }
  given = std::move(words);
  return true;
}

void Avx2Selector::permute(llvm::ShuffleVectorInst& i) {
  const Shape to = shape(&i);
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const unsigned result = define_vector(&i, n).id();
    Given given = sources_of(i, n);
    if (become_words(given, to.element_bits))
      permute_words(given, result);
    else if (to.element_bits != 16 || given.size() != 2 || !permute_two_at_once(given, 16, result))
      permute_bytes(given, to.element_bits / 8, result);
  }
}

/// Each source gives its lanes to a register of all.
void Avx2Selector::permute_words(const Given& words, unsigned to) {
  if (words.size() == 2 && permute_two_at_once(words, 8, to)) return;
  bool is_first = true;
  for (const auto& [source, lanes] : words) {
    std::array<int, 8> numbers;
    numbers.fill(-1);
    unsigned chosen = 0;
    for (const auto& [lane, number] : lanes) {
      numbers[lane] = static_cast<int>(number);
      chosen |= 1u << lane;
    }
    const unsigned reg = places_.in_register(source);
    const unsigned made = permuted(reg, numbers, is_first ? to : kScratchVector);
    if (!is_first)
      a_.vpblendd(x86::ymm(to), x86::ymm(to), x86::ymm(made), chosen);
    else if (made != to)
      a_.vmovaps(x86::ymm(to), x86::ymm(made));
    is_first = false;
  }
}

/// Where there is an instruction for it.
bool Avx2Selector::permute_two_at_once(const Given& given, unsigned lanes, unsigned to) {
  const auto& [first, first_lanes] = *given.begin();
  const auto& [second, second_lanes] = *given.rbegin();
  for (const bool is_swapped : {false, true}) {
    LanesOfTwo wanted(lanes, -1);
    for (const bool other : {false, true})
      for (const auto& [lane, number] : other == is_swapped ? first_lanes : second_lanes)
        wanted[lane] = static_cast<int>(number + (other ? lanes : 0));
    const auto* way = llvm::find_if(kInterleavings, [&](const auto& one) { return makes(one, wanted); });
    const auto halves = halves_of(wanted);
    if (way == std::end(kInterleavings) && !halves) continue;
    const auto one = x86::ymm(places_.in_register(is_swapped ? second : first));
    const auto two = x86::ymm(places_.in_register(is_swapped ? first : second));
    if (way != std::end(kInterleavings))
      a_.emit(way->id, x86::ymm(to), one, two);
    else
      a_.vperm2i128(x86::ymm(to), one, two, *halves);
    return true;
  }
  return false;
}

unsigned Avx2Selector::permuted(unsigned from, llvm::ArrayRef<int> numbers, unsigned to) {
  bool stay = true, is_same_in_halves = true, by_pairs = true;
  std::array<int, 4> in_half{-1, -1, -1, -1}, pairs{-1, -1, -1, -1};
  for (int lane = 0; lane < 8; ++lane) {
    const int number = numbers[static_cast<std::size_t>(lane)];
    if (number < 0) continue;
    stay &= number == lane;
    int& pair = pairs[static_cast<std::size_t>(lane / 2)];
    by_pairs &= number % 2 == lane % 2 && (pair < 0 || pair == number / 2);
    pair = number / 2;
    int& known = in_half[static_cast<std::size_t>(lane % 4)];
    is_same_in_halves &= number / 4 == lane / 4 && (known < 0 || known == number % 4);
    known = number % 4;
  }
  if (stay) return from;
  const auto four_of_four = [](const std::array<int, 4>& lanes) {
    unsigned how = 0;
    for (unsigned lane = 0; lane < 4; ++lane)
      how |= static_cast<unsigned>(std::max(0, lanes[lane])) << 2 * lane;
    return how;
  };
  if (is_same_in_halves || by_pairs) {
    is_same_in_halves ? a_.vpshufd(x86::ymm(to), x86::ymm(from), four_of_four(in_half))
                      : a_.vpermq(x86::ymm(to), x86::ymm(from), four_of_four(pairs));
    return to;
  }
  std::string index(32, '\0');
  for (std::size_t lane = 0; lane < 8; ++lane)
    index[4 * lane] = static_cast<char>(std::max(0, numbers[lane]));
  a_.vmovups(x86::ymm(to), constant(index));
  a_.vpermd(x86::ymm(to), x86::ymm(to), x86::ymm(from));
  return to;
}

/// Each half of a source in both halves of a register, whose bytes go where they belong, zeros elsewhere.
void Avx2Selector::permute_bytes(const Given& given, unsigned bytes, unsigned to) {
  bool is_first = true;
  for (const auto& [source, lanes] : given)
    for (unsigned half = 0; half < 2; ++half) {
      std::string index(32, '\x80');
      bool is_read = false;
      for (const auto& [lane, number] : lanes) {
        if (number * bytes / 16 != half) continue;
        is_read = true;
        for (unsigned byte = 0; byte < bytes; ++byte)
          index[lane * bytes + byte] = static_cast<char>(number * bytes % 16 + byte);
      }
      if (!is_read) continue;
      const unsigned reg = places_.in_register(source);
      const x86::Ymm all = x86::ymm(to), moved = is_first ? all : x86::ymm(kScratchVector);
      a_.vpermq(moved, x86::ymm(reg), half == 0 ? 0x44 : 0xee);
      a_.vpshufb(moved, moved, constant(index));
      if (!is_first) a_.vpor(all, all, moved);
      is_first = false;
    }
}

/// Of 32 or 64 bits in registers, else by way of memory.
void Avx2Selector::insert_lane(llvm::InsertElementInst& i) {
  const Shape all = shape(&i);
  const unsigned bits = all.element_bits;
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(2));
  const llvm::Value* scalar = i.getOperand(1);
  const bool is_general = shape(scalar).kind == Class::general;
  const x86::Reg element =
      is_general ? x86::Reg(general(scalar, bits == 64 ? 64 : 32)) : x86::Reg(vector(scalar).xmm());
  if (number && bits >= 32) {
    broadcast(x86::ymm(kScratchVector), element, bits);
    const auto lane = static_cast<unsigned>(number->getZExtValue());
    for (unsigned n = 0; n < all.count; ++n) {
      places_.begin_piece();
      const unsigned to = places_.define_from(piece(&i, n), piece(i.getOperand(0), n));
      if (lane / all.lanes_in_piece() != n) continue;
      const unsigned words = bits / 32, first = lane % all.lanes_in_piece() * words;
      a_.vpblendd(x86::ymm(to), x86::ymm(to), x86::ymm(kScratchVector), ((1u << words) - 1) << first);
    }
    return;
  }
  if ((all.lanes & (all.lanes - 1)) != 0) return cannot(i);
  const x86::Mem area = x86::ptr(x86::rsp, places_.allocate(form_.bytes * all.count, form_.bytes));
  const auto part = [&](unsigned n) {
    x86::Mem at = area;
    at.addOffset(std::int64_t{form_.bytes} * n);
    return at;
  };
  if (!is_general)
    bits == 64 ? a_.vmovq(kScratch2, element.as<x86::Xmm>())
               : a_.vmovd(kScratch2.r32(), element.as<x86::Xmm>());
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    a_.emit(Inst::kIdVmovups, part(n), whole(places_.in_register(piece(i.getOperand(0), n))));
  }
  if (number)
    a_.mov(x86::eax, static_cast<std::uint32_t>(number->getZExtValue()));
  else
    a_.mov(x86::eax, general(i.getOperand(2), 32));
  a_.and_(x86::eax, all.lanes - 1);
  x86::Mem at = area;
  at.setIndex(kScratch, llvm::Log2_32(bits / 8));
  const x86::Gp value = is_general ? element.as<x86::Gp>() : x86::Gp(kScratch2);
  at.setSize(bits / 8);
  bits == 8    ? a_.mov(at, value.r8())
  : bits == 16 ? a_.mov(at, value.r16())
               : a_.mov(at, general_register(value.id(), bits));
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    a_.emit(Inst::kIdVmovups, whole(define_vector(&i, n).id()), part(n));
  }
}

}  // namespace raddle::jit::baseline
