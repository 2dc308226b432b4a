// The SIMD language over IRBuilder: see value.h.
#include "jit/value.h"

#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"

namespace raddle::jit {
namespace {
using llvm::CmpInst;

Val with(Val like, llvm::Value* v) { return {like.ir, v, like.type}; }
Val predicate(Val like, llvm::Value* v) { return {like.ir, v, Type::pred}; }

/// Whether a's values are computed with as floats.
bool computes_as_float(Val a) {
  RADDLE_ASSERT(a.type != Type::f16 && a.type != Type::bf16,
                "f16 and bf16 are bits here: widen_to_f32 first");
  return a.is_float();
}

/// LLVM's half with as many lanes as `like`: only for the processor's own conversions.
llvm::Type* half_type(Val like) {
  auto* half = llvm::Type::getHalfTy(like.ir->getContext());
  return like.is_vector() ? llvm::cast<llvm::Type>(llvm::FixedVectorType::get(half, like.lanes())) : half;
}

llvm::Constant* splat(llvm::Constant* c, unsigned lanes) {
  return lanes == 0 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), c);
}
}  // namespace

llvm::Type* llvm_type(llvm::LLVMContext& context, Type t, unsigned lanes) {
  llvm::Type* scalar = nullptr;
  switch (t) {
    case Type::f32:
      scalar = llvm::Type::getFloatTy(context);
      break;
    case Type::f64:
      scalar = llvm::Type::getDoubleTy(context);
      break;
    default:
      scalar = llvm::Type::getIntNTy(context, isa::bit_size(t));
      break;
  }
  return lanes == 0 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

unsigned Val::lanes() const {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? vector->getNumElements() : 0;
}

Val Val::constant(Type t, std::uint64_t value) const {
  auto* type = llvm_type(ir->getContext(), t, 0);
  llvm::Constant* c;
  if (type->isFloatingPointTy()) {
    llvm::APInt bits(isa::bit_size(t), value);
    c = llvm::ConstantFP::get(ir->getContext(), llvm::APFloat(type->getFltSemantics(), bits));
  } else {
    c = llvm::ConstantInt::get(ir->getContext(), llvm::APInt(isa::bit_size(t), value));
  }
  return {ir, splat(c, lanes()), t};
}

Val Val::constant_float(Type t, double value) const {
  if (t == Type::f16 || t == Type::bf16) {
    llvm::APFloat narrow(value);
    bool inexact = false;
    narrow.convert(t == Type::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                   llvm::APFloat::rmNearestTiesToEven, &inexact);
    return constant(t, narrow.bitcastToAPInt().getZExtValue());
  }
  auto* c = llvm::ConstantFP::get(llvm_type(ir->getContext(), t, 0), value);
  return {ir, splat(llvm::cast<llvm::Constant>(c), lanes()), t};
}

Val Val::like(std::int64_t value) const {
  return computes_as_float(*this) ? like_float(static_cast<double>(value))
                                  : constant(type, static_cast<std::uint64_t>(value));
}
Val Val::like_float(double value) const { return constant_float(type, value); }

Val Val::as(Type t) const {
  if (t == type) return *this;
  RADDLE_ASSERT(isa::bit_size(t) == bits(), "Val::as between sizes");
  auto* target = llvm_type(ir->getContext(), t, lanes());
  return {ir, target == v->getType() ? v : ir->CreateBitCast(v, target), t};
}

Val Val::to(Type t) const {
  RADDLE_ASSERT(!is_float() && !isa::is_float(t), "Val::to is for integers");
  auto* target = llvm_type(ir->getContext(), t, lanes());
  unsigned width = isa::bit_size(t);
  if (width == bits()) return {ir, v, t};
  if (width < bits()) return {ir, ir->CreateTrunc(v, target), t};
  return {ir, is_signed() ? ir->CreateSExt(v, target) : ir->CreateZExt(v, target), t};
}

Val Val::to_float(Type t) const {
  RADDLE_ASSERT(t != Type::bf16 && type != Type::bf16, "bf16 converts by vector_math");
  if (t == type) return *this;
  if (t == Type::f16)
    return Val{
        ir,
        ir->CreateBitCast(ir->CreateFPTrunc(v, half_type(*this)), llvm_type(ir->getContext(), t, lanes())),
        t};
  auto* target = llvm_type(ir->getContext(), t, lanes());
  if (type == Type::f16) {
    // The fence: LLVM would compare halves where their floats are compared, and processors without arithmetic
    // of halves do that lane by lane.
    llvm::Value* const wide = ir->CreateFPExt(ir->CreateBitCast(v, half_type(*this)), target);
    return {ir, ir->CreateArithmeticFence(wide, target), t};
  }
  return {ir, isa::bit_size(t) < bits() ? ir->CreateFPTrunc(v, target) : ir->CreateFPExt(v, target), t};
}

Val operator+(Val a, Val b) {
  return with(a, computes_as_float(a) ? a.ir->CreateFAdd(a.v, b.v) : a.ir->CreateAdd(a.v, b.v));
}
Val operator-(Val a, Val b) {
  return with(a, computes_as_float(a) ? a.ir->CreateFSub(a.v, b.v) : a.ir->CreateSub(a.v, b.v));
}
Val operator*(Val a, Val b) {
  return with(a, computes_as_float(a) ? a.ir->CreateFMul(a.v, b.v) : a.ir->CreateMul(a.v, b.v));
}
Val operator&(Val a, Val b) { return with(a, a.ir->CreateAnd(a.v, b.v)); }
Val operator|(Val a, Val b) { return with(a, a.ir->CreateOr(a.v, b.v)); }
Val operator^(Val a, Val b) { return with(a, a.ir->CreateXor(a.v, b.v)); }
Val operator~(Val a) { return with(a, a.ir->CreateNot(a.v)); }
Val operator-(Val a) { return with(a, computes_as_float(a) ? a.ir->CreateFNeg(a.v) : a.ir->CreateNeg(a.v)); }

Val shift_left(Val a, Val amount) { return with(a, a.ir->CreateShl(a.v, amount.v)); }
Val shift_right(Val a, Val amount) {
  return with(a, a.is_signed() ? a.ir->CreateAShr(a.v, amount.v) : a.ir->CreateLShr(a.v, amount.v));
}

Val shl_clamped(Val a, Val amount) {
  Val width = amount.like(a.bits());
  Val in_range = lt(amount.as(Type::u32), width.as(Type::u32));
  Val safe = select(in_range, amount, amount.like(0)).as(Type::u32).to(isa::bits_type(a.bits()));
  return select(in_range, shift_left(a, safe), a.like(0));
}

Val shr_clamped(Val a, Val amount) {
  Val limit = amount.constant(Type::u32, a.bits() - 1);
  Val unsigned_amount = amount.as(Type::u32);
  Val safe = min(unsigned_amount, limit).to(isa::bits_type(a.bits()));
  Val shifted = shift_right(a, safe);
  return a.is_signed() ? shifted : select(gt(unsigned_amount, limit), a.like(0), shifted);
}

Val compare(CmpInst::Predicate p, Val a, Val b) {
  return predicate(a, computes_as_float(a) ? a.ir->CreateFCmp(p, a.v, b.v) : a.ir->CreateICmp(p, a.v, b.v));
}
namespace {
Val compare_by(Val a, Val b, CmpInst::Predicate f, CmpInst::Predicate s, CmpInst::Predicate u) {
  return compare(computes_as_float(a) ? f : a.is_signed() ? s : u, a, b);
}
}  // namespace
Val eq(Val a, Val b) { return compare_by(a, b, CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ); }
Val ne(Val a, Val b) { return compare_by(a, b, CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE); }
Val lt(Val a, Val b) { return compare_by(a, b, CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT); }
Val le(Val a, Val b) { return compare_by(a, b, CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE); }
Val gt(Val a, Val b) { return lt(b, a); }
Val ge(Val a, Val b) { return le(b, a); }
Val is_nan(Val a) { return compare(CmpInst::FCMP_UNO, a, a); }

Val select(Val condition, Val if_true, Val if_false) {
  return with(if_true, if_true.ir->CreateSelect(condition.v, if_true.v, if_false.v));
}

Val min(Val a, Val b) {
  return intrinsic(a.is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
}
Val max(Val a, Val b) {
  return intrinsic(a.is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
}

Val intrinsic(llvm::Intrinsic::ID id, Val a) {
  return with(a, a.ir->CreateIntrinsic(id, {a.v->getType()}, {a.v}));
}
Val intrinsic(llvm::Intrinsic::ID id, Val a, Val b) {
  return with(a, a.ir->CreateIntrinsic(id, {a.v->getType()}, {a.v, b.v}));
}
Val intrinsic(llvm::Intrinsic::ID id, Val a, Val b, Val c) {
  return with(a, a.ir->CreateIntrinsic(id, {a.v->getType()}, {a.v, b.v, c.v}));
}

namespace {
Val count_zeros(llvm::Intrinsic::ID id, Val a) {
  return with(a, a.ir->CreateIntrinsic(id, {a.v->getType()}, {a.v, a.ir->getFalse()}));
}
}  // namespace
Val leading_zeros(Val a) { return count_zeros(llvm::Intrinsic::ctlz, a); }
Val trailing_zeros(Val a) { return count_zeros(llvm::Intrinsic::cttz, a); }

Val fma(Val a, Val b, Val c) { return intrinsic(llvm::Intrinsic::fma, a, b, c); }
Val abs(Val a) { return intrinsic(llvm::Intrinsic::fabs, a); }
Val sqrt(Val a) { return intrinsic(llvm::Intrinsic::sqrt, a); }
Val divide(Val a, Val b) { return with(a, a.ir->CreateFDiv(a.v, b.v)); }
Val copy_sign(Val magnitude, Val sign) { return intrinsic(llvm::Intrinsic::copysign, magnitude, sign); }
Val round_even(Val a) { return intrinsic(llvm::Intrinsic::rint, a); }  // the rounding mode is never changed
Val truncate(Val a) { return intrinsic(llvm::Intrinsic::trunc, a); }
Val floor(Val a) { return intrinsic(llvm::Intrinsic::floor, a); }
Val ceil(Val a) { return intrinsic(llvm::Intrinsic::ceil, a); }

Val int_to_float(Val a, Type t) {
  auto* target = llvm_type(a.ir->getContext(), t, a.lanes());
  return {a.ir, a.is_signed() ? a.ir->CreateSIToFP(a.v, target) : a.ir->CreateUIToFP(a.v, target), t};
}

namespace {
/// The integers of t as far as floats hold them: the lowest, and one past the highest.
struct FloatRange {
  double low, end;
};
FloatRange range_of(Type t) {
  int bits = static_cast<int>(isa::bit_size(t));
  return {isa::is_signed(t) ? -std::ldexp(1.0, bits - 1) : 0.0,
          std::ldexp(1.0, isa::is_signed(t) ? bits - 1 : bits)};
}
}  // namespace

// Written out because LLVM 19 scalarises llvm.fptosi.sat and llvm.fptoui.sat of vectors.
Val float_to_int(Val a, Type t) {
  FloatRange range = range_of(t);
  Val low = a.like_float(range.low), zero = a.like_float(0);
  Val bounded = select(gt(a, low), a, low);  // NaN becomes low
  if (isa::bit_size(t) < 32) {
    Val high = a.like_float(range.end - 1);
    Val result = float_to_int_in_range(select(lt(bounded, high), bounded, high),
                                       isa::is_signed(t) ? Type::s32 : Type::u32)
                     .to(t);
    return isa::is_signed(t) ? select(is_nan(a), result.like(0), result) : result;
  }
  Val above = ge(a, a.like_float(range.end));
  Val result = float_to_int_in_range(select(above, zero, bounded), t);
  Val highest = result.constant(t, ~std::uint64_t{0} >> (64 - result.bits() + (isa::is_signed(t) ? 1 : 0)));
  result = select(above, highest, result);
  return isa::is_signed(t) ? select(is_nan(a), result.like(0), result) : result;
}

Val float_to_int_in_range(Val a, Type t) {
  auto* target = llvm_type(a.ir->getContext(), t, a.lanes());
  return {a.ir, isa::is_signed(t) ? a.ir->CreateFPToSI(a.v, target) : a.ir->CreateFPToUI(a.v, target), t};
}

Val shl(Val a, unsigned amount) { return shift_left(a, a.like(amount)); }
Val shr(Val a, unsigned amount) { return shift_right(a, a.like(amount)); }

bool is_constant(Val a, std::uint64_t& value) {
  auto* c = llvm::dyn_cast<llvm::Constant>(a.v);
  if (c && a.is_vector()) c = c->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(c);
  if (!number || number->getBitWidth() > 64) return false;
  value = number->getZExtValue();
  return true;
}

Val unpack_all(Val a, Type t) {
  unsigned lanes = std::max(a.lanes(), 1u) * (a.bits() / isa::bit_size(t));
  return {a.ir, a.ir->CreateBitCast(a.v, llvm_type(a.ir->getContext(), t, lanes)), t};
}

Val pack_all(Val elements, Type t, unsigned lanes) {
  return {elements.ir, elements.ir->CreateBitCast(elements.v, llvm_type(elements.ir->getContext(), t, lanes)),
          t};
}

Val element(Val a, Type t, unsigned i) {
  Val whole = a.as(isa::bits_type(a.bits()));
  unsigned width = isa::bit_size(t);
  return (i == 0 ? whole : shr(whole, i * width)).to(isa::bits_type(width)).as(t);
}

Val join(const Val* parts, unsigned count, Type t) {
  Type whole = isa::bits_type(isa::bit_size(t));
  unsigned width = parts[0].bits();
  Val result = parts[0].as(isa::bits_type(width)).to(whole);
  for (unsigned i = 1; i < count; ++i)
    result = result | shl(parts[i].as(isa::bits_type(width)).to(whole), i * width);
  return result.as(t);
}
Val join(std::initializer_list<Val> parts, Type t) {
  return join(parts.begin(), static_cast<unsigned>(parts.size()), t);
}

Val repeat_each(Val a, unsigned times) {
  if (!a.is_vector()) return with(a, a.ir->CreateVectorSplat(times, a.v));
  llvm::SmallVector<int, 64> mask;
  for (unsigned lane = 0; lane < a.lanes(); ++lane) mask.append(times, static_cast<int>(lane));
  return with(a, a.ir->CreateShuffleVector(a.v, mask));
}

namespace {
std::string feature_flag(const char* name) { return std::string("raddle.has.") + name; }

/// By products of halves, as no host has lanes of 128 bits.
llvm::Value* multiply_high_of_longs(Val a, Val b) {
  auto& ir = *a.ir;
  auto* type = a.v->getType();
  auto* lower = llvm::ConstantInt::get(type, 0xffffffffu);
  auto low = [&](llvm::Value* x) { return ir.CreateAnd(x, lower); };
  auto high = [&](llvm::Value* x) { return ir.CreateLShr(x, 32); };
  auto* middle = ir.CreateMul(low(a.v), high(b.v));
  auto* carried = ir.CreateAdd(high(ir.CreateMul(low(a.v), low(b.v))), low(middle));
  carried = ir.CreateAdd(carried, ir.CreateMul(high(a.v), low(b.v)));  // at most all ones
  auto* product = ir.CreateAdd(ir.CreateMul(high(a.v), high(b.v)), ir.CreateAdd(high(middle), high(carried)));
  if (!a.is_signed()) return product;
  auto if_negative = [&](llvm::Value* x, llvm::Value* y) { return ir.CreateAnd(ir.CreateAShr(x, 63), y); };
  return ir.CreateSub(product, ir.CreateAdd(if_negative(a.v, b.v), if_negative(b.v, a.v)));
}
}  // namespace

void declare_features(llvm::Module& module, const llvm::MCSubtargetInfo& target) {
  for (const char* name : {"f16c", "avx2", "avx512f", "avx512vl"})
    if (target.checkFeatures(std::string("+") + name))
      module.addModuleFlag(llvm::Module::Max, feature_flag(name), std::uint32_t{1});
}

bool has_feature(const Val& a, const char* name) {
  return a.ir->GetInsertBlock()->getModule()->getModuleFlag(feature_flag(name)) != nullptr;
}

Val multiply_high(Val a, Val b) {
  unsigned bits = a.bits();
  if (bits == 64 && a.is_vector()) return with(a, multiply_high_of_longs(a, b));
  auto* wide_type = a.ir->getIntNTy(bits * 2);
  llvm::Type* target =
      a.is_vector() ? llvm::FixedVectorType::get(wide_type, a.lanes()) : static_cast<llvm::Type*>(wide_type);
  auto extend = [&](Val x) {
    return a.is_signed() ? a.ir->CreateSExt(x.v, target) : a.ir->CreateZExt(x.v, target);
  };
  auto* product = a.ir->CreateMul(extend(a), extend(b));
  return with(a, a.ir->CreateTrunc(a.ir->CreateLShr(product, bits), a.v->getType()));
}

}  // namespace raddle::jit
