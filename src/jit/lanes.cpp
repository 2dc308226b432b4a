// Per-instruction driver: plain lane operations part by part, and the helpers of lane loops.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "base/assert.h"
#include "jit/emitter.h"
#include "jit/function.h"

namespace raddle::jit {

using ptx::Operand;

bool Emitter::present(unsigned k) const {
  return k < instruction_.operand_count && operand(k).kind != Operand::Kind::none;
}
bool Emitter::wants(unsigned k) const { return present(k) && operand(k).kind != Operand::Kind::sink; }

/// A guard that the instruction itself writes counts as it was before, for every destination.
void FunctionCompiler::keep_guard() {
  kept_guard_ = {};
  kept_guard_of_ = instruction;
  if (instruction->guard == ptx::kNone) return;
  auto operands = f.operands_of(*instruction);
  bool writes = std::any_of(operands.begin(), operands.end(), [&](const Operand& o) {
    return o.kind == Operand::Kind::reg && o.index == instruction->guard;
  });
  if (writes) kept_guard_ = guard_value(*instruction);
}

void FunctionCompiler::emit_instruction() {
  keep_guard();
  if (instruction->extra != ptx::kNone && opcode().is(isa::Effects::control)) {
    emit_call();
  } else if (auto special_emission = emission_of(opcode().op)) {
    special_emission(*this);
  } else {
    emit_plain();
  }
}

std::pair<std::int64_t, std::int64_t> FunctionCompiler::offset_range(const Shape& shape) const {
  std::int64_t least = 0, most = 0;
  for (unsigned l = 0; l < (shape.per_part ? lanes() : exec::kWarpSize); ++l) {
    least = std::min(least, shape.offset(l));
    most = std::max(most, shape.offset(l));
  }
  return {least, most};
}

/// i1: a strided source stays strided when widened, i.e. no lane wraps in the narrow type.
llvm::Value* FunctionCompiler::widening_ok(const ptx::Instruction& i) {
  llvm::Value* ok = nullptr;
  auto both = [&](llvm::Value* x) { ok = ok ? ir.CreateAnd(ok, x) : x; };
  for (unsigned k = 1; k < i.operand_count; ++k) {
    const Operand& o = f.operands_of(i)[k];
    if (o.kind == Operand::Kind::none) continue;
    WarpValue value = read(o);
    if (value.ok) both(value.ok);
    if (!value.shape.affine || value.shape.equal_lanes() ||
        isa::bit_size(o.type) >= isa::bit_size(f.operands_of(i)[0].type))
      continue;
    auto [least, most] = offset_range(value.shape);
    unsigned bits = isa::bit_size(o.type);
    bool is_signed = isa::is_signed(o.type);
    llvm::APInt low = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
    llvm::APInt high = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    for (auto* base : value.bases) {
      auto* type = base->getType();
      auto limit = [&](const llvm::APInt& x, std::int64_t step) {
        return llvm::ConstantInt::get(type, x - llvm::APInt(bits, static_cast<std::uint64_t>(step)));
      };
      if (most > 0)
        both(ir.CreateICmp(is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE, base,
                           limit(high, most)));
      if (least < 0)
        both(ir.CreateICmp(is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE, base,
                           limit(low, least)));
    }
  }
  return ok;
}

void FunctionCompiler::emit_plain() {
  LowerFunction lower = lowering_of(opcode().op);
  RADDLE_ASSERT(lower, "a done row has neither lowering nor emission");
  auto operands = f.operands_of(*instruction);
  const isa::Row& row = *opcode().row;
  std::vector<WarpValue> inputs(operands.size());
  std::vector<std::vector<WarpValue>> vectors(operands.size());
  Shape result = Shape::uniform_value();
  for (std::size_t k = 0; k < operands.size(); ++k) {
    using Kind = Operand::Kind;
    if (row.operands[k].is_destination || operands[k].kind == Kind::none || operands[k].kind == Kind::label)
      continue;
    if (operands[k].kind == Kind::address)
      continue;  // createpolicy.range: names memory without a value to read
    if (operands[k].kind == Operand::Kind::vector) {
      for (const Operand& e : f.elements_of(operands[k])) {
        vectors[k].push_back(read(e));
        if (!vectors[k].back().shape.uniform()) result = Shape::varying();
      }
    } else {
      inputs[k] = read(operands[k]);
      if (!inputs[k].shape.uniform()) result = Shape::varying();
    }
  }
  bool hidden_state = opcode().is(isa::Effects::state);
  if (hidden_state) result = Shape::varying();
  // A strided result comes from the same lowering applied to the bases.
  const Operand& d = operands[0];
  Shape planned = !result.uniform() ? plan.result_shape(*instruction) : result;
  if (planned.known && planned.affine) result = planned;
  // Base, flag and vectors are worth computing only for a register that keeps them.
  if (result.checked && d.kind == Operand::Kind::reg && !plan.shape(d.index).affine)
    result = Shape::varying();

  auto run = [&](bool vector, unsigned index, std::vector<WarpValue>& outputs,
                 std::vector<std::vector<std::vector<llvm::Value*>>>& element_outputs,
                 std::vector<std::vector<Type>>& element_types) {
    Emitter e(ir, f, *instruction);
    e.inputs.resize(operands.size());
    e.outputs.resize(operands.size());
    e.input_elements.resize(operands.size());
    e.output_elements.resize(operands.size());
    auto value_of = [&](const WarpValue& v) { return vector ? part(v, index) : scalar(v, index); };
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!inputs[k].bases.empty() || !inputs[k].parts.empty()) e.inputs[k] = value_of(inputs[k]);
      for (const WarpValue& v : vectors[k]) e.input_elements[k].push_back(value_of(v));
    }
    if (hidden_state) {
      if (!carry_slot) {
        carry_slot = entry_alloca(llvm::ArrayType::get(mask_storage_type(), parts()), "carry");
        Builder(body_, body_->begin())
            .CreateStore(llvm::Constant::getNullValue(llvm::ArrayType::get(mask_storage_type(), parts())),
                         carry_slot);
      }
      auto* at = ir.CreateConstInBoundsGEP2_32(llvm::ArrayType::get(mask_storage_type(), parts()), carry_slot,
                                               0, index);
      e.carry = {&ir, mask_from_storage(ir.CreateLoad(mask_storage_type(), at)), Type::pred};
    }
    lower(e);
    if (e.carry_written) {
      auto* at = ir.CreateConstInBoundsGEP2_32(llvm::ArrayType::get(mask_storage_type(), parts()), carry_slot,
                                               0, index);
      llvm::Value* v = e.carry.v;
      if (instruction->guard != ptx::kNone)
        v = ir.CreateSelect(guard_mask(*instruction)[index], v,
                            mask_from_storage(ir.CreateLoad(mask_storage_type(), at)));
      ir.CreateStore(mask_to_storage(v), at);
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!row.operands[k].is_destination) continue;
      auto integer = [&](Val v) -> llvm::Value* {
        return v.v->getType()->getScalarType()->isIntegerTy() ? v.v : v.as(isa::bits_type(v.bits())).v;
      };
      if (!e.output_elements[k].empty()) {
        element_outputs[k].resize(e.output_elements[k].size());
        element_types[k].resize(e.output_elements[k].size());
        for (std::size_t n = 0; n < e.output_elements[k].size(); ++n) {
          element_outputs[k][n].push_back(integer(e.output_elements[k][n]));
          element_types[k][n] = e.output_elements[k][n].type;
        }
      } else if (e.outputs[k].v) {
        outputs[k].type = e.outputs[k].type;
        (vector ? outputs[k].parts : outputs[k].bases).push_back(integer(e.outputs[k]));
      }
    }
  };
  std::vector<WarpValue> outputs(operands.size());
  std::vector<std::vector<std::vector<llvm::Value*>>> elements_out(operands.size());
  std::vector<std::vector<Type>> element_types(operands.size());
  if (result.affine)
    for (unsigned g = 0; g < (result.per_part ? parts() : 1); ++g)
      run(false, g, outputs, elements_out, element_types);
  if (!result.affine)
    for (unsigned p = 0; p < parts(); ++p) run(true, p, outputs, elements_out, element_types);
  LateParts late;
  if (result.checked) {
    outputs[0].ok = widening_ok(*instruction);
    late = [&] {
      std::vector<WarpValue> wrapped(operands.size());
      for (unsigned p = 0; p < parts(); ++p) run(true, p, wrapped, elements_out, element_types);
      return wrapped[0].parts;
    };
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!row.operands[k].is_destination || operands[k].kind == Operand::Kind::none) continue;
    if (operands[k].kind == Operand::Kind::vector) {
      auto destinations = f.elements_of(operands[k]);
      for (std::size_t n = 0; n < destinations.size() && n < elements_out[k].size(); ++n) {
        WarpValue v;
        v.shape = result;
        v.type = element_types[k][n];
        (result.affine ? v.bases : v.parts) = elements_out[k][n];
        write(destinations[n], v);
      }
      continue;
    }
    if (outputs[k].type == Type::none) continue;
    outputs[k].shape = k == 0 ? result : (result.affine && !result.uniform() ? Shape::varying() : result);
    write(operands[k], outputs[k], k == 0 ? late : LateParts());
  }
}

