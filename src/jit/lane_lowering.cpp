#include "jit/lane_lowering.h"

#include "base/assert.h"

namespace raddle::jit {

using ptx::Operand;

bool Emitter::present(unsigned k) const {
  return k < instruction_.operand_count && operand(k).kind != Operand::Kind::none;
}
bool Emitter::wants(unsigned k) const { return present(k) && operand(k).kind != Operand::Kind::sink; }

LaneLowering::LaneLowering(FunctionBuilder& code, const Cursor& cursor, WarpValues& values, Masks& masks,
                           Registers& registers)
    : code_(code),
      ir_(code.ir),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      registers_(registers) {}

void LaneLowering::emit() {
  RADDLE_ASSERT(lowering_of(cursor_.opcode().op), "a done row has neither lowering nor emission");
  const Inputs inputs = read_inputs();
  // A strided result comes from the same lowering applied to the bases.
  const Shape result = plan_.computed_shape(*cursor_.instruction);
  Outputs outputs(cursor_.instruction->operand_count);
  if (result.affine)
    for (unsigned g = 0; g < (result.per_part ? code_.parts() : 1); ++g)
      run(inputs, Form::scalar, g, outputs);
  else
    for (unsigned p = 0; p < code_.parts(); ++p) run(inputs, Form::vector, p, outputs);
  Registers::LateParts late;
  if (result.checked) {
    outputs[0].value.ok = widening_ok();
    late = [this, inputs, size = outputs.size()] {
      Outputs wrapped(size);
      for (unsigned p = 0; p < code_.parts(); ++p) run(inputs, Form::vector, p, wrapped);
      return wrapped[0].value.parts;
    };
  }
  write(result, outputs, late);
}

std::vector<LaneLowering::Input> LaneLowering::read_inputs() {
  auto operands = f_.operands_of(*cursor_.instruction);
  Inputs inputs(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    using Kind = Operand::Kind;
    const Kind kind = operands[k].kind;
    if (cursor_.opcode().row->operands[k].is_destination || kind == Kind::none || kind == Kind::label)
      continue;
    if (kind == Kind::address) continue;  // createpolicy.range: names memory without a value to read
    if (kind == Kind::vector)
      for (const Operand& e : f_.elements_of(operands[k])) inputs[k].elements.push_back(registers_.read(e));
    else
      inputs[k].value = registers_.read(operands[k]);
  }
  return inputs;
}

void LaneLowering::run(const Inputs& inputs, Form form, unsigned index, Outputs& outputs) {
  Emitter e(ir_, f_, *cursor_.instruction);
  e.inputs.resize(inputs.size());
  e.outputs.resize(inputs.size());
  e.input_elements.resize(inputs.size());
  e.output_elements.resize(inputs.size());
  auto value_of = [&](const WarpValue& v) {
    return form == Form::vector ? values_.part(v, index) : values_.scalar(v, index);
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].value.is_empty()) e.inputs[k] = value_of(inputs[k].value);
    for (const WarpValue& v : inputs[k].elements) e.input_elements[k].push_back(value_of(v));
  }
  if (cursor_.opcode().is(isa::Effects::state)) {
    llvm::Value* stored = ir_.CreateLoad(masks_.storage_type(), carry_place(index));
    e.carry = {&ir_, masks_.from_storage(stored), Type::pred};
  }
  lowering_of(e.opcode().op)(e);
  if (e.carry_written) write_carry(e.carry.v, index);
  take(e, form, outputs);
}

/// Adds what the lowering of one part, or of one base, has given.
void LaneLowering::take(const Emitter& e, Form form, Outputs& outputs) {
  auto add = [&](WarpValue& to, Val v) {
    to.type = v.type;
    const bool is_integer = v.v->getType()->getScalarType()->isIntegerTy();
    (form == Form::vector ? to.parts : to.bases)
        .push_back(is_integer ? v.v : v.as(isa::bits_type(v.bits())).v);
  };
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!e.opcode().row->operands[k].is_destination) continue;
    const auto& elements = e.output_elements[k];
    outputs[k].elements.resize(elements.size());
    for (std::size_t n = 0; n < elements.size(); ++n) add(outputs[k].elements[n], elements[n]);
    if (elements.empty() && e.outputs[k].v) add(outputs[k].value, e.outputs[k]);
  }
}

