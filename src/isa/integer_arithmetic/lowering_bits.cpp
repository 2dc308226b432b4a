// Lowerings of integer arithmetic: counting, searching, bit fields, dot products.
// Source: PTX ISA "Integer Arithmetic Instructions".
#include "isa/op.h"
#include "jit/emitter.h"

namespace raddle::jit {
namespace {

/// 2^count - 1 as type t; all ones for counts of the width and above. `count` is u32.
Val low_ones(Val count, Type t) {
  Val one = count.constant(t, 1);
  return shl_clamped(one, count) - one;
}

/// Shift amount or width as the modes read it: .wrap takes it modulo 32, .clamp stops it at 32.
Val by_mode(Emitter& e, Val amount) {
  return e.has(Mod::wrap) ? amount & amount.like(31) : min(amount, amount.like(32));
}

/// Sign-extends the low `count` bits of a (signed); 0 for count 0. `count` is at most the width.
Val sign_extend_low(Val a, Val count) {
  Val shift = count.like(a.bits()) - count;
  return shr_clamped(shl_clamped(a, shift), shift);
}

/// Sum of products of `count` elements, a's elements being `a_width` bits, b's 8 bits, b's starting at
/// byte b_first.
void dot_product(Emitter& e, unsigned count, unsigned a_width, unsigned b_first) {
  bool a_signed = isa::is_signed(e.type(0)), b_signed = isa::is_signed(e.type(1));
  Type a_type = a_width == 8 ? (a_signed ? Type::s8 : Type::u8) : (a_signed ? Type::s16 : Type::u16);
  Type b_type = b_signed ? Type::s8 : Type::u8;
  Val sum = e.in(3, Type::s32);
  for (unsigned i = 0; i < count; ++i)
    sum =
        sum + element(e.in(1), a_type, i).to(Type::s32) * element(e.in(2), b_type, b_first + i).to(Type::s32);
  e.out(sum.as(Type::b32));
}

/// Where a field begins, or how long it is, at most 255 by the manual. More is cut to 8 bits, but of
/// 64-bit fields it is taken as it stands, as an H200 does.
Val field_bound(Emitter& e, unsigned k) {
  Val bound = e.in(k, Type::u32);
  return e.in(1).bits() == 64 ? bound : bound & bound.like(255);
}

}  // namespace

template <>
void lower<Op::popc>(Emitter& e) {
  e.out(intrinsic(llvm::Intrinsic::ctpop, e.in(1)).to(Type::u32));
}

template <>
void lower<Op::clz>(Emitter& e) {
  e.out(leading_zeros(e.in(1)).to(Type::u32));
}

template <>
void lower<Op::bfind>(Emitter& e) {
  Val a = e.in(1);
  Type unsigned_type = a.bits() == 64 ? Type::u64 : Type::u32;
  Val bits = a.as(unsigned_type);
  if (a.is_signed()) bits = bits ^ shr(a, a.bits() - 1).as(unsigned_type);  // first bit unlike the sign
  Val zeros = leading_zeros(bits).to(Type::u32);
  Val found = e.has(Mod::shiftamt) ? zeros : zeros.like(a.bits() - 1) - zeros;
  e.out(select(eq(bits, bits.like(0)), found.like(-1), found));
}

template <>
void lower<Op::fns>(Emitter& e) {
  Val mask = e.in(1, Type::u32), base = e.in(2, Type::u32), offset = e.in(3, Type::s32);
  Val downwards = lt(offset, offset.like(0));
  Val position = min(base, base.like(31));
  // Upwards from `position`; a downward search is an upward one in the reversed mask.
  Val bits = select(downwards, intrinsic(llvm::Intrinsic::bitreverse, mask), mask);
  Val start = select(downwards, position.like(31) - position, position);
  bits = bits & shift_left(bits.like(-1), start);
  Val distance = select(downwards, -offset, offset).as(Type::u32);
  for (unsigned i = 1; i < 32; ++i)  // drop the bits before the wanted one
    bits = select(gt(distance, distance.like(i)), bits & (bits - bits.like(1)), bits);
  Val found = trailing_zeros(bits);
  found = select(downwards, found.like(31) - found, found);
  Val none = eq(bits, bits.like(0)) | ge(base, base.like(32)) | gt(distance, distance.like(32));
  none = none | (eq(offset, offset.like(0)) & ne(found, base));
  e.out(select(none, found.like(-1), found).as(Type::b32));
}

template <>
void lower<Op::brev>(Emitter& e) {
  e.out(intrinsic(llvm::Intrinsic::bitreverse, e.in(1)));
}

template <>
void lower<Op::bfe>(Emitter& e) {
  Val a = e.in(1), position = field_bound(e, 2), length = field_bound(e, 3);
  Val shifted = shr_clamped(a, position);
  if (a.is_signed()) return e.out(sign_extend_low(shifted, min(length, length.like(a.bits()))));
  e.out(shifted & low_ones(length, a.type));
}

template <>
void lower<Op::bfi>(Emitter& e) {
  Val a = e.in(1), b = e.in(2), position = field_bound(e, 3), length = field_bound(e, 4);
  Val mask = shl_clamped(low_ones(length, a.type), position);
  e.out((b & ~mask) | (shl_clamped(a, position) & mask));
}

template <>
void lower<Op::szext>(Emitter& e) {
  Val a = e.in(1), count = by_mode(e, e.in(2, Type::u32));
  e.out(a.is_signed() ? sign_extend_low(a, count) : a & low_ones(count, a.type));
}

template <>
void lower<Op::bmsk>(Emitter& e) {
  Val first = by_mode(e, e.in(1, Type::u32)), width = by_mode(e, e.in(2, Type::u32));
  e.out(shl_clamped(low_ones(width, Type::b32), first));
}

template <>
void lower<Op::dp4a>(Emitter& e) {
  dot_product(e, 4, 8, 0);
}

template <>
void lower<Op::dp2a>(Emitter& e) {
  dot_product(e, 2, 16, e.has(Mod::hi) ? 2 : 0);
}

}  // namespace raddle::jit
