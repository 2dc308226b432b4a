#include "jit/request_lanes.h"

namespace raddle::jit {

RequestLanes::RequestLanes(WarpEmitter& e, std::size_t bytes)
    : e_(e), base_(e.code.entry_alloca(llvm::ArrayType::get(e.ir.getInt8Ty(), bytes), "request", 64)) {}

llvm::FixedVectorType* RequestLanes::vector(unsigned bits) {
  return e_.code.vector_of(e_.ir.getIntNTy(bits));
}

llvm::Value* RequestLanes::at(std::size_t offset, unsigned bits, unsigned part) {
  const std::size_t bytes = offset + std::size_t{part} * e_.lanes() * bits / 8;
  return e_.ir.CreateConstInBoundsGEP1_64(e_.ir.getInt8Ty(), base_, bytes);
}

void RequestLanes::put(std::size_t offset, unsigned bits, const ptx::Operand& source) {
  const WarpValue value = e_.registers.read(source);
  for (unsigned p = 0; p < e_.parts(); ++p) {
    const Val x = e_.part(value, p);
    auto* integers = e_.ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, vector(bits));
    e_.ir.CreateAlignedStore(integers, at(offset, bits, p), llvm::Align(4));
  }
}

void RequestLanes::call(exec::Service service, std::uint32_t word) {
  const Val lanes = e_.bits(e_.executing());
  e_.if_any(lanes, [&] { e_.context.call_service(service, {e_.ir.getInt32(word), lanes.v, base_}); });
}

void RequestLanes::get(std::size_t offset, unsigned stored_bits, unsigned bits,
                       const ptx::Operand& destination) {
  if (destination.kind == ptx::Operand::Kind::sink) return;
  const unsigned width = isa::bit_size(e_.cursor.function.registers[destination.index].type);
  std::vector<llvm::Value*> parts;
  for (unsigned p = 0; p < e_.parts(); ++p) {
    auto* stored = e_.ir.CreateAlignedLoad(vector(stored_bits), at(offset, stored_bits, p), llvm::Align(4));
    auto* value = e_.ir.CreateZExtOrTrunc(stored, vector(bits));
    parts.push_back(e_.ir.CreateZExtOrTrunc(value, vector(width)));
  }
  e_.registers.write_parts(destination, isa::bits_type(width), parts);
}

Mask RequestLanes::flags(std::size_t offset) {
  Mask result;
  for (unsigned p = 0; p < e_.parts(); ++p) {
    auto* stored = e_.ir.CreateAlignedLoad(vector(32), at(offset, 32, p), llvm::Align(4));
    result.push_back(e_.ir.CreateIsNotNull(stored));
  }
  return result;
}

llvm::Value* RequestLanes::word(std::size_t offset) {
  return e_.ir.CreateLoad(e_.ir.getInt32Ty(),
                          e_.ir.CreateConstInBoundsGEP1_64(e_.ir.getInt8Ty(), base_, offset));
}

}  // namespace raddle::jit
