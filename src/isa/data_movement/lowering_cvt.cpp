// Lowerings of cvt. Every conversion goes through f32 or f64: widen exactly, round once, saturate, flush.
// Source: PTX ISA "cvt", "cvt.pack".
#include "base/assert.h"
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

bool is_narrow(Type t) { return t == Type::f16 || t == Type::bf16; }
Mod integer_rounding(Emitter& e) {
  for (Mod m : {Mod::rni, Mod::rzi, Mod::rmi, Mod::rpi})
    if (e.has(m)) return m;
  return Mod::none;
}
Mod float_rounding(Emitter& e) {
  for (Mod m : {Mod::rz, Mod::rm, Mod::rp})
    if (e.has(m)) return m;
  return Mod::rn;
}

std::int64_t lowest(Type t) { return isa::is_signed(t) ? -(std::int64_t{1} << (isa::bit_size(t) - 1)) : 0; }
std::uint64_t highest(Type t) {
  return ~std::uint64_t{0} >> (64 - isa::bit_size(t) + (isa::is_signed(t) ? 1 : 0));
}

/// cvt between integers; .sat clamps to the destination's range.
Val integer_to_integer(Val a, Type to, bool saturates) {
  if (!saturates) return a.to(to);
  if (a.is_signed() && lowest(to) > lowest(a.type)) a = max(a, a.like(lowest(to)));
  bool fits_above = highest(to) >= highest(a.type);
  return (fits_above ? a : min(a, a.like(static_cast<std::int64_t>(highest(to))))).to(to);
}

/// Float to integer: rounds, clamps, and gives NaN its value: 0, or 2^(bits-1) when 64 bits are involved.
Val float_to_integer(Emitter& e, Val a, Type to) {
  bool wide = a.type == Type::f64 || isa::bit_size(to) == 64;
  if (is_narrow(a.type)) a = widen_opaque(a, a.type);
  a = round_to_integral(a, integer_rounding(e));
  Val result = float_to_int(a, to);
  return wide ? select(is_nan(a), result.constant(to, std::uint64_t{1} << (isa::bit_size(to) - 1)), result)
              : result;
}

/// Narrows the value of an integer of any width to 53 significant bits, rounding to odd.
Val integer_to_odd_f64(Val a) {
  if (a.bits() <= 32) return int_to_float(a, Type::f64);
  Val low = a & a.like(0xfff), large = a.is_signed()
                                           ? gt(max(a, -a).as(Type::u64), a.constant(Type::u64, 1ull << 52))
                                           : gt(a, a.like(1ll << 52));
  Val sticky = shl(ne(low, low.like(0)).to(a.type), 11);
  return int_to_float(select(large, (a & a.like(~0xfffll)) | sticky, a), Type::f64);
}

Val integer_to_float(Emitter& e, Val a, Type to) {
  Mod mode = float_rounding(e);
  if (!is_narrow(to)) return int_to_float_rounded(a, to, mode);
  if (to == Type::bf16) return narrow_from_f32(narrow_to_odd_f32(integer_to_odd_f64(a)), to, mode);
  if (a.bits() >= 32) {  // far beyond f16's range the value does not matter; all others are exact in f32
    a = min(a, a.like(1 << 20));
    if (a.is_signed()) a = max(a, a.like(-(1 << 20)));
    a = a.to(Type::s32);
  }
  return narrow_from_f32(int_to_float(a, Type::f32), to, mode);
}

/// Float to float of another format (or the same, possibly rounded to an integral value).
Val float_to_float(Emitter& e, Val a, Type to) {
  Type from = a.type;
  Mod integral = integer_rounding(e);
  if (is_narrow(from)) a = integral == Mod::none ? widen_to_f32(a, from) : widen_opaque(a, from);
  if (integral != Mod::none) a = round_to_integral(a, integral);
  if (from == to) return is_narrow(to) ? narrow_from_f32(a, to, Mod::rn) : a;
  if (to == Type::f64) return a.to_float(Type::f64);
  if (to == Type::f32) return a.type == Type::f64 ? narrow_to_f32(a, float_rounding(e)) : a;
  return narrow_from_f32(a.type == Type::f64 ? narrow_to_odd_f32(a) : a, to, float_rounding(e));
}

Val relu(Val a) { return select(is_nan(a) | gt(a, a.like(0)), a, a.like(0)); }

/// Largest finite value, as f32.
double largest(Type t) { return t == Type::f16 ? 65504.0 : t == Type::bf16 ? 0x1.fep127 : 0x1.ffcp127; }

