// JIT: atom and red, lane by lane in lane order. Shared memory of a CTA without cluster is touched by one
// worker only, so its atomics need no lock prefix (ADR 0012): plain read, operation, write.
#include <llvm/IR/Intrinsics.h>

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
    Val x = value(old), y = value(b);
    switch (operation) {
      case Mod::add:
        return isa::type_class(type) == isa::TypeClass::packed_float || type == Type::f16 ||
                       type == Type::bf16
                   ? add_halves(old, b)
                   : bits(x + y);
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

  /// f16, bf16 and their pairs, through f32 (the sum of two halves is exact there or rounds once). Converted
  /// by vector_math: LLVM's own truncation calls a library that is not there, or flushes bf16's subnormals.
  llvm::Value* add_halves(llvm::Value* old, llvm::Value* b) const {
    auto& ir = f.ir;
    Type element = type == Type::f16 || type == Type::f16x2 ? Type::f16 : Type::bf16;
    auto* vector = llvm::FixedVectorType::get(ir.getInt16Ty(), isa::bit_size(type) / 16);
    auto widen = [&](llvm::Value* v) {
      return widen_to_f32(Val{&ir, ir.CreateBitCast(v, vector), Type::b16}.as(element), element);
    };
    Val exact = widen(old) + widen(b), sum = narrow_from_f32(exact, element, Mod::rn).as(Type::b16);
    sum =
        select(is_nan(exact), sum.like(0x7fff), sum);  // NaN bits in memory must not depend on the processor
    return ir.CreateBitCast(sum.v, old->getType());
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

/// @param destination  operand of the old value, or -1; then address, value(s) follow at `first`
void atomic(FunctionCompiler& f, int destination, unsigned first, bool compare) {
  auto& ir = f.ir;
  Mod space = f.opcode().get(ModKind::space);
  bool shared = space == Mod::shared || space == Mod::shared_cta;
  Type type = f.opcode().type(f.opcode().type_count - 1);
  Atomic op{f, type, shared, ordering_of(f.opcode())};
  ++f.context.statistics.memory_operations;
  ++f.context.statistics.not_vectorised;
  WarpValue address = f.address_of(f.operand(first), space);
  auto* element = ir.getIntNTy(isa::bit_size(type));
  auto bits_of = [&](unsigned k) {
    WarpValue v = f.read(k);
    std::vector<llvm::Value*> parts;
    for (unsigned p = 0; p < f.parts(); ++p) {
      Val x = f.part(v, p);
      parts.push_back(ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v,
                                           llvm::FixedVectorType::get(element, f.lanes())));
    }
    return f.spill_parts(parts);
  };
  auto* addresses = f.spill(address);
  auto* b = bits_of(first + 1);
  auto* c = compare ? bits_of(first + 2) : nullptr;
  bool wants = destination >= 0 && f.wants(static_cast<unsigned>(destination));
  auto* results = wants ? f.entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "old", 64) : nullptr;
  Mod operation = f.opcode().get(ModKind::operation);
  f.for_each_lane(f.mask_bits(f.executing()), [&](llvm::Value* lane) {
    auto* at = f.pointer(f.load_lane(addresses, ir.getInt64Ty(), lane));
    auto* old =
        op.run(operation, at, f.load_lane(b, element, lane), c ? f.load_lane(c, element, lane) : nullptr);
    if (wants) f.store_lane(results, old, lane);
  });
  if (wants)
    f.write_spilled(f.operand(static_cast<unsigned>(destination)), isa::bits_type(isa::bit_size(type)),
                    results);
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
void emit<Op::red>(FunctionCompiler& f) {
  atomic(f, -1, 0, false);
}
template <>
void emit<Op::red_half>(FunctionCompiler& f) {
  atomic(f, -1, 0, false);
}

}  // namespace raddle::jit
