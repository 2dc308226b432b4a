// Lowerings of the value-moving instructions: mov (with packing), prmt, createpolicy. Conversions:
// lowering_cvt.cpp. Source: PTX ISA "Data Movement and Conversion Instructions".
#include <array>

#include "base/assert.h"
#include "isa/op.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

/// mov.b64 {a, b}, c: the parts of c, low bits first.
void unpack(Emitter& e, Val whole, unsigned count) {
  std::vector<Val> parts;
  Type t = isa::bits_type(whole.bits() / count);
  for (unsigned i = 0; i < count; ++i) parts.push_back(element(whole, t, i));
  e.out_elements(0, std::move(parts));
}

bool is_vector_operand(Emitter& e, unsigned k) { return e.operand(k).kind == ptx::Operand::Kind::vector; }

/// Source byte (0..7 of {b, a}) for destination byte i when the modes other than the default have selector n
/// (0..3).
unsigned byte_of_mode(Mod mode, unsigned n, unsigned i) {
  switch (mode) {
    case Mod::f4e:
      return n + i;
    case Mod::b4e:
      return (n - i) & 7;
    case Mod::rc8:
      return n;
    case Mod::ecl:
      return i > n ? i : n;
    case Mod::ecr:
      return i < n ? i : n;
    case Mod::rc16:
      return (n & 1) * 2 + (i & 1);
    default:
      RADDLE_UNREACHABLE("not a prmt mode");
  }
}

/// The default mode's selector (four nibbles) that does what `mode` does with selector n.
unsigned nibbles_of_mode(Mod mode, unsigned n) {
  unsigned nibbles = 0;
  for (unsigned i = 0; i < 4; ++i) nibbles |= byte_of_mode(mode, n, i) << (4 * i);
  return nibbles;
}

/// prmt with a constant selector: one byte shuffle, and a sign fill where a nibble's bit 3 asks for it.
Val permute_constant(Val a, Val b, unsigned nibbles) {
  unsigned lanes = a.lanes(), total = std::max(lanes, 1u) * 4;
  Val x = unpack_all(a, Type::s8), y = unpack_all(b, Type::s8);
  llvm::SmallVector<int, 128> order;
  llvm::SmallVector<llvm::Constant*, 128> fills;
  bool any_fill = false;
  for (unsigned i = 0; i < total; ++i) {
    unsigned nibble = nibbles >> (4 * (i % 4)) & 15, byte = nibble & 7;
    order.push_back(static_cast<int>((byte & 4 ? total : 0) + i / 4 * 4 + (byte & 3)));
    fills.push_back(a.ir->getInt1(nibble >> 3));
    any_fill |= (nibble >> 3) != 0;
  }
  Val bytes{a.ir, a.ir->CreateShuffleVector(x.v, y.v, order), Type::s8};
  if (any_fill) bytes = select(Val{a.ir, llvm::ConstantVector::get(fills), Type::pred}, shr(bytes, 7), bytes);
  return pack_all(bytes, Type::b32, lanes);
}

/// prmt with selectors that differ by lane: four shifts of the 64-bit {b, a}.
Val permute_variable(Val a, Val b, Val nibbles) {
  Val both = join({a, b}, Type::u64), result = a.constant(Type::u32, 0);
  for (unsigned i = 0; i < 4; ++i) {
    Val nibble = shr(nibbles, 4 * i);
    Val distance = shl(nibble & nibble.like(7), 3).to(Type::u64);
    Val byte = shift_right(both, distance).to(Type::s8);
    Val fill = ne(nibble & nibble.like(8), nibble.like(0));
    result = result | shl(select(fill, shr(byte, 7), byte).as(Type::u8).to(Type::u32), 8 * i);
  }
  return result.as(Type::b32);
}

/// A cache policy carries no meaning on a CPU: any fixed handle.
void make_policy(Emitter& e) {
  Val policy{&e.ir, e.ir.getInt64(0), Type::b64};
  for (const Val& input : e.inputs)
    if (input.v && input.is_vector()) policy = input.constant(Type::b64, 0);
  e.out(policy);
}

}  // namespace

template <>
void lower<Op::mov>(Emitter& e) {
  Type t = e.type();
  bool packs = is_vector_operand(e, 1);
  if (packs && is_vector_operand(e, 0)) return e.out_elements(0, e.in_elements(1));
  Val value =
      packs ? join(e.in_elements(1).data(), static_cast<unsigned>(e.in_elements(1).size()), t) : e.in(1);
  if (is_vector_operand(e, 0)) return unpack(e, value, e.operand(0).count);
  e.out(value);
}

template <>
void lower<Op::prmt>(Emitter& e) {
  Val a = e.in(1, Type::u32), b = e.in(2, Type::u32), selector = e.in(3, Type::u32);
  Mod mode = e.get(ModKind::permute);
  std::uint64_t constant;
  if (is_constant(selector, constant)) {
    unsigned bits = static_cast<unsigned>(constant);
    return e.out(permute_constant(a, b, mode == Mod::none ? bits & 0xffff : nibbles_of_mode(mode, bits & 3)));
  }
  if (mode != Mod::none) {
    Val n = selector & selector.like(3);
    selector = n.like(nibbles_of_mode(mode, 0));
    for (unsigned i = 1; i < 4; ++i)
      selector = select(eq(n, n.like(i)), n.like(nibbles_of_mode(mode, i)), selector);
  }
  e.out(permute_variable(a, b, selector));
}

template <>
void lower<Op::createpolicy_range>(Emitter& e) {
  make_policy(e);
}

template <>
void lower<Op::createpolicy_fractional>(Emitter& e) {
  make_policy(e);
}

template <>
void lower<Op::createpolicy_cvt>(Emitter& e) {
  make_policy(e);
}

}  // namespace raddle::jit
