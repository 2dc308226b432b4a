#include "jit/registers.h"

#include <algorithm>

#include "base/assert.h"
#include "jit/fragment_places.h"

namespace raddle::jit {

using ptx::Operand;

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

/// Whether the registers of its first operand are a fragment that it adds to.
bool adds_to_fragment(const ptx::Function& f, const ptx::Instruction& i) {
  const auto& operands = i.opcode->row->operands;
  if (operands.empty() || operands[0].geometric != isa::GeometricKind::fragment) return false;
  if (operands[0].is_updated) return true;
  const auto c = i.opcode->form->operand("c");
  return c && std::ranges::equal(f.elements_of(f.operands_of(i)[0]), f.elements_of(f.operands_of(i)[*c]),
                                 [](const Operand& a, const Operand& b) {
                                   return a.kind == Operand::Kind::reg && b.kind == a.kind &&
                                          a.index == b.index;
                                 });
}

}  // namespace

Registers::Registers(FunctionBuilder& code, const Cursor& cursor, WarpValues& values, Masks& masks,
                     StateSpaces& spaces, SpecialRegisters& specials, Registers* first)
    : code_(code),
      ir_(code.ir),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      spaces_(spaces),
      specials_(specials),
      first_(first),
      slots_(f_.registers.size()) {
  find_fragments();
}

Registers::Slot& Registers::slot(ptx::RegisterId r) {
  if (first_ != nullptr && plan_.same_in_all_warps(r)) return first_->slot(r);
  Slot& s = slots_[r];
  if (!s.bases.empty() || !s.parts.empty()) return s;
  const Shape& shape = plan_.shape(r);
  auto* type = s.lane = code_.lane_type(f_.registers[r].type);
  const char* name = f_.registers[r].name.c_str();
  // A register without definition reads as zero: never poison, so that a bug in a kernel stays a plain wrong
  // value.
  auto make = [&](llvm::Type* t) {
    auto* a = code_.entry_alloca(t, name);
    code_.begin_as_zero(a, t);
    return Variable{a, t};
  };
  if (!shape.known || shape.affine)
    for (unsigned g = 0; g < (shape.per_part ? code_.parts() : 1); ++g) s.bases.push_back(make(type));
  if (shape.known && (!shape.affine || shape.checked)) {
    const bool predicate = type->isIntegerTy(1);
    auto* vector = predicate ? masks_.storage_type() : code_.vector_of(type);
    for (unsigned p = 0; p < code_.parts(); ++p)
      s.parts.push_back(in_fragment_.contains(r) ? Variable{part_of_fragment(r, p), vector} : make(vector));
  }
  if (shape.checked) s.ok = make(ir_.getInt1Ty());
  return s;
}

// ---- fragments ----

bool Registers::may_join_fragment(ptx::RegisterId r) const {
  const Shape& shape = plan_.shape(r);
  return shape.known && !shape.affine && !shape.checked && isa::bit_size(f_.registers[r].type) == 32 &&
         !in_fragment_.contains(r);
}

/// Matrices are best where the functions of their instructions find them: then nothing is copied. What is
/// updated comes first. (A warpgroup's A is copied, as several instructions are one call.)
void Registers::find_fragments() {
  for (const ptx::Instruction& i : f_.instructions)
    if (adds_to_fragment(f_, i)) join_fragment(f_.operands_of(i)[0]);
  for (const ptx::Instruction& i : f_.instructions) {
    if (i.opcode->row->text->scope != isa::Scope::warp) continue;
    for (std::size_t k = 0; k < i.operand_count; ++k) {
      const isa::OperandSpec& spec = i.opcode->row->operands[k];
      if (spec.geometric == isa::GeometricKind::fragment && !spec.is_destination)
        join_fragment(f_.operands_of(i)[k]);
    }
  }
  for (ptx::RegisterId r = 0; r < f_.registers.size(); ++r) {
    if (!plan_.is_shared_with_machine(r) || in_fragment_.contains(r)) continue;
    in_fragment_[r] = {fragments_.size(), 0};
    fragments_.push_back({{r}, 1});
  }
  share_places();
}

void Registers::share_places() {
  std::vector<std::vector<ptx::RegisterId>> matrices;
  for (const Fragment& fragment : fragments_) matrices.push_back(fragment.registers);
  const std::vector<std::size_t> places = fragment_places(plan_, f_, matrices);
  for (std::size_t n = 0; n < places.size(); ++n) {
    if (places[n] == n) continue;
    auto& together = fragments_[places[n]].registers;
    together.insert(together.end(), matrices[n].begin(), matrices[n].end());
    for (const ptx::RegisterId r : matrices[n]) in_fragment_[r].first = places[n];
  }
}

