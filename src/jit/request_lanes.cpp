#include "jit/request_lanes.h"

namespace raddle::jit {

RequestLanes::RequestLanes(FunctionCompiler& f, std::size_t bytes)
    : f_(f), base_(f.entry_alloca(llvm::ArrayType::get(f.ir.getInt8Ty(), bytes), "request", 64)) {}

llvm::FixedVectorType* RequestLanes::vector(unsigned bits) {
  return llvm::FixedVectorType::get(f_.ir.getIntNTy(bits), f_.lanes());
}

llvm::Value* RequestLanes::at(std::size_t offset, unsigned bits, unsigned part) {
  const std::size_t bytes = offset + std::size_t{part} * f_.lanes() * bits / 8;
  return f_.ir.CreateConstInBoundsGEP1_64(f_.ir.getInt8Ty(), base_, bytes);
}

void RequestLanes::put(std::size_t offset, unsigned bits, const ptx::Operand& source) {
  const WarpValue value = f_.read(source);
  for (unsigned p = 0; p < f_.parts(); ++p) {
    const Val x = f_.part(value, p);
    auto* integers = f_.ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, vector(bits));
    f_.ir.CreateAlignedStore(integers, at(offset, bits, p), llvm::Align(4));
  }
}

void RequestLanes::call(exec::Service service, std::uint32_t word) {
  auto& ir = f_.ir;
  auto* bits = f_.mask_bits(f_.executing());
  f_.if_then(ir.CreateICmpNE(bits, ir.getInt32(0)),
             [&] { f_.call_service(service, {ir.getInt32(word), bits, base_}); });
}

void RequestLanes::get(std::size_t offset, unsigned stored_bits, unsigned bits,
                       const ptx::Operand& destination) {
  if (destination.kind == ptx::Operand::Kind::sink) return;
  const unsigned width = isa::bit_size(f_.f.registers[destination.index].type);
  std::vector<llvm::Value*> parts;
  for (unsigned p = 0; p < f_.parts(); ++p) {
    auto* stored = f_.ir.CreateAlignedLoad(vector(stored_bits), at(offset, stored_bits, p), llvm::Align(4));
    auto* value = f_.ir.CreateZExtOrTrunc(stored, vector(bits));
    parts.push_back(f_.ir.CreateZExtOrTrunc(value, vector(width)));
  }
  f_.write_parts(destination, isa::bits_type(width), parts);
}

Mask RequestLanes::flags(std::size_t offset) {
  Mask result;
  for (unsigned p = 0; p < f_.parts(); ++p) {
    auto* stored = f_.ir.CreateAlignedLoad(vector(32), at(offset, 32, p), llvm::Align(4));
    result.push_back(f_.ir.CreateIsNotNull(stored));
  }
  return result;
}

llvm::Value* RequestLanes::word(std::size_t offset) {
  return f_.ir.CreateLoad(f_.ir.getInt32Ty(),
                          f_.ir.CreateConstInBoundsGEP1_64(f_.ir.getInt8Ty(), base_, offset));
}

}  // namespace raddle::jit
