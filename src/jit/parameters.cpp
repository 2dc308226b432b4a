#include "jit/parameters.h"

#include <algorithm>

#include "base/round_up.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Operand;

/// Every variable begins at a multiple of 8, so that its words are whole whatever its declared alignment.
std::uint64_t place_parameter(std::uint64_t& bytes, std::uint64_t size) {
  constexpr std::uint64_t kAlign = 8;
  std::uint64_t offset = bytes;
  bytes += round_up(std::max<std::uint64_t>(size, 1), kAlign);
  return offset;
}

unsigned word_bytes(const ptx::Variable& v) {
  return v.dimensions.empty() && v.vector == 1 ? std::max(1u, isa::byte_size(v.type)) : 4;
}

std::uint64_t block_bytes(const ptx::Variable& v) {
  std::uint64_t bytes = 0;
  place_parameter(bytes, v.size);
  return bytes;
}

Parameters::Parameters(FunctionBuilder& code, const KernelPlan& kernel, const Cursor& cursor,
                       WarpValues& values, Masks& masks, Registers& registers)
    : code_(code),
      ir_(code.ir),
      kernel_(kernel),
      cursor_(cursor),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      registers_(registers) {}

bool Parameters::holds(const Operand& address, Mod space) const {
  if (space != Mod::param && space != Mod::param_func && space != Mod::param_entry) return false;
  if (address.base != Operand::Base::variable) return false;
  const auto& v = kernel_.module.variables[address.index];
  return v.space == ptx::Space::param && !(f_.is_entry && v.is_parameter);
}

llvm::Value* Parameters::slot(ptx::VariableId id) {
  auto& slot = slots_[id];
  if (slot) return slot;
  const auto& v = kernel_.module.variables[id];
  constexpr unsigned kParameters = 2, kReturns = 3;  // arguments of device_function_type()
  if (v.is_parameter)
    slot = formal(f_.parameters, id, kParameters);
  else if (v.is_return)
    slot = formal(f_.returns, id, kReturns);
  if (!slot) {
    auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), block_bytes(v) * exec::kWarpSize);
    slot = code_.entry_alloca(type, "param", 64);
  }
  return slot;
}

/// The function's own, in the block that it was called with; null if it has no such.
llvm::Value* Parameters::formal(const std::vector<ptx::VariableId>& list, ptx::VariableId id,
                                unsigned argument) {
  auto at = std::find(list.begin(), list.end(), id);
  if (at == list.end()) return nullptr;
  std::uint64_t bytes = 0, offset = 0;
  for (auto i = list.begin(); i <= at; ++i)
    offset = place_parameter(bytes, kernel_.module.variables[*i].size);
  Builder entry(code_.entry_end());
  return entry.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), code_.argument(argument),
                                          offset * exec::kWarpSize);
}

llvm::Value* Parameters::word(const ptx::Variable& v, llvm::Value* slot, std::uint64_t w, unsigned p) {
  return ir_.CreateConstInBoundsGEP1_64(
      ir_.getInt8Ty(), slot, word_bytes(v) * (w * exec::kWarpSize + std::uint64_t{p} * code_.lanes()));
}

/// The integers of `bytes` bytes at a byte offset of a parameter variable.
llvm::Value* Parameters::load_part(ptx::VariableId id, std::uint64_t offset, unsigned bytes, unsigned p) {
  const auto& v = kernel_.module.variables[id];
  const unsigned size = word_bytes(v);
  auto vector_of = [&](unsigned n) { return code_.vector_of(ir_.getIntNTy(n * 8)); };
  auto load = [&](std::uint64_t w) -> llvm::Value* {
    return ir_.CreateAlignedLoad(vector_of(size), word(v, slot(id), w, p), llvm::Align(size));
  };
  if (bytes <= size)
    return ir_.CreateTrunc(ir_.CreateLShr(load(offset / size), offset % size * 8), vector_of(bytes));
  llvm::Value* all = nullptr;
  for (unsigned k = 0; k < bytes / size; ++k) {
    auto* piece = ir_.CreateShl(ir_.CreateZExt(load(offset / size + k), vector_of(bytes)), k * size * 8);
    all = all ? ir_.CreateOr(all, piece) : piece;
  }
  return all;
}

