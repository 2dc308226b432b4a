// JIT: atom and red, lane by lane in lane order. Shared memory of a CTA without a cluster is touched by one
// worker only, so its atomics need no lock prefix (ADR 0012): plain read, operation, write.
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/function.h"
#include "jit/vector_math.h"

namespace raddle::jit {
namespace {

llvm::AtomicOrdering ordering_of(const isa::Opcode& opcode) {
  switch (opcode.get(ModKind::semantics)) {
    case Mod::acquire:
      return llvm::AtomicOrdering::Acquire;
    case Mod::release:
      return llvm::AtomicOrdering::Release;
    case Mod::acq_rel:
      return llvm::AtomicOrdering::AcquireRelease;
    default:
      return llvm::AtomicOrdering::Monotonic;
  }
}

struct Atomic {
  FunctionCompiler& f;
  Type type;
  bool plain;  ///< no other worker can touch the memory
  llvm::AtomicOrdering ordering;

  Val value(llvm::Value* v) const { return Val{&f.ir, v, isa::bits_type(isa::bit_size(type))}.as(type); }
  llvm::Value* bits(Val v) const { return v.as(isa::bits_type(isa::bit_size(type))).v; }

  /// The new value, on bits.
  llvm::Value* combine(Mod operation, llvm::Value* old, llvm::Value* b) const {
    auto& ir = f.ir;
    if (has_halves()) return combine_halves(operation, old, b);
    Val x = value(old), y = value(b);
    switch (operation) {
      case Mod::add:
        return bits(x + y);
      case Mod::and_:
        return ir.CreateAnd(old, b);
      case Mod::or_:
        return ir.CreateOr(old, b);
      case Mod::xor_:
        return ir.CreateXor(old, b);
      case Mod::min:
        return bits(min(x, y));
      case Mod::max:
        return bits(max(x, y));
      case Mod::inc:
        return bits(select(ge(x, y), x.like(0), x + x.like(1)));
      case Mod::dec:
        return bits(select(eq(x, x.like(0)) | gt(x, y), y, x - x.like(1)));
      default:
        return b;  // exch
    }
  }

  bool has_halves() const {
    return isa::type_class(type) == isa::TypeClass::packed_float || type == Type::f16 || type == Type::bf16;
  }

  /// f16, bf16 and their pairs. Sums go through f32 (the sum of two halves is exact there or rounds once),
  /// converted by vector_math: LLVM's own truncation calls a library that is not there, or flushes bf16's
  /// subnormals.
  llvm::Value* combine_halves(Mod operation, llvm::Value* old, llvm::Value* b) const {
    auto& ir = f.ir;
    Type element = type == Type::f16 || type == Type::f16x2 ? Type::f16 : Type::bf16;
    auto* vector = llvm::FixedVectorType::get(ir.getInt16Ty(), isa::bit_size(type) / 16);
    auto halves = [&](llvm::Value* v) {
      return Val{&ir, ir.CreateBitCast(v, vector), Type::b16}.as(element);
    };
    Val x = halves(old), y = halves(b), sum = widen_to_f32(x, element) + widen_to_f32(y, element);
    bool adds = operation == Mod::add;
    Val result =
        adds ? narrow_from_f32(sum, element, Mod::rn) : minimum_narrow(x, y, false, operation == Mod::max);
    Val none = adds ? is_nan(sum) : is_nan(widen_to_f32(x, element)) & is_nan(widen_to_f32(y, element));
    result = result.as(Type::b16);
    result =
        select(none, result.like(0x7fff), result);  // NaN bits in memory must not depend on the processor
    return ir.CreateBitCast(result.v, old->getType());
  }

  llvm::Value* run(Mod operation, llvm::Value* at, llvm::Value* b, llvm::Value* replacement) const {
    auto& ir = f.ir;
    auto align = llvm::Align(isa::byte_size(type));
    if (plain) {
      auto* old = ir.CreateAlignedLoad(b->getType(), at, align);
      auto* updated = replacement ? ir.CreateSelect(ir.CreateICmpEQ(old, b), replacement, old)
                                  : combine(operation, old, b);
      ir.CreateAlignedStore(updated, at, align);
      return old;
    }
    if (replacement) {
      auto failure = ordering == llvm::AtomicOrdering::AcquireRelease ? llvm::AtomicOrdering::Acquire
                     : ordering == llvm::AtomicOrdering::Release      ? llvm::AtomicOrdering::Monotonic
                                                                      : ordering;
      return ir.CreateExtractValue(ir.CreateAtomicCmpXchg(at, b, replacement, align, ordering, failure), 0);
    }
    if (auto kind = hardware_operation(operation); kind != llvm::AtomicRMWInst::BAD_BINOP)
      return ir.CreateAtomicRMW(kind, at, b, align, ordering);
    return compare_loop(operation, at, b);
  }