/// All registers of a matrix, or none.
void Registers::join_fragment(const Operand& matrix) {
  if (matrix.kind != Operand::Kind::vector) return;
  const auto elements = f_.elements_of(matrix);
  Fragment fragment;
  for (const Operand& o : elements) {
    if (o.kind != Operand::Kind::reg || !may_join_fragment(o.index)) break;
    in_fragment_[o.index] = {fragments_.size(), static_cast<unsigned>(fragment.registers.size())};
    fragment.registers.push_back(o.index);
  }
  fragment.size = elements.size();
  if (fragment.registers.size() == fragment.size)
    fragments_.push_back(std::move(fragment));
  else
    for (const ptx::RegisterId r : fragment.registers) in_fragment_.erase(r);
}

std::uint32_t Registers::Fragment::bytes() const {
  return static_cast<std::uint32_t>(size * exec::kWarpSize * 4);
}

Registers::Fragment* Registers::fragment_of(ptx::RegisterId r) {
  const auto found = in_fragment_.find(r);
  return found == in_fragment_.end() ? nullptr : &fragments_[found->second.first];
}

bool Registers::is_read_first(const Fragment& fragment) const {
  return std::ranges::any_of(fragment.registers, [&](ptx::RegisterId r) {
    return plan_.live.live(plan_.order.blocks.front(), r) || plan_.is_shared_with_machine(r);
  });
}

llvm::Value* Registers::part_of_fragment(ptx::RegisterId r, unsigned part) {
  const auto [number, place] = in_fragment_.at(r);
  Fragment& fragment = fragments_[number];
  if (fragment.words == nullptr) {
    auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), fragment.bytes());
    fragment.words = code_.entry_alloca(type, "fragment", 64);
    if (is_read_first(fragment)) code_.begin_as_zero(fragment.words, type);
  }
  return code_.place_in(fragment.words, (place * exec::kWarpSize + part * code_.lanes()) * 4);
}

llvm::Value* Registers::fragment(const std::vector<Operand>& registers) {
  for (unsigned i = 0; i < registers.size(); ++i) {
    const auto found = in_fragment_.find(registers[i].index);
    if (registers[i].kind != Operand::Kind::reg || found == in_fragment_.end()) return nullptr;
    const auto [number, place] = found->second;
    if (place != i || number != in_fragment_.at(registers[0].index).first) return nullptr;
    slot(registers[i].index);
  }
  return fragments_[in_fragment_.at(registers[0].index).first].words;
}

// ---- reading ----

WarpValue Registers::read(const Operand& o) {
  if (const Operand* immediate = o.kind == Operand::Kind::reg ? plan_.constant(o) : nullptr) {
    Operand known = *immediate;
    known.type = f_.registers[o.index].type;
    WarpValue value = read(known);
    const bool same_size = isa::bit_size(o.type) == isa::bit_size(known.type);
    if (o.type != Type::none && same_size) value.type = o.type;
    if (o.type == Type::none || same_size) return value;
  }
  WarpValue value = read_whole(o);
  if (o.negated) {
    for (auto*& v : value.bases) v = ir_.CreateNot(v);
    for (auto*& v : value.parts) v = ir_.CreateNot(v);
  }
  if (o.type == Type::none) return value;
  if (isa::bit_size(o.type) != isa::bit_size(value.type)) resize(value, o.type);
  value.type = o.type;
  return value;
}

/// Reads an operand at the size that it has by itself.
WarpValue Registers::read_whole(const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::reg:
      return read_register(o.index);
    case Operand::Kind::immediate: {
      const Type type = o.type == Type::none ? Type::b64 : o.type;
      const llvm::APInt bits(isa::bit_size(type), static_cast<std::uint64_t>(o.value));
      return WarpValue::uniform(type, llvm::ConstantInt::get(ir_.getContext(), bits));
    }
    case Operand::Kind::special:
      return of_thread(specials_.read(o));
    case Operand::Kind::variable: {
      auto* offset = ir_.getInt64(static_cast<std::uint64_t>(o.value));
      return WarpValue::uniform(Type::b64, ir_.CreateAdd(spaces_.variable_address(o.index), offset));
    }
    case Operand::Kind::function:
      return WarpValue::uniform(Type::b64, ir_.getInt64(std::uint64_t{o.index} + 1));
    default:
      RADDLE_UNREACHABLE("operand has no value");
  }
}

WarpValue Registers::read_register(ptx::RegisterId r) {
  WarpValue value;
  value.shape = plan_.shape(r);
  if (!value.shape.known) value.shape = Shape::uniform_value();
  value.type = f_.registers[r].type;
  Slot& s = slot(r);
  for (const Variable& a : s.bases) value.bases.push_back(ir_.CreateLoad(a.type, a.at));
  for (const Variable& a : s.parts) {
    llvm::Value* v = ir_.CreateLoad(a.type, a.at);
    value.parts.push_back(value.type == Type::pred ? masks_.from_storage(v) : v);
  }
  if (s.ok) value.ok = ir_.CreateLoad(ir_.getInt1Ty(), s.ok->at);
  return value;
}

