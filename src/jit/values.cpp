// Registers, operands and masks of FunctionCompiler.
#include "base/assert.h"
#include "jit/function.h"

namespace raddle::jit {

using ptx::Operand;

llvm::Type* FunctionCompiler::lane_type(Type t) { return ir.getIntNTy(isa::bit_size(t)); }

llvm::AllocaInst* FunctionCompiler::entry_alloca(llvm::Type* type, const char* name, unsigned align) {
  Builder at(entry_, entry_->begin());
  auto* slot = at.CreateAlloca(type, nullptr, name);
  if (align) slot->setAlignment(llvm::Align(align));
  return slot;
}

FunctionCompiler::Slot& FunctionCompiler::slot(ptx::RegisterId r) {
  Slot& s = slots_[r];
  if (!s.bases.empty() || !s.parts.empty()) return s;
  const Shape& shape = plan.shape(r);
  auto* type = lane_type(f.registers[r].type);
  const char* name = f.registers[r].name.c_str();
  // A register without definition reads as zero: never poison, so that a bug in a kernel stays a plain wrong
  // value.
  auto make = [&](llvm::Type* t) {
    auto* a = entry_alloca(t, name);
    Builder at(body_, body_->begin());
    at.CreateStore(llvm::Constant::getNullValue(t), a);
    return a;
  };
  if (!shape.known || shape.affine)
    for (unsigned g = 0; g < (shape.per_part ? parts() : 1); ++g) s.bases.push_back(make(type));
  if (shape.known && (!shape.affine || shape.checked)) {
    auto* vector = llvm::FixedVectorType::get(type, lanes());
    bool predicate = type->isIntegerTy(1);
    for (unsigned p = 0; p < parts(); ++p) s.parts.push_back(make(predicate ? mask_storage_type() : vector));
  }
  if (shape.checked) s.ok = make(ir.getInt1Ty());
  return s;
}

WarpValue FunctionCompiler::read(const Operand& o) {
  if (const Operand* immediate = o.kind == Operand::Kind::reg ? plan.constant(o) : nullptr) {
    Operand known = *immediate;
    known.type = f.registers[o.index].type;
    WarpValue value = read(known);
    if (o.type != Type::none && isa::bit_size(o.type) == isa::bit_size(known.type)) value.type = o.type;
    if (o.type == Type::none || isa::bit_size(o.type) == isa::bit_size(known.type)) return value;
  }
  WarpValue value;
  switch (o.kind) {
    case Operand::Kind::reg: {
      Type declared = f.registers[o.index].type;
      value.shape = plan.shape(o.index);
      if (!value.shape.known) value.shape = Shape::uniform_value();
      value.type = declared;
      Slot& s = slot(o.index);
      for (auto* a : s.bases) value.bases.push_back(ir.CreateLoad(a->getAllocatedType(), a));
      for (auto* a : s.parts) {
        llvm::Value* v = ir.CreateLoad(a->getAllocatedType(), a);
        value.parts.push_back(declared == Type::pred ? mask_from_storage(v) : v);
      }
      if (s.ok) value.ok = ir.CreateLoad(ir.getInt1Ty(), s.ok);
      break;
    }
    case Operand::Kind::immediate: {
      value.shape = Shape::uniform_value();
      value.type = o.type == Type::none ? Type::b64 : o.type;
      value.bases = {llvm::ConstantInt::get(
          ir.getContext(), llvm::APInt(isa::bit_size(value.type), static_cast<std::uint64_t>(o.value)))};
      break;
    }
    case Operand::Kind::special:
      value = special(o);
      break;
    case Operand::Kind::variable:
      value.shape = Shape::uniform_value();
      value.type = Type::b64;
      value.bases = {
          ir.CreateAdd(variable_address(o.index), ir.getInt64(static_cast<std::uint64_t>(o.value)))};
      break;
    case Operand::Kind::function: {
      value.shape = Shape::uniform_value();
      value.type = Type::b64;
      value.bases = {ir.getInt64(std::uint64_t{o.index} + 1)};
      break;
    }
    default:
      RADDLE_UNREACHABLE("operand has no value");
  }
  // Operands may name registers wider than the type at which they are read, and 64-bit addresses in 32-bit
  // moves.
  if (o.negated) {
    for (auto*& v : value.bases) v = ir.CreateNot(v);
    for (auto*& v : value.parts) v = ir.CreateNot(v);
  }
  Type want = o.type;
  if (want != Type::none && isa::bit_size(want) != isa::bit_size(value.type)) {
    auto resize = [&](llvm::Value* v) -> llvm::Value* {
      auto* target = v->getType()->isVectorTy()
                         ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(lane_type(want), lanes()))
                         : lane_type(want);
      return isa::is_signed(want) ? ir.CreateSExtOrTrunc(v, target) : ir.CreateZExtOrTrunc(v, target);
    };
    if (value.shape.affine && !value.shape.equal_lanes() && isa::bit_size(want) > isa::bit_size(value.type)) {
      WarpValue full = value;  // a strided value may wrap when widened: give up its shape
      value.parts.clear();
      for (unsigned p = 0; p < parts(); ++p) value.parts.push_back(part(full, p).v);
      value.bases.clear();
      value.shape = Shape::varying();
      value.ok = nullptr;
    }
    for (auto*& v : value.bases) v = resize(v);
    for (auto*& v : value.parts) v = resize(v);
  }
  if (want != Type::none) value.type = want;
  return value;
}