void FunctionCompiler::if_then(llvm::Value* condition, const std::function<void()>& then) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isZero()) return;
  auto* yes = llvm::BasicBlock::Create(ir.getContext(), "then", function_);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "after", function_);
  ir.CreateCondBr(condition, yes, after);
  ir.SetInsertPoint(yes);
  then();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

void FunctionCompiler::for_each_lane(llvm::Value* bits, const std::function<void(llvm::Value*)>& body) {
  auto* loop = llvm::BasicBlock::Create(ir.getContext(), "lane", function_);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "lanes_done", function_);
  auto* before = ir.GetInsertBlock();
  ir.CreateCondBr(ir.CreateICmpEQ(bits, ir.getInt32(0)), after, loop);
  ir.SetInsertPoint(loop);
  auto* left = ir.CreatePHI(ir.getInt32Ty(), 2, "left");
  left->addIncoming(bits, before);
  auto* lane = ir.CreateIntrinsic(llvm::Intrinsic::cttz, {ir.getInt32Ty()}, {left, ir.getTrue()});
  body(lane);
  auto* rest = ir.CreateAnd(left, ir.CreateSub(left, ir.getInt32(1)));
  left->addIncoming(rest, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpEQ(rest, ir.getInt32(0)), after, loop);
  ir.SetInsertPoint(after);
}