/// Stores such integers for the lanes of `mask`.
void Parameters::store_part(ptx::VariableId id, std::uint64_t offset, llvm::Value* value, unsigned p,
                            llvm::Value* mask) {
  const auto& v = kernel_.module.variables[id];
  const unsigned size = word_bytes(v), bytes = value->getType()->getScalarSizeInBits() / 8;
  auto* words = code_.vector_of(ir_.getIntNTy(size * 8));
  auto store = [&](llvm::Value* x, std::uint64_t w) {
    ir_.CreateMaskedStore(x, word(v, slot(id), w, p), llvm::Align(size), mask);
  };
  if (bytes < size) {  // the rest of the word stays
    auto* at = word(v, slot(id), offset / size, p);
    const auto first = offset % size * 8;
    auto bits = llvm::APInt::getBitsSet(size * 8, static_cast<unsigned>(first),
                                        static_cast<unsigned>(first + bytes * 8));
    auto* rest = ir_.CreateAnd(ir_.CreateAlignedLoad(words, at, llvm::Align(size)),
                               llvm::ConstantInt::get(words, ~bits));
    return store(ir_.CreateOr(rest, ir_.CreateShl(ir_.CreateZExt(value, words), first)), offset / size);
  }
  for (unsigned k = 0; k < bytes / size; ++k)
    store(ir_.CreateTrunc(ir_.CreateLShr(value, k * size * 8), words), offset / size + k);
}

void Parameters::load(unsigned destination, const Operand& address) {
  Type type = cursor_.opcode().type(cursor_.opcode().type_count - 1);
  auto destinations = cursor_.elements(destination);
  for (std::size_t e = 0; e < destinations.size(); ++e) {
    std::uint64_t offset = static_cast<std::uint64_t>(address.value) + e * isa::byte_size(type);
    std::vector<llvm::Value*> values;
    for (unsigned p = 0; p < code_.parts(); ++p)
      values.push_back(load_part(address.index, offset, isa::byte_size(type), p));
    registers_.write_parts(destinations[e], type, values);
  }
}

void Parameters::store(const Operand& address, unsigned value) {
  Type type = cursor_.opcode().type(cursor_.opcode().type_count - 1);
  auto* element = code_.vector_of(ir_.getIntNTy(isa::bit_size(type)));
  auto sources = cursor_.elements(value);
  Mask mask = registers_.executing();
  for (std::size_t e = 0; e < sources.size(); ++e) {
    std::uint64_t offset = static_cast<std::uint64_t>(address.value) + e * isa::byte_size(type);
    WarpValue v = registers_.read(sources[e]);
    for (unsigned p = 0; p < code_.parts(); ++p) {
      Val x = values_.part(v, p);
      auto* bits = ir_.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, element);
      store_part(address.index, offset, bits, p, mask[p]);
    }
  }
}

void Parameters::load_register_formals() {
  for (auto id : f_.parameters) {
    const auto& v = kernel_.module.variables[id];
    if (v.space != ptx::Space::reg) continue;
    auto* block = slot(id);
    Type type = f_.registers[v.offset].type;
    Registers::Slot& s = registers_.slot(v.offset);
    for (unsigned p = 0; p < s.parts.size(); ++p) {
      auto* element = type == Type::pred ? ir_.getInt8Ty() : code_.lane_type(type);
      auto* at = ir_.CreateConstInBoundsGEP1_64(
          ir_.getInt8Ty(), block, std::uint64_t{p} * code_.lanes() * std::max(1u, isa::byte_size(type)));
      llvm::Value* value = ir_.CreateAlignedLoad(code_.vector_of(element), at, llvm::Align(1));
      if (type == Type::pred)
        value = masks_.to_storage(ir_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())));
      ir_.CreateStore(value, s.parts[p].at);
    }
  }
}

void Parameters::store_register_returns(const Mask& leaving) {
  for (auto id : f_.returns) {
    const auto& v = kernel_.module.variables[id];
    if (v.space != ptx::Space::reg) continue;
    auto* block = slot(id);
    Type type = f_.registers[v.offset].type;
    ptx::Operand formal;
    formal.kind = ptx::Operand::Kind::reg;
    formal.index = v.offset;
    formal.type = type;
    WarpValue value = registers_.read(formal);
    for (unsigned p = 0; p < code_.parts(); ++p) {
      Val x = values_.part(value, p);
      auto* at = ir_.CreateConstInBoundsGEP1_64(
          ir_.getInt8Ty(), block, std::uint64_t{p} * code_.lanes() * std::max(1u, isa::byte_size(type)));
      auto* bits = type == Type::pred ? ir_.CreateZExt(x.v, code_.vector_of(ir_.getInt8Ty()))
                                      : x.as(isa::bits_type(x.bits())).v;
      ir_.CreateMaskedStore(bits, at, llvm::Align(1), leaving[p]);
    }
  }
}

}  // namespace raddle::jit