llvm::Value* FunctionCompiler::splat(llvm::Value* scalar) { return ir.CreateVectorSplat(lanes(), scalar); }

llvm::Value* FunctionCompiler::lane_numbers(unsigned bits, unsigned p) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned l = 0; l < lanes(); ++l) numbers.push_back(ir.getIntN(bits, p * lanes() + l));
  return llvm::ConstantVector::get(numbers);
}

Val FunctionCompiler::part(const WarpValue& value, unsigned p) {
  auto typed = [&](llvm::Value* v) {
    return Val{&ir, v, isa::bits_type(isa::bit_size(value.type))}.as(value.type);
  };
  if (value.type == Type::pred) {
    return {&ir, value.parts.empty() ? splat(value.bases[0]) : value.parts[p], Type::pred};
  }
  const bool checked = value.shape.checked && !value.bases.empty();
  if (!value.parts.empty() && !checked) return typed(value.parts[p]);
  bool per_part = value.shape.per_part;
  llvm::Value* base = splat(value.bases[per_part ? p : 0]);
  auto unless_wrapped = [&](llvm::Value* v) {
    return typed(checked && value.ok ? ir.CreateSelect(value.ok, v, value.parts[p]) : v);
  };
  if (value.shape.equal_lanes()) return unless_wrapped(base);
  unsigned bits = isa::bit_size(value.type);
  std::vector<llvm::Constant*> offsets;
  for (unsigned l = 0; l < lanes(); ++l)
    offsets.push_back(llvm::ConstantInt::get(
        ir.getContext(),
        llvm::APInt(bits, static_cast<std::uint64_t>(value.shape.offset(per_part ? l : p * lanes() + l)))));
  return unless_wrapped(ir.CreateAdd(base, llvm::ConstantVector::get(offsets)));
}

Val FunctionCompiler::scalar(const WarpValue& value, unsigned group) {
  RADDLE_ASSERT(!value.bases.empty(), "scalar of a varying value");
  auto* base = value.bases[value.bases.size() == 1 ? 0 : group];
  if (value.type == Type::pred) return {&ir, base, Type::pred};
  // A warp-wide strided value asked for by part: its base there.
  if (value.bases.size() == 1 && group != 0 && !value.shape.equal_lanes())
    base = ir.CreateAdd(
        base, llvm::ConstantInt::get(base->getType(),
                                     static_cast<std::uint64_t>(value.shape.offset(group * lanes())), false));
  return Val{&ir, base, isa::bits_type(isa::bit_size(value.type))}.as(value.type);
}

Val FunctionCompiler::scalar_of_uniform(const WarpValue& value) {
  RADDLE_ASSERT(value.shape.uniform(), "value is not uniform");
  return scalar(value);
}