void FunctionCompiler::for_each_marked_lane(llvm::Value* bits,
                                            const std::function<void(llvm::Value*)>& body) {
  for_each_lane(bits, [&](llvm::Value* lane) {
    mark_lane(lane);
    body(lane);
  });
  mark_lane(nullptr);
}

void FunctionCompiler::for_each_lane_unrolled(llvm::Value* bits,
                                              const std::function<void(llvm::Value*)>& body) {
  constexpr unsigned kAtOnce = 4;
  auto* loop = llvm::BasicBlock::Create(ir.getContext(), "lanes", function_);
  auto* some = llvm::BasicBlock::Create(ir.getContext(), "some", function_);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "lanes_done", function_);
  auto* before = ir.GetInsertBlock();
  ir.CreateCondBr(ir.CreateICmpEQ(bits, ir.getInt32(0xffffffff)), loop, some);
  ir.SetInsertPoint(loop);
  auto* first = ir.CreatePHI(ir.getInt32Ty(), 2, "first");
  first->addIncoming(ir.getInt32(0), before);
  mark_lane(first);  // once for all of them: which it is, the place in the code says
  for (unsigned k = 0; k < kAtOnce; ++k) {
    at_line(instruction->line, {k, 1});
    body(ir.CreateAdd(first, ir.getInt32(k), "", true, true));
  }
  at_line(instruction->line);
  auto* next = ir.CreateAdd(first, ir.getInt32(kAtOnce), "", true, true);
  first->addIncoming(next, ir.GetInsertBlock());
  auto* again = ir.CreateCondBr(ir.CreateICmpEQ(next, ir.getInt32(exec::kWarpSize)), after, loop);
  // Processors predict by instruction whether a load has to wait for an earlier store; with one instruction
  // per lane they learn it badly (measured on Zen 4: the shared atomics of a histogram took five times as
  // long).
  auto* disable =
      llvm::MDNode::get(ir.getContext(), llvm::MDString::get(ir.getContext(), "llvm.loop.unroll.disable"));
  auto* properties = llvm::MDNode::getDistinct(ir.getContext(), {nullptr, disable});
  properties->replaceOperandWith(0, properties);
  again->setMetadata(llvm::LLVMContext::MD_loop, properties);
  ir.SetInsertPoint(some);
  for_each_lane(bits, [&](llvm::Value* lane) {
    mark_lane(lane);
    body(lane);
  });
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  mark_lane(nullptr);
}

namespace {
/// Alignment of every part in an array of lanes: 16, but for bytes on small vectors, whose part 1 lies at 8.
llvm::Align part_align(const llvm::FixedVectorType* part) {
  return llvm::Align(std::clamp<std::uint64_t>(part->getPrimitiveSizeInBits().getFixedValue() / 8, 1, 16));
}
}  // namespace

llvm::Value* FunctionCompiler::spill_parts(const std::vector<llvm::Value*>& values) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(values[0]->getType());
  auto* element = vector->getElementType();
  auto* array = entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "spill", 64);
  for (unsigned p = 0; p < parts(); ++p)
    ir.CreateAlignedStore(values[p], ir.CreateConstInBoundsGEP1_32(element, array, p * lanes()),
                          part_align(vector));
  return array;
}

llvm::Value* FunctionCompiler::spill(const WarpValue& value) {
  std::vector<llvm::Value*> values;
  for (unsigned p = 0; p < parts(); ++p) values.push_back(part(value, p).v);
  return spill_parts(values);
}

llvm::Value* FunctionCompiler::load_lane(llvm::Value* array, llvm::Type* type, llvm::Value* lane) {
  return ir.CreateLoad(type, ir.CreateInBoundsGEP(type, array, lane));
}
void FunctionCompiler::store_lane(llvm::Value* array, llvm::Value* value, llvm::Value* lane) {
  ir.CreateStore(value, ir.CreateInBoundsGEP(value->getType(), array, lane));
}
std::vector<llvm::Value*> FunctionCompiler::reload(llvm::Value* array, llvm::Type* element) {
  std::vector<llvm::Value*> values;
  auto* vector = llvm::FixedVectorType::get(element, lanes());
  const llvm::Align align = part_align(vector);
  for (unsigned p = 0; p < parts(); ++p)
    values.push_back(
        ir.CreateAlignedLoad(vector, ir.CreateConstInBoundsGEP1_32(element, array, p * lanes()), align));
  return values;
}

}  // namespace raddle::jit