void LaneLowering::write(const Shape& result, Outputs& outputs, const Registers::LateParts& late) {
  auto operands = f_.operands_of(*cursor_.instruction);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!cursor_.opcode().row->operands[k].is_destination || operands[k].kind == Operand::Kind::none)
      continue;
    if (operands[k].kind == Operand::Kind::vector) {
      auto destinations = f_.elements_of(operands[k]);
      auto& elements = outputs[k].elements;
      for (std::size_t n = 0; n < destinations.size() && n < elements.size(); ++n) {
        elements[n].shape = result;
        registers_.write(destinations[n], elements[n]);
      }
      continue;
    }
    WarpValue& value = outputs[k].value;
    if (value.type == Type::none) continue;
    value.shape = k == 0 ? result : (result.affine && !result.uniform() ? Shape::varying() : result);
    registers_.write(operands[k], value, k == 0 ? late : Registers::LateParts());
  }
}

/// i1: a strided source stays strided when widened, i.e. no lane wraps in the narrow type.
llvm::Value* LaneLowering::widening_ok() {
  const ptx::Instruction& i = *cursor_.instruction;
  llvm::Value* ok = nullptr;
  auto both = [&](llvm::Value* x) { ok = ok ? ir_.CreateAnd(ok, x) : x; };
  for (unsigned k = 1; k < i.operand_count; ++k) {
    const Operand& o = f_.operands_of(i)[k];
    if (o.kind == Operand::Kind::none) continue;
    WarpValue value = registers_.read(o);
    if (value.ok) both(value.ok);
    if (!value.shape.affine || value.shape.equal_lanes() ||
        isa::bit_size(o.type) >= isa::bit_size(f_.operands_of(i)[0].type))
      continue;
    auto [least, most] = values_.offset_range(value.shape);
    const unsigned bits = isa::bit_size(o.type);
    if (const auto all = std::int64_t{1} << bits; most >= all || least <= -all) {  // more than all numbers
      both(ir_.getFalse());
      continue;
    }
    const bool is_signed = isa::is_signed(o.type);
    const auto low = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
    const auto high = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    for (auto* base : value.bases) {
      auto limit = [&](const llvm::APInt& x, std::int64_t step) {
        return llvm::ConstantInt::get(base->getType(),
                                      x - llvm::APInt(bits, static_cast<std::uint64_t>(step)));
      };
      using Compare = llvm::CmpInst;
      if (most > 0)
        both(ir_.CreateICmp(is_signed ? Compare::ICMP_SLE : Compare::ICMP_ULE, base, limit(high, most)));
      if (least < 0)
        both(ir_.CreateICmp(is_signed ? Compare::ICMP_SGE : Compare::ICMP_UGE, base, limit(low, least)));
    }
  }
  return ok;
}

llvm::Value* LaneLowering::carry_place(unsigned index) {
  auto* type = llvm::ArrayType::get(masks_.storage_type(), code_.parts());
  if (!carry_) {
    carry_ = code_.entry_alloca(type, "carry");
    code_.begin_as_zero(carry_, type);
  }
  return ir_.CreateConstInBoundsGEP2_32(type, carry_, 0, index);
}

void LaneLowering::write_carry(llvm::Value* carry, unsigned index) {
  auto* at = carry_place(index);
  if (cursor_.instruction->guard != ptx::kNone) {
    llvm::Value* guard = registers_.guard_mask(*cursor_.instruction)[index];
    carry = ir_.CreateSelect(guard, carry, masks_.from_storage(ir_.CreateLoad(masks_.storage_type(), at)));
  }
  ir_.CreateStore(masks_.to_storage(carry), at);
}

}  // namespace raddle::jit