namespace {
llvm::Value* to_register(Builder& ir, llvm::Value* v, Type from, llvm::Type* lane) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  auto sized = [&](llvm::Type* t) {
    return vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, vector->getNumElements())) : t;
  };
  if (!v->getType()->getScalarType()->isIntegerTy())
    v = ir.CreateBitCast(v, sized(ir.getIntNTy(v->getType()->getScalarSizeInBits())));
  return isa::is_signed(from) ? ir.CreateSExtOrTrunc(v, sized(lane)) : ir.CreateZExtOrTrunc(v, sized(lane));
}
}  // namespace

void FunctionCompiler::write(const Operand& d, const WarpValue& value, const LateParts& late) {
  if (d.kind != Operand::Kind::reg) return;  // a sink, or an absent second destination
  const Shape& shape = plan.shape(d.index);
  Slot& s = slot(d.index);
  auto* lane = lane_type(f.registers[d.index].type);
  llvm::Value* uniform_guard = guard_scalar(*instruction);
  const bool blend = plan.must_blend(block, d.index);
  WarpValue old;  // of a checked register, before its base changes
  if (s.ok && blend) {
    Operand whole = d;
    whole.type = Type::none;
    old = read(whole);
  }
  if (shape.known && shape.affine) {
    for (unsigned g = 0; g < s.bases.size(); ++g) {
      llvm::Value* v = to_register(ir, scalar(value, g).v, value.type, lane);
      if (uniform_guard) v = ir.CreateSelect(uniform_guard, v, ir.CreateLoad(lane, s.bases[g]));
      ir.CreateStore(v, s.bases[g]);
    }
  } else if (!shape.known) {
    return;  // dead code: no definition ever reached
  }
  llvm::Value* ok = nullptr;
  if (s.ok) {
    ok = value.shape.affine ? (value.ok ? value.ok : ir.getTrue()) : ir.getFalse();
    if (blend) ok = ir.CreateAnd(ok, nobody_elsewhere());
    if (uniform_guard) ok = ir.CreateSelect(uniform_guard, ok, ir.CreateLoad(ir.getInt1Ty(), s.ok));
    ir.CreateStore(ok, s.ok);
  }
  if (s.parts.empty()) return;
  Mask keep;
  if (blend)
    keep = executing();
  else if (instruction->guard != ptx::kNone)
    keep = guard_mask(*instruction);
  auto store_parts = [&] {
    WarpValue now = value;
    if (late) now.parts = late();
    if (late && !blend) now.shape = Shape::varying();  // as ok is false, these are the values
    for (unsigned p = 0; p < parts(); ++p) {
      llvm::Value* v = to_register(ir, part(now, p).v, value.type, lane);
      auto* a = s.parts[p];
      bool predicate = lane->isIntegerTy(1);
      if (!keep.empty()) {
        llvm::Value* kept = ok && blend ? to_register(ir, part(old, p).v, old.type, lane)
                                        : ir.CreateLoad(a->getAllocatedType(), a);
        v = ir.CreateSelect(keep[p], v, predicate ? mask_from_storage(kept) : kept);
      }
      ir.CreateStore(predicate ? mask_to_storage(v) : v, a);
    }
  };
  auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(ok);
  if (!ok || (known && known->isZero())) return store_parts();
  auto no_parts = [&] {
    for (auto* a : s.parts) ir.CreateStore(llvm::PoisonValue::get(a->getAllocatedType()), a);
  };
  known ? no_parts() : two_ways(ok, no_parts, store_parts);
}

void FunctionCompiler::write_parts(const Operand& d, Type type, std::vector<llvm::Value*> values) {
  WarpValue value;
  value.shape = Shape::varying();
  value.type = type;
  for (auto*& v : values)
    if (!v->getType()->getScalarType()->isIntegerTy())
      v = ir.CreateBitCast(
          v, llvm::FixedVectorType::get(ir.getIntNTy(v->getType()->getScalarSizeInBits()), lanes()));
  value.parts = std::move(values);
  write(d, value);
}

void FunctionCompiler::write_uniform(const Operand& d, Type type, llvm::Value* v) {
  WarpValue value;
  value.shape = Shape::uniform_value();
  value.type = type;
  if (!v->getType()->isIntegerTy())
    v = ir.CreateBitCast(v, ir.getIntNTy(v->getType()->getScalarSizeInBits()));
  value.bases = {v};
  write(d, value);
}