/// The one value that counts where the code is one thread's (one_by_one.h).
WarpValue Registers::of_thread(const WarpValue& value) {
  llvm::Value* lane = code_.thread();
  if (lane == nullptr || value.shape.uniform()) return value;
  if (value.type == Type::pred) {
    auto* bits = masks_.bits(values_.vectors(value));
    return WarpValue::uniform(Type::pred, ir_.CreateTrunc(ir_.CreateLShr(bits, lane), ir_.getInt1Ty()));
  }
  if (value.shape.scalar() && !value.shape.per_part && value.shape.pattern == nullptr) {
    auto* type = value.bases[0]->getType();
    auto* stride = llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value.shape.stride), true);
    auto* number = ir_.CreateZExtOrTrunc(lane, type);
    return WarpValue::uniform(value.type, ir_.CreateAdd(value.bases[0], ir_.CreateMul(number, stride)));
  }
  auto parts = values_.vectors(value);
  for (auto*& part : parts)
    if (!part->getType()->getScalarType()->isIntegerTy())
      part = ir_.CreateBitCast(part, code_.vector_of(code_.lane_type(value.type)));
  auto* array = values_.spill_parts(parts);
  return WarpValue::uniform(value.type, values_.load_lane(array, code_.lane_type(value.type), lane));
}

/// Operands may name registers wider than the type at which they are read, and 64-bit addresses in 32-bit
/// moves.
void Registers::resize(WarpValue& value, Type want) {
  auto resized = [&](llvm::Value* v) -> llvm::Value* {
    auto* lane = code_.lane_type(want);
    auto* target = v->getType()->isVectorTy() ? static_cast<llvm::Type*>(code_.vector_of(lane)) : lane;
    return isa::is_signed(want) ? ir_.CreateSExtOrTrunc(v, target) : ir_.CreateZExtOrTrunc(v, target);
  };
  // A strided value may wrap when widened: its shape is given up.
  if (value.shape.affine && !value.shape.equal_lanes() && isa::bit_size(want) > isa::bit_size(value.type))
    value.become_varying(values_.vectors(value));
  for (auto*& v : value.bases) v = resized(v);
  for (auto*& v : value.parts) v = resized(v);
}

llvm::Value* Registers::read_in_first(unsigned k, llvm::Value* bits) {
  if (!cursor_.present(k)) return ir_.getInt32(0);
  WarpValue v = read(k);
  if (v.shape.uniform()) return values_.scalar(v).v;
  return values_.load_lane(values_.spill(v), ir_.getInt32Ty(), masks_.first_lane(bits));
}

// ---- writing ----

void Registers::write(const Operand& d, const WarpValue& given, const LateParts& late) {
  const WarpValue value = of_thread(given);
  if (d.kind != Operand::Kind::reg) return;  // a sink, or an absent second destination
  const Shape& shape = plan_.shape(d.index);
  Slot& s = slot(d.index);
  llvm::Value* uniform_guard = guard_scalar(*cursor_.instruction);
  const bool blend = plan_.must_blend(cursor_.block, d.index);
  WarpValue old;  // of a checked register, before its base changes
  if (s.ok && blend) {
    Operand whole = d;
    whole.type = Type::none;
    old = read(whole);
  }
  if (!shape.known) return;  // dead code: no definition ever reached
  std::vector<llvm::Value*> bases;
  if (shape.affine)
    for (unsigned g = 0; g < s.bases.size(); ++g) {
      llvm::Value* v = to_register(ir_, values_.scalar(value, g).v, value.type, s.lane);
      if (uniform_guard) v = ir_.CreateSelect(uniform_guard, v, ir_.CreateLoad(s.lane, s.bases[g].at));
      bases.push_back(v);
    }
  llvm::Value* ok = nullptr;
  if (s.ok) {
    ok = value.shape.affine ? (value.ok ? value.ok : ir_.getTrue()) : ir_.getFalse();
    if (blend) ok = ir_.CreateAnd(ok, masks_.nobody_elsewhere());
    if (uniform_guard) ok = ir_.CreateSelect(uniform_guard, ok, ir_.CreateLoad(ir_.getInt1Ty(), s.ok->at));
  }
  auto no_parts = [this, &s] {
    for (const Variable& a : s.parts) ir_.CreateStore(llvm::PoisonValue::get(a.type), a.at);
  };
  auto store_scalars = [this, &s, bases](llvm::Value* flag) {
    for (std::size_t g = 0; g < bases.size(); ++g) ir_.CreateStore(bases[g], s.bases[g].at);
    if (flag) ir_.CreateStore(flag, s.ok->at);
  };
  if (ok && code_.writes_likely()) {  // nothing is written before the flag is known
    auto all = [this, store_scalars, no_parts] {
      store_scalars(ir_.getTrue());
      no_parts();
    };
    return plan_.together ? code_.two_ways_together(ok, all, {}) : code_.two_ways(ok, all, {});
  }
  store_scalars(ok);
  if (s.parts.empty()) return;
  Mask keep;
  if (blend)
    keep = executing();
  else if (cursor_.instruction->guard != ptx::kNone)
    keep = guard_mask(*cursor_.instruction);
  const bool keeps_old = ok && blend;
  auto with_parts = [this, &s, value, late, blend, keep, old, keeps_old] {
    WarpValue now = value;
    if (late) now.parts = late();
    if (late && !blend) now.shape = Shape::varying();  // as ok is false, these are the values
    store_parts(s, now, keep, keeps_old ? &old : nullptr);
  };
  auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(ok);
  if (!ok || (known && known->isZero())) return with_parts();
  if (!known && plan_.together) return code_.two_ways_together(ok, no_parts, with_parts);
  known ? no_parts() : code_.two_ways(ok, no_parts, with_parts);
}

