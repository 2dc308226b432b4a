// The SIMD language that lowering functions are written in: Val is one LLVM value, a scalar or one part of a
// warp (lanes consecutive lanes as a vector), typed as PTX types it, so that .s32 and .u32 cannot be
// confused. Operators mean what PTX means for the type (wrapping integers, IEEE floats). Nothing here knows a
// host width.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "isa/type.h"

namespace llvm {
class MCSubtargetInfo;
}

namespace raddle::jit {

using isa::Type;
using Builder = llvm::IRBuilder<>;

struct Val {
  Builder* ir = nullptr;
  llvm::Value* v = nullptr;
  Type type = Type::none;

  unsigned bits() const { return isa::bit_size(type); }
  unsigned lanes() const;  ///< 0: scalar
  bool is_vector() const { return lanes() != 0; }
  bool is_float() const { return isa::is_float(type); }
  bool is_signed() const { return isa::is_signed(type); }

  /// A constant of the same type and lane count. For floats the numeric value.
  Val like(std::int64_t value) const;
  Val like_float(double value) const;
  /// A constant of another type with the same lane count; `value` are its bits.
  Val constant(Type t, std::uint64_t value) const;
  Val constant_float(Type t, double value) const;

  /// Same bits seen as another type of the same size.
  Val as(Type t) const;
  /// Integer to integer: truncates, or extends by this value's signedness. Predicates extend with zeros.
  Val to(Type t) const;
  /// Float widths f16, f32, f64 by IEEE conversion, round to nearest even (use numerics' rules where PTX
  /// differs).
  Val to_float(Type t) const;
};

/// LLVM type of a PTX type: integers for every integer and bit type, float, double, i1 for pred; packed types
/// are integers (use lanes_of_packed). So are f16 and bf16: nothing computes in them, and where the processor
/// lacks them LLVM turns even a select of a bfloat into a call of a library that is not there.
llvm::Type* llvm_type(llvm::LLVMContext& context, Type t, unsigned lanes);

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator&(Val a, Val b);
Val operator|(Val a, Val b);
Val operator^(Val a, Val b);
Val operator~(Val a);
Val operator-(Val a);  ///< floats: sign flip

/// Raw shifts: the amount (same width and lanes) must be below the width. Right shift follows a's signedness.
Val shift_left(Val a, Val amount);
Val shift_right(Val a, Val amount);
/// PTX shifts: amounts of width or more give 0, or the sign for a signed right shift. `amount` is u32.
Val shl_clamped(Val a, Val amount);
Val shr_clamped(Val a, Val amount);

/// Comparisons by a's type; floats ordered. Result is pred.
Val eq(Val a, Val b);
Val ne(Val a, Val b);
Val lt(Val a, Val b);
Val le(Val a, Val b);
Val gt(Val a, Val b);
Val ge(Val a, Val b);
/// Any LLVM predicate, for the rest (unordered floats).
Val compare(llvm::CmpInst::Predicate predicate, Val a, Val b);
Val is_nan(Val a);

Val select(Val condition, Val if_true, Val if_false);
Val min(Val a, Val b);  ///< integers only
Val max(Val a, Val b);
Val leading_zeros(Val a);  ///< integers; the width for 0
Val trailing_zeros(Val a);

/// Calls an LLVM intrinsic overloaded on the first argument's type; result has the type of `a`.
Val intrinsic(llvm::Intrinsic::ID id, Val a);
Val intrinsic(llvm::Intrinsic::ID id, Val a, Val b);
Val intrinsic(llvm::Intrinsic::ID id, Val a, Val b, Val c);

Val fma(Val a, Val b, Val c);  ///< floats, one rounding
Val abs(Val a);                ///< floats: clears the sign bit
Val sqrt(Val a);               ///< floats, rounded to nearest even
Val divide(Val a, Val b);      ///< floats, rounded to nearest even
Val copy_sign(Val magnitude, Val sign);
/// Floats to integral values, staying floats.
Val round_even(Val a);
Val truncate(Val a);
Val floor(Val a);
Val ceil(Val a);
/// Integer to the nearest float (ties to even), by a's signedness; f32 or f64.
Val int_to_float(Val a, Type t);
/// Float (f32, f64) to integer, towards zero, saturating; NaN gives 0.
Val float_to_int(Val a, Type t);
/// Float (f32, f64) known to lie within the range of integer type t.
Val float_to_int_in_range(Val a, Type t);

/// Shift by a constant below the width; right shifts follow a's signedness.
Val shl(Val a, unsigned amount);
Val shr(Val a, unsigned amount);
/// Integer value of a constant (or splat); false if it is not one.
bool is_constant(Val a, std::uint64_t& value);

/// The bits of a packed value as elements of type t: lanes * (bits / bit_size(t)) lanes, a scalar becomes a
/// vector.
Val unpack_all(Val a, Type t);
/// The way back: elements as values of packed type t, `lanes` of them (0: scalar).
Val pack_all(Val elements, Type t, unsigned lanes);
/// Element i (counted from the low bits) of a packed value, with as many lanes as it.
Val element(Val a, Type t, unsigned i);
/// Joins values of equal type, low bits first, to one of type t.
Val join(std::initializer_list<Val> parts, Type t);
Val join(const Val* parts, unsigned count, Type t);
/// Each lane `times` times in a row; a scalar becomes a vector.
Val repeat_each(Val a, unsigned times);

/// Notes in the module which CPU features its code may use, of those that lowerings ask for.
void declare_features(llvm::Module& module, const llvm::MCSubtargetInfo& target);
/// Whether code in the value's module may use a CPU feature; no if nothing was declared.
bool has_feature(const Val& a, const char* name);

/// High half of the double-width product, by signedness.
Val multiply_high(Val a, Val b);

}  // namespace raddle::jit