/// i1: no lane waits at another block, so that what this block defines holds for every lane that is left.
llvm::Value* FunctionCompiler::nobody_elsewhere() {
  if (nobody_elsewhere_) return nobody_elsewhere_;
  return nobody_elsewhere_ = ir.CreateICmpEQ(lanes_elsewhere(), ir.getInt32(0));
}

// ---- masks ----

llvm::Type* FunctionCompiler::mask_storage_type() {
  auto* element = context.simd.mask_registers ? ir.getInt1Ty() : ir.getInt32Ty();
  return llvm::FixedVectorType::get(element, lanes());
}
llvm::Value* FunctionCompiler::mask_to_storage(llvm::Value* m) {
  return context.simd.mask_registers ? m : ir.CreateSExt(m, mask_storage_type());
}
llvm::Value* FunctionCompiler::mask_from_storage(llvm::Value* m) {
  return context.simd.mask_registers ? m : ir.CreateICmpSLT(m, llvm::Constant::getNullValue(m->getType()));
}

Mask FunctionCompiler::load_mask(BlockId b) {
  Mask mask;
  for (auto* a : masks_[b]) mask.push_back(mask_from_storage(ir.CreateLoad(a->getAllocatedType(), a)));
  return mask;
}
void FunctionCompiler::store_mask(BlockId b, const Mask& mask) {
  for (unsigned p = 0; p < parts(); ++p) ir.CreateStore(mask_to_storage(mask[p]), masks_[b][p]);
}

WarpValue FunctionCompiler::guard_value(const ptx::Instruction& i) {
  if (&i == kept_guard_of_ && (!kept_guard_.bases.empty() || !kept_guard_.parts.empty())) return kept_guard_;
  Operand o;
  o.kind = Operand::Kind::reg;
  o.index = i.guard;
  o.negated = i.guard_negated;
  o.type = Type::pred;
  return read(o);
}

llvm::Value* FunctionCompiler::guard_scalar(const ptx::Instruction& i) {
  if (i.guard == ptx::kNone || !plan.shape(i.guard).uniform()) return nullptr;
  return guard_value(i).bases[0];
}

Mask FunctionCompiler::guard_mask(const ptx::Instruction& i) {
  WarpValue guard = guard_value(i);
  Mask mask;
  for (unsigned p = 0; p < parts(); ++p) mask.push_back(part(guard, p).v);
  return mask;
}

Mask FunctionCompiler::executing() {
  if (instruction->guard == ptx::kNone) return active_;
  Mask mask = guard_mask(*instruction);
  for (unsigned p = 0; p < parts(); ++p) mask[p] = ir.CreateAnd(active_[p], mask[p]);
  return mask;
}

llvm::Value* FunctionCompiler::mask_bits(const Mask& mask) {
  llvm::Value* bits = nullptr;
  for (unsigned p = 0; p < parts(); ++p) {
    auto* part_bits = ir.CreateZExt(ir.CreateBitCast(mask[p], ir.getIntNTy(lanes())), ir.getInt32Ty());
    auto* shifted = p == 0 ? part_bits : ir.CreateShl(part_bits, p * lanes());
    bits = bits ? ir.CreateOr(bits, shifted) : shifted;
  }
  return bits;
}

Mask FunctionCompiler::mask_from_bits(llvm::Value* bits) {
  Mask mask;
  for (unsigned p = 0; p < parts(); ++p) {
    auto* part_bits = ir.CreateTrunc(p == 0 ? bits : ir.CreateLShr(bits, p * lanes()), ir.getIntNTy(lanes()));
    mask.push_back(ir.CreateBitCast(part_bits, llvm::FixedVectorType::get(ir.getInt1Ty(), lanes())));
  }
  return mask;
}

llvm::Value* FunctionCompiler::any(const Mask& mask) {
  llvm::Value* all = mask[0];
  for (unsigned p = 1; p < parts(); ++p) all = ir.CreateOr(all, mask[p]);
  auto* bits = ir.CreateBitCast(all, ir.getIntNTy(lanes()));
  return ir.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
}

Mask FunctionCompiler::all_lanes(bool value) { return Mask(parts(), splat(ir.getInt1(value))); }

}  // namespace raddle::jit
