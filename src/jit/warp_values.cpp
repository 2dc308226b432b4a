#include "jit/warp_values.h"

#include <algorithm>

#include "base/assert.h"

namespace raddle::jit {
namespace {

/// Alignment of every part in an array of lanes: 16, but for bytes on small vectors, whose part 1 lies at 8.
llvm::Align part_align(const llvm::FixedVectorType* part) {
  return llvm::Align(std::clamp<std::uint64_t>(part->getPrimitiveSizeInBits().getFixedValue() / 8, 1, 16));
}

}  // namespace

void WarpValue::become_varying(std::vector<llvm::Value*> vectors) {
  parts = std::move(vectors);
  bases.clear();
  ok = nullptr;
  late = {};
  shape = Shape::varying();
}

llvm::Value* WarpValues::wrapped_part(const WarpValue& value, unsigned p) {
  return value.late ? value.late(p) : value.parts[p];
}

std::vector<llvm::Value*> WarpValues::wrapped(const WarpValue& value) {
  std::vector<llvm::Value*> vectors;
  for (unsigned p = 0; p < code_.parts(); ++p) vectors.push_back(wrapped_part(value, p));
  return vectors;
}

Val WarpValues::part(const WarpValue& value, unsigned p) {
  auto typed = [&](llvm::Value* v) {
    return Val{&ir_, v, isa::bits_type(isa::bit_size(value.type))}.as(value.type);
  };
  if (value.type == Type::pred)
    return {&ir_, value.parts.empty() ? code_.splat(value.bases[0]) : value.parts[p], Type::pred};
  const bool checked = value.shape.checked && !value.bases.empty();
  if (!value.parts.empty() && !checked) return typed(value.parts[p]);
  if (value.late) return typed(value.late(p));  // right whether it has wrapped or not
  const bool per_part = value.shape.per_part;
  llvm::Value* base = code_.splat(value.bases[per_part ? p : 0]);
  auto unless_wrapped = [&](llvm::Value* v) {
    return typed(checked && value.ok ? ir_.CreateSelect(value.ok, v, wrapped_part(value, p)) : v);
  };
  if (value.shape.equal_lanes()) return unless_wrapped(base);
  const unsigned bits = isa::bit_size(value.type), lanes = code_.lanes();
  std::vector<llvm::Constant*> offsets;
  for (unsigned l = 0; l < lanes; ++l)
    offsets.push_back(llvm::ConstantInt::get(
        ir_.getContext(),
        llvm::APInt(bits, static_cast<std::uint64_t>(value.shape.offset(per_part ? l : p * lanes + l)))));
  return unless_wrapped(ir_.CreateAdd(base, llvm::ConstantVector::get(offsets)));
}

std::vector<llvm::Value*> WarpValues::vectors(const WarpValue& value) {
  std::vector<llvm::Value*> vectors;
  for (unsigned p = 0; p < code_.parts(); ++p) vectors.push_back(part(value, p).v);
  return vectors;
}

Val WarpValues::scalar(const WarpValue& value, unsigned group) {
  RADDLE_ASSERT(!value.bases.empty(), "scalar of a varying value");
  auto* base = value.bases[value.bases.size() == 1 ? 0 : group];
  if (value.type == Type::pred) return {&ir_, base, Type::pred};
  // A warp-wide strided value asked for by part: its base there.
  if (value.bases.size() == 1 && group != 0 && !value.shape.equal_lanes()) {
    const auto offset = static_cast<std::uint64_t>(value.shape.offset(group * code_.lanes()));
    base = ir_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), offset, false));
  }
  return Val{&ir_, base, isa::bits_type(isa::bit_size(value.type))}.as(value.type);
}

Val WarpValues::scalar_of_uniform(const WarpValue& value) {
  RADDLE_ASSERT(value.shape.uniform(), "value is not uniform");
  return scalar(value);
}

std::pair<std::int64_t, std::int64_t> WarpValues::offset_range(const Shape& shape) const {
  std::int64_t least = 0, most = 0;
  for (unsigned l = 0; l < (shape.per_part ? code_.lanes() : exec::kWarpSize); ++l) {
    least = std::min(least, shape.offset(l));
    most = std::max(most, shape.offset(l));
  }
  return {least, most};
}

llvm::Value* WarpValues::spill_parts(const std::vector<llvm::Value*>& values) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(values[0]->getType());
  auto* element = vector->getElementType();
  auto* array = code_.entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "spill", 64);
  for (unsigned p = 0; p < code_.parts(); ++p)
    ir_.CreateAlignedStore(values[p], ir_.CreateConstInBoundsGEP1_32(element, array, p * code_.lanes()),
                           part_align(vector));
  return array;
}

llvm::Value* WarpValues::spill(const WarpValue& value) { return spill_parts(vectors(value)); }

llvm::Value* WarpValues::load_lane(llvm::Value* array, llvm::Type* type, llvm::Value* lane) {
  return ir_.CreateLoad(type, ir_.CreateInBoundsGEP(type, array, lane));
}

void WarpValues::store_lane(llvm::Value* array, llvm::Value* value, llvm::Value* lane) {
  ir_.CreateStore(value, ir_.CreateInBoundsGEP(value->getType(), array, lane));
}

std::vector<llvm::Value*> WarpValues::reload(llvm::Value* array, llvm::Type* element) {
  std::vector<llvm::Value*> values;
  auto* vector = code_.vector_of(element);
  const llvm::Align align = part_align(vector);
  for (unsigned p = 0; p < code_.parts(); ++p)
    values.push_back(ir_.CreateAlignedLoad(
        vector, ir_.CreateConstInBoundsGEP1_32(element, array, p * code_.lanes()), align));
  return values;
}

}  // namespace raddle::jit