/// .relu and .satfinite on the f32 value before it is narrowed to `to`.
Val prepare(Emitter& e, Val a, Type to) {
  if (e.has(Mod::relu)) a = relu(a);
  if (!e.has(Mod::satfinite)) return a;
  Val limit = a.like_float(largest(to));
  a = select(gt(a, limit), limit, a);
  return select(lt(a, -limit), -limit, a);
}

Val narrow(Emitter& e, Val a, Type to) { return narrow_from_f32(prepare(e, a, to), to, float_rounding(e)); }

/// tf32: f32 with 13 fraction bits dropped; .rna rounds ties away from zero.
Val to_tf32(Emitter& e, Val a) {
  a = prepare(e, a, Type::tf32);
  Val bits = a.as(Type::b32), half = bits.like(0x1000);
  Val rounded = bits;
  if (e.has(Mod::rna)) rounded = bits + half;
  if (e.has(Mod::rn)) rounded = bits + half.like(0xfff) + (shr(bits, 13) & bits.like(1));
  rounded = rounded & bits.like(~0x1fffll);
  return select(is_nan(a), bits.like(0x7fffffff), rounded);
}

/// cvt.pack: clamps s32 to an integer of `bits` bits.
Val clamp_to(Val a, unsigned bits, bool is_signed) {
  std::int64_t low = is_signed ? -(1ll << (bits - 1)) : 0, high = (1ll << (is_signed ? bits - 1 : bits)) - 1;
  return min(max(a, a.like(low)), a.like(high)) & a.like((1ll << bits) - 1);
}

}  // namespace

template <>
void lower<Op::cvt>(Emitter& e) {
  Type to = e.type(0), from = e.type(1);
  Val a = e.in(1);
  if (a.type == Type::f32 && e.has(Mod::ftz)) a = flush_always(a);
  if (!isa::is_float(from)) {
    if (!isa::is_float(to)) return e.out(integer_to_integer(a, to, e.has(Mod::sat)));
    Val d = integer_to_float(e, a, to);
    if (e.has(Mod::sat)) d = is_narrow(to) ? saturate_narrow(d) : saturate(d);
    return e.out(d);
  }
  if (!isa::is_float(to)) return e.out(float_to_integer(e, a, to));
  if (e.has(Mod::relu) || e.has(Mod::satfinite)) a = prepare(e, a, to);
  Val d = float_to_float(e, a, to);
  if (e.has(Mod::sat)) d = is_narrow(to) ? saturate_narrow(d) : saturate(d);
  if (e.has(Mod::ftz) && to == Type::f32) d = flush_always(d);  // .ftz concerns f32 alone
  e.out(d);
}

template <>
void lower<Op::cvt_tf32>(Emitter& e) {
  e.out(to_tf32(e, e.in(1)));
}

template <>
void lower<Op::cvt_x2>(Emitter& e) {
  Type t = e.type(0), half = element_type(t);
  e.out(join({narrow(e, e.in(2), half), narrow(e, e.in(1), half)}, t));
}

template <>
void lower<Op::cvt_f8>(Emitter& e) {
  Type to = e.type(0), from = e.type(1), byte = element_type(to == Type::f16x2 ? from : to);
  if (to == Type::f16x2) {
    auto widened = [&](unsigned k) {
      Val part = element(e.in(1, Type::b16), Type::b8, k);
      Val half = narrow_from_f32(widen_fp8_to_f32(part, byte), Type::f16, Mod::rn);  // exact
      return e.has(Mod::relu) ? relu_narrow(half) : half;
    };
    return e.out(join({widened(0), widened(1)}, to));
  }
  auto source = [&](unsigned k) {  // 0: the low byte's
    return from == Type::f32 ? e.in(2 - k) : widen_to_f32(element(e.in(1), Type::f16, k), Type::f16);
  };
  auto narrowed = [&](unsigned k) {
    Val x = source(k);
    return narrow_to_fp8(e.has(Mod::relu) ? relu(x) : x, byte);
  };
  e.out(join({narrowed(0), narrowed(1)}, Type::b16).as(to));
}

template <>
void lower<Op::cvt_pack>(Emitter& e) {
  Type t = e.type(0);
  unsigned bits = isa::bit_size(t);
  Val a = clamp_to(e.in(1, Type::s32), bits, isa::is_signed(t)),
      b = clamp_to(e.in(2, Type::s32), bits, isa::is_signed(t));
  Val pair = (shl(a, bits) | b).as(Type::b32);
  // The narrow forms shift c up and put the pair below it.
  e.out(bits == 16 ? pair : shl(e.in(3, Type::b32), 2 * bits) | pair);
}

}  // namespace raddle::jit