  llvm::AtomicRMWInst::BinOp hardware_operation(Mod operation) const {
    using Rmw = llvm::AtomicRMWInst;
    if (isa::type_class(type) == isa::TypeClass::packed_float || isa::is_float(type))
      return operation == Mod::exch ? Rmw::Xchg : Rmw::BAD_BINOP;
    switch (operation) {
      case Mod::add:
        return Rmw::Add;
      case Mod::and_:
        return Rmw::And;
      case Mod::or_:
        return Rmw::Or;
      case Mod::xor_:
        return Rmw::Xor;
      case Mod::exch:
        return Rmw::Xchg;
      case Mod::min:
        return isa::is_signed(type) ? Rmw::Min : Rmw::UMin;
      case Mod::max:
        return isa::is_signed(type) ? Rmw::Max : Rmw::UMax;
      case Mod::inc:
        return Rmw::UIncWrap;
      case Mod::dec:
        return Rmw::UDecWrap;
      default:
        return Rmw::BAD_BINOP;
    }
  }

  llvm::Value* compare_loop(Mod operation, llvm::Value* at, llvm::Value* b) const {
    auto& ir = f.ir;
    auto align = llvm::Align(isa::byte_size(type));
    auto* first = ir.CreateAlignedLoad(b->getType(), at, align);
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    auto* before = ir.GetInsertBlock();
    auto* function = before->getParent();
    auto* loop = llvm::BasicBlock::Create(ir.getContext(), "retry", function);
    auto* after = llvm::BasicBlock::Create(ir.getContext(), "swapped", function);
    ir.CreateBr(loop);
    ir.SetInsertPoint(loop);
    auto* old = ir.CreatePHI(b->getType(), 2);
    old->addIncoming(first, before);
    auto failure = llvm::AtomicOrdering::Monotonic;
    auto* swap = ir.CreateAtomicCmpXchg(at, old, combine(operation, old, b), align, ordering, failure);
    old->addIncoming(ir.CreateExtractValue(swap, 0), ir.GetInsertBlock());
    ir.CreateCondBr(ir.CreateExtractValue(swap, 1), after, loop);
    ir.SetInsertPoint(after);
    return old;
  }
};

/// One value per lane for a lane loop: an array in memory, or a scalar that all lanes share.
struct LaneValues {
  llvm::Value* shared = nullptr;
  llvm::Value* array = nullptr;
  llvm::Value* of(FunctionCompiler& f, llvm::Type* type, llvm::Value* lane) const {
    return shared ? shared : f.load_lane(array, type, lane);
  }
};

/// The elements of a scalar or {vector} source, as integers.
std::vector<LaneValues> spill_elements(FunctionCompiler& f, unsigned k, llvm::Type* element) {
  std::vector<LaneValues> values;
  for (const auto& operand : f.elements(k)) {
    WarpValue v = f.read(operand);
    auto integer = [&](Val x, llvm::Type* type) {
      return f.ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, type);
    };
    if (v.shape.uniform()) {
      values.push_back({.shared = integer(f.scalar_of_uniform(v), element)});
      continue;
    }
    std::vector<llvm::Value*> parts;
    for (unsigned p = 0; p < f.parts(); ++p)
      parts.push_back(integer(f.part(v, p), llvm::FixedVectorType::get(element, f.lanes())));
    values.push_back({.array = f.spill_parts(parts)});
  }
  return values;
}

/// Where each lane's access goes.
/// @param narrow  shared addresses are kept as the 32-bit offsets they came as
std::function<llvm::Value*(llvm::Value* lane)> spill_addresses(FunctionCompiler& f, const WarpValue& address,
                                                               bool narrow) {
  auto& ir = f.ir;
  if (!narrow) {
    auto* array = f.spill(address);
    return [&f, array](llvm::Value* lane) { return f.pointer(f.load_lane(array, f.ir.getInt64Ty(), lane)); };
  }
  auto* base = f.shared_base();
  auto* type = llvm::FixedVectorType::get(ir.getInt32Ty(), f.lanes());
  std::vector<llvm::Value*> offsets;
  for (unsigned p = 0; p < f.parts(); ++p)
    offsets.push_back(ir.CreateTrunc(ir.CreateSub(f.part(address, p).v, f.splat(base)), type));
  auto* array = f.spill_parts(offsets);
  return [&f, array, base](llvm::Value* lane) {
    auto* offset = f.ir.CreateZExt(f.load_lane(array, f.ir.getInt32Ty(), lane), f.ir.getInt64Ty());
    return f.pointer(f.ir.CreateAdd(offset, base));
  };
}

/// Elements of a vector are separate accesses, made one after the other.
/// @param destination  operand of the old value, or -1; then address, value(s) follow at `first`
void atomic(FunctionCompiler& f, int destination, unsigned first, bool compare) {
  auto& ir = f.ir;
  Mod space = f.opcode().get(ModKind::space);
  const bool shared = ptx::space_of(space) == ptx::Space::shared;
  Type type = f.opcode().type(f.opcode().type_count - 1), bits = isa::bits_type(isa::bit_size(type));
  Atomic op{f, type, shared && !f.context.kernel.clustered, ordering_of(f.opcode())};
  ++f.context.statistics.memory_operations;
  ++f.context.statistics.not_vectorised;
  WarpValue address = f.address_of(f.operand(first), space);
  const unsigned bytes = isa::byte_size(type) * static_cast<unsigned>(f.elements(first + 1).size());
  f.check_remote(f.operand(first), space, address, bytes, f.executing());
  f.trap_misaligned(f.operand(first), space, address, bytes);
  auto* element = ir.getIntNTy(isa::bit_size(type));
  // The bits that trap a misaligned address lie in its upper half.
  const bool narrow = shared && (1u << f.plan.address_alignment(f.operand(first), space)) >= bytes;
  auto place_of = spill_addresses(f, address, narrow);
  auto b = spill_elements(f, first + 1, element);
  auto c = compare ? spill_elements(f, first + 2, element) : std::vector<LaneValues>();
  std::vector<ptx::Operand> destinations;
  if (destination >= 0 && f.wants(static_cast<unsigned>(destination)))
    destinations = f.elements(static_cast<unsigned>(destination));
  std::vector<llvm::Value*> results;
  for (std::size_t k = 0; k < destinations.size(); ++k)
    results.push_back(f.entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "old", 64));
  Mod operation = f.opcode().get(ModKind::operation);
  auto one_lane = [&](llvm::Value* lane) {
    auto* at = place_of(lane);
    for (unsigned k = 0; k < b.size(); ++k) {
      auto* place = k ? ir.CreateConstGEP1_32(element, at, k) : at;
      auto* old =
          op.run(operation, place, b[k].of(f, element, lane), compare ? c[k].of(f, element, lane) : nullptr);
      if (!results.empty()) f.store_lane(results[k], old, lane);
    }
  };
  auto* running = f.mask_bits(f.executing());
  // The others wait for the bus, or are long.
  const bool is_short = op.plain && b.size() == 1 && !op.has_halves();
  is_short ? f.for_each_lane_unrolled(running, one_lane) : f.for_each_marked_lane(running, one_lane);
  for (std::size_t k = 0; k < results.size(); ++k) f.write_spilled(destinations[k], bits, results[k]);
}

}  // namespace

template <>
void emit<Op::atom>(FunctionCompiler& f) {
  atomic(f, 0, 1, false);
}
template <>
void emit<Op::atom_cas>(FunctionCompiler& f) {
  atomic(f, 0, 1, true);
}
template <>
void emit<Op::atom_half>(FunctionCompiler& f) {
  atomic(f, 0, 1, false);
}
template <>
void emit<Op::atom_vec>(FunctionCompiler& f) {
  atomic(f, 0, 1, false);
}
template <>
void emit<Op::red_vec>(FunctionCompiler& f) {
  atomic(f, -1, 0, false);
}
// One cmpxchg16b, which every processor of the x86-64-v2 level has; an exchange is a loop of them.
template <>
void emit<Op::atom_b128>(FunctionCompiler& f) {
  atomic(f, 0, 1, f.opcode().has(Mod::cas));
}
template <>
void emit<Op::red>(FunctionCompiler& f) {
  atomic(f, -1, 0, false);
}
template <>
void emit<Op::red_half>(FunctionCompiler& f) {
  atomic(f, -1, 0, false);
}

}  // namespace raddle::jit
