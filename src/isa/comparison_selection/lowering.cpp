// Lowerings of comparison and selection, their half-precision sisters included.
// Source: PTX ISA "Comparison and Selection Instructions".
#include "base/assert.h"
#include "isa/op.h"
#include "jit/emitter.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

using llvm::CmpInst;

bool is_half(Type t) { return t == Type::f16 || t == Type::bf16; }

CmpInst::Predicate float_predicate(Mod compare) {
  switch (compare) {
    case Mod::eq:
      return CmpInst::FCMP_OEQ;
    case Mod::ne:
      return CmpInst::FCMP_ONE;
    case Mod::lt:
      return CmpInst::FCMP_OLT;
    case Mod::le:
      return CmpInst::FCMP_OLE;
    case Mod::gt:
      return CmpInst::FCMP_OGT;
    case Mod::ge:
      return CmpInst::FCMP_OGE;
    case Mod::equ:
      return CmpInst::FCMP_UEQ;
    case Mod::neu:
      return CmpInst::FCMP_UNE;
    case Mod::ltu:
      return CmpInst::FCMP_ULT;
    case Mod::leu:
      return CmpInst::FCMP_ULE;
    case Mod::gtu:
      return CmpInst::FCMP_UGT;
    case Mod::geu:
      return CmpInst::FCMP_UGE;
    case Mod::num:
      return CmpInst::FCMP_ORD;
    case Mod::nan_:
      return CmpInst::FCMP_UNO;
    default:
      RADDLE_UNREACHABLE("not a float comparison");
  }
}

CmpInst::Predicate integer_predicate(Mod compare, bool is_signed) {
  switch (compare) {
    case Mod::eq:
      return CmpInst::ICMP_EQ;
    case Mod::ne:
      return CmpInst::ICMP_NE;
    case Mod::lt:
      return is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
    case Mod::le:
      return is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
    case Mod::gt:
      return is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
    case Mod::ge:
      return is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
    case Mod::ls:
      return CmpInst::ICMP_ULE;
    case Mod::hs:
      return CmpInst::ICMP_UGE;
    default:
      RADDLE_UNREACHABLE("not an integer comparison");
  }
}

/// The comparison the opcode names, of values of one element type.
Val compare_by_opcode(Emitter& e, Val a, Val b) {
  if (is_half(a.type)) {
    if (e.has(Mod::ftz)) a = flush_always(a), b = flush_always(b);
    a = widen_opaque(a, a.type);
    b = widen_opaque(b, b.type);
  } else if (a.type == Type::f32 && e.has(Mod::ftz)) {
    a = flush(a);
    b = flush(b);
  }
  if (e.has(Mod::lo)) return compare(CmpInst::ICMP_ULT, a, b);
  if (e.has(Mod::hi)) return compare(CmpInst::ICMP_UGT, a, b);
  Mod mod = e.get(ModKind::compare);
  return compare(a.is_float() ? float_predicate(mod) : integer_predicate(mod, a.is_signed()), a, b);
}

/// Joins a comparison with the predicate operand, where the opcode has a Boolean operation.
Val combine(Emitter& e, Val compared, Val c) {
  switch (e.get(ModKind::operation)) {
    case Mod::and_:
      return compared & c;
    case Mod::or_:
      return compared | c;
    case Mod::xor_:
      return compared ^ c;
    default:
      return compared;
  }
}

bool combines(Emitter& e) { return e.get(ModKind::operation) != Mod::none; }

/// What set writes for true: 1.0 or all ones.
Val true_value(Val like, Type t) {
  return isa::is_float(t) ? like.constant_float(t, 1.0) : like.constant(t, ~std::uint64_t{0});
}

void lower_set(Emitter& e) {
  Val holds = compare_by_opcode(e, e.in(1), e.in(2));
  if (combines(e)) holds = combine(e, holds, e.in(3));
  Val yes = true_value(e.in(1), e.type(0));
  e.out(select(holds, yes, yes.constant(yes.type, 0)));
}

/// @param a  the first of the compared operands
void lower_setp(Emitter& e, unsigned a) {
  Val holds = compare_by_opcode(e, e.in(a), e.in(a + 1));
  Val c = combines(e) ? e.in(a + 2) : holds;
  e.out(0, combine(e, holds, c));
  if (a == 2 && e.present(1)) e.out(1, combine(e, ~holds, c));
}

}  // namespace

template <>
void lower<Op::set>(Emitter& e) {
  lower_set(e);
}

template <>
void lower<Op::set_half>(Emitter& e) {
  lower_set(e);
}

template <>
void lower<Op::set_half2>(Emitter& e) {
  Type element_of_input = element_type(e.type(1)), destination = e.type(0);
  Type result =
      destination == Type::f16x2 || destination == Type::bf16x2 ? element_type(destination) : Type::b16;
  Val parts[2];
  for (unsigned i = 0; i < 2; ++i) {
    Val holds =
        compare_by_opcode(e, element(e.in(1), element_of_input, i), element(e.in(2), element_of_input, i));
    if (combines(e)) holds = combine(e, holds, e.in(3));
    Val yes = true_value(e.in(1), result);
    parts[i] = select(holds, yes, yes.constant(result, 0));
  }
  e.out(join(parts, 2, destination));
}

template <>
void lower<Op::setp>(Emitter& e) {
  lower_setp(e, 2);
}

template <>
void lower<Op::setp_half>(Emitter& e) {
  lower_setp(e, 1);
}

template <>
void lower<Op::setp_half2>(Emitter& e) {
  Type t = element_type(e.type());
  for (unsigned i = 0; i < 2; ++i) {
    Val holds = compare_by_opcode(e, element(e.in(2), t, i), element(e.in(3), t, i));
    e.out(i, combines(e) ? combine(e, holds, e.in(4)) : holds);
  }
}

template <>
void lower<Op::selp>(Emitter& e) {
  e.out(select(e.in(3), e.in(1), e.in(2)));
}

template <>
void lower<Op::slct>(Emitter& e) {
  Val c = e.in(3);
  if (c.type == Type::f32 && e.has(Mod::ftz)) c = flush(c);
  e.out(select(ge(c, c.like(0)), e.in(1), e.in(2)));
}

}  // namespace raddle::jit