/// @param keep  lanes that get the new value, empty: all
/// @param old   what the others keep; null: what the variables hold
void Registers::store_parts(const Slot& s, const WarpValue& value, const Mask& keep, const WarpValue* old) {
  const bool predicate = s.lane->isIntegerTy(1);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Variable& a = s.parts[p];
    llvm::Value* v = to_register(ir_, values_.part(value, p).v, value.type, s.lane);
    if (!keep.empty()) {
      llvm::Value* kept =
          old ? to_register(ir_, values_.part(*old, p).v, old->type, s.lane) : ir_.CreateLoad(a.type, a.at);
      v = ir_.CreateSelect(keep[p], v, predicate ? masks_.from_storage(kept) : kept);
    }
    ir_.CreateStore(predicate ? masks_.to_storage(v) : v, a.at);
  }
}

void Registers::write_parts(const Operand& d, Type type, std::vector<llvm::Value*> values) {
  for (auto*& v : values)
    if (!v->getType()->getScalarType()->isIntegerTy())
      v = ir_.CreateBitCast(v, code_.vector_of(ir_.getIntNTy(v->getType()->getScalarSizeInBits())));
  write(d, WarpValue::varying(type, std::move(values)));
}

void Registers::write_uniform(const Operand& d, Type type, llvm::Value* v) {
  if (!v->getType()->isIntegerTy())
    v = ir_.CreateBitCast(v, ir_.getIntNTy(v->getType()->getScalarSizeInBits()));
  write(d, WarpValue::uniform(type, v));
}

// ---- guards ----

WarpValue Registers::guard_value(const ptx::Instruction& i) {
  if (&i == kept_guard_of_ && (!kept_guard_.bases.empty() || !kept_guard_.parts.empty())) return kept_guard_;
  Operand o;
  o.kind = Operand::Kind::reg;
  o.index = i.guard;
  o.negated = i.guard_negated;
  o.type = Type::pred;
  return read(o);
}

llvm::Value* Registers::guard_scalar(const ptx::Instruction& i) {
  if (i.guard == ptx::kNone || !plan_.shape(i.guard).uniform()) return nullptr;
  return guard_value(i).bases[0];
}

Mask Registers::guard_mask(const ptx::Instruction& i) { return values_.vectors(guard_value(i)); }

Mask Registers::executing() {
  if (cursor_.instruction->guard == ptx::kNone) return masks_.active();
  if (llvm::Value* lane = code_.thread()) {
    auto* bit = ir_.CreateShl(ir_.getInt32(1), lane, "", true);
    return masks_.from_bits(ir_.CreateSelect(guard_scalar(*cursor_.instruction), bit, ir_.getInt32(0)));
  }
  Mask mask = guard_mask(*cursor_.instruction);
  for (unsigned p = 0; p < code_.parts(); ++p) mask[p] = ir_.CreateAnd(masks_.active()[p], mask[p]);
  return mask;
}

void Registers::keep_guard() {
  kept_guard_ = {};
  const ptx::Instruction& i = *cursor_.instruction;
  kept_guard_of_ = &i;
  if (i.guard == ptx::kNone) return;
  const bool writes = std::ranges::any_of(f_.operands_of(i), [&](const Operand& o) {
    return o.kind == Operand::Kind::reg && o.index == i.guard;
  });
  if (writes) kept_guard_ = guard_value(i);
}

}  // namespace raddle::jit
