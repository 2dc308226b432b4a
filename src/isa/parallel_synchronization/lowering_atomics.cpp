// JIT: atom, red and multimem.red, lane by lane in lane order. Shared memory of a CTA without a cluster is
// touched by one worker only, so its atomics need no lock prefix (ADR 0012): plain read, operation, write.
#include <llvm/IR/Intrinsics.h>

#include <optional>

#include "isa/op.h"
#include "jit/atomic_run.h"
#include "jit/mbarriers.h"
#include "jit/sends.h"
#include "jit/vector_math.h"
#include "jit/warp_emitter.h"

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
  WarpEmitter& e;
  Type type;
  bool plain;  ///< no other worker can touch the memory
  llvm::AtomicOrdering ordering;
  ptx::Space space;

  Val value(llvm::Value* v) const { return Val{&e.ir, v, isa::bits_type(isa::bit_size(type))}.as(type); }
  llvm::Value* bits(Val v) const { return v.as(isa::bits_type(isa::bit_size(type))).v; }

  /// Outside of shared memory additions of f32 flush subnormals: zeros of their sign are added, and written.
  Val sum(llvm::Value* at, Val x, Val y) const {
    const Val exact = x + y;
    if (type != Type::f32 || space == ptx::Space::shared) return exact;
    const Val flushed = flush_always(flush_always(x) + flush_always(y));
    if (space == ptx::Space::global) return flushed;
    auto& ir = e.ir;
    auto* shared = e.spaces.in_cluster(ir.CreatePtrToInt(at, ir.getInt64Ty()));
    return select(Val{&ir, shared, Type::pred}, exact, flushed);
  }

  /// The new value, on bits.
  llvm::Value* combine(Mod operation, llvm::Value* at, llvm::Value* old, llvm::Value* b) const {
    auto& ir = e.ir;
    if (has_halves()) return combine_halves(operation, old, b);
    Val x = value(old), y = value(b);
    switch (operation) {
      case Mod::add:
        return bits(sum(at, x, y));
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
    auto& ir = e.ir;
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
    auto& ir = e.ir;
    auto align = llvm::Align(isa::byte_size(type));
    if (plain) {
      auto* old = ir.CreateAlignedLoad(b->getType(), at, align);
      auto* updated = replacement ? ir.CreateSelect(ir.CreateICmpEQ(old, b), replacement, old)
                                  : combine(operation, at, old, b);
      // A swap for what is there changes nothing, but faults where no memory is.
      ir.CreateAlignedStore(updated, at, align, replacement != nullptr);
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
    auto& ir = e.ir;
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
    auto* swap = ir.CreateAtomicCmpXchg(at, old, combine(operation, at, old, b), align, ordering, failure);
    old->addIncoming(ir.CreateExtractValue(swap, 0), ir.GetInsertBlock());
    ir.CreateCondBr(ir.CreateExtractValue(swap, 1), after, loop);
    ir.SetInsertPoint(after);
    return old;
  }
};

/// The elements of a scalar or {vector} source, as integers.
std::vector<LaneValue> spill_elements(WarpEmitter& e, unsigned k, llvm::Type* element) {
  std::vector<LaneValue> values;
  for (const auto& operand : e.elements(k)) {
    const WarpValue v = e.registers.read(operand);
    auto integer = [&](Val x, llvm::Type* type) {
      return e.ir.CreateZExtOrTrunc(x.as(isa::bits_type(x.bits())).v, type);
    };
    if (v.shape.uniform()) {
      values.emplace_back(integer(e.scalar(v), element));
      continue;
    }
    std::vector<llvm::Value*> parts;
    for (unsigned p = 0; p < e.parts(); ++p)
      parts.push_back(integer(e.part(v, p), e.code.vector_of(element)));
    values.emplace_back(e.spill(parts));
  }
  return values;
}

/// Where each lane's access goes.
struct Places {
  std::function<llvm::Value*(llvm::Value* lane)> of;
  llvm::Value* safe = nullptr;  ///< i1: all lanes' lie in the block's memory; null: not known
};

/// @param narrow  shared addresses are kept as the 32-bit offsets they came as
Places spill_addresses(WarpEmitter& e, const WarpValue& address, bool narrow) {
  auto& ir = e.ir;
  if (e.code.thread()) {  // the only one
    auto* at = e.code.pointer(e.scalar(address).v);
    return {[at](llvm::Value*) { return at; }};
  }
  if (!narrow) {
    const LaneArray array = e.spill(address);
    return {[&e, array](llvm::Value* lane) { return e.code.pointer(array[lane]); }};
  }
  auto *base = e.spaces.shared_base(), *end = e.splat(e.spaces.shared_bytes());
  std::vector<llvm::Value*> offsets;
  Mask outside;
  for (unsigned p = 0; p < e.parts(); ++p) {
    offsets.push_back(ir.CreateTrunc(ir.CreateSub(e.part(address, p).v, e.splat(base)), e.words()));
    outside.push_back(ir.CreateICmpUGE(offsets.back(), end));
  }
  const LaneArray array = e.spill(offsets);
  return {[&e, array, base](llvm::Value* lane) {
            auto* offset = e.ir.CreateSExt(array[lane], e.ir.getInt64Ty());
            return e.code.pointer(e.ir.CreateAdd(offset, base));
          },
          ir.CreateNot(e.masks.any(outside))};
}

/// What was there before, of each lane that executes.
class OldValues {
 public:
  OldValues(WarpEmitter& e, llvm::Type* element) : e_(e), element_(element) {
    if (e.code.thread())
      one_ = e.code.entry_alloca(element, "old");
    else
      lanes_.emplace(e.lane_array(element, "old"));
  }
  void set(llvm::Value* lane, llvm::Value* value) {
    one_ ? static_cast<void>(e_.ir.CreateStore(value, one_)) : lanes_->set(lane, value);
  }
  void write(const ptx::Operand& destination, Type bits) {
    one_ ? e_.registers.write_uniform(destination, bits, e_.ir.CreateLoad(element_, one_))
         : e_.registers.write_parts(destination, bits, lanes_->parts());
  }

 private:
  WarpEmitter& e_;
  llvm::Type* element_;
  llvm::AllocaInst* one_ = nullptr;  // of the only thread
  std::optional<LaneArray> lanes_;
};

/// Others of its run come behind it.
bool is_followed(const WarpEmitter& e) {
  return e.code.thread() == nullptr &&
         atomic_run(e.cursor.plan, e.cursor.block, *e.cursor.instruction).back() != e.cursor.instruction;
}

/// Elements of a vector are separate accesses, made one after the other.
/// @param destination  operand of the old value, or -1; then address, value(s) follow at `first`
void atomic(WarpEmitter& e, int destination, unsigned first, bool compare) {
  auto& ir = e.ir;
  const ptx::Space space = ptx::space_of(e.get(ModKind::space));
  const bool shared = space == ptx::Space::shared;
  const Type type = e.type(e.opcode().type_count - 1), bits = isa::bits_type(isa::bit_size(type));
  const Atomic op{e, type, shared && !e.kernel.clustered, ordering_of(e.opcode()), space};
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const WarpAccess access = e.addresses.begin(e.operand(first));
  auto* element = e.code.lane_type(type);
  // What traps a misaligned address lies in its upper half.
  const bool narrow = shared && e.addresses.is_aligned(e.operand(first), access.access.bytes);
  const Places places = spill_addresses(e, access.address, narrow);
  const auto b = spill_elements(e, first + 1, element);
  const auto c = compare ? spill_elements(e, first + 2, element) : std::vector<LaneValue>();
  std::vector<ptx::Operand> destinations;
  if (destination >= 0 &&
      is_read(e.cursor.plan, e.cursor.block, *e.cursor.instruction, static_cast<unsigned>(destination)))
    destinations = e.elements(static_cast<unsigned>(destination));
  std::vector<OldValues> results;
  for (std::size_t k = 0; k < destinations.size(); ++k) results.emplace_back(e, element);
  const Mod operation = e.get(ModKind::operation);
  auto* kept = results.empty() ? nullptr : &results;
  auto one_lane = [=, &ir](llvm::Value* lane) -> std::function<void()> {
    auto* at = places.of(lane);
    std::vector<llvm::Value*> values, replacements;
    for (unsigned k = 0; k < b.size(); ++k) {
      values.push_back(b[k][lane]);
      replacements.push_back(compare ? c[k][lane] : nullptr);
    }
    return [=, &ir] {
      for (unsigned k = 0; k < values.size(); ++k) {
        auto* place = k ? ir.CreateConstGEP1_32(element, at, k) : at;
        auto* old = op.run(operation, place, values[k], replacements[k]);
        if (kept != nullptr) (*kept)[k].set(lane, old);
      }
    };
  };
  auto* running = e.bits(e.executing()).v;
  // The others wait for the bus, or are long.
  const bool is_short = op.plain && b.size() == 1 && !op.has_halves();
  if (is_short && is_followed(e)) return e.loops.join_next(one_lane, places.safe);
  if (is_short)
    e.loops.for_each_joined(running, one_lane, places.safe);
  else
    e.loops.for_each_marked(running, [&](llvm::Value* lane) { one_lane(lane)(); });
  for (std::size_t k = 0; k < results.size(); ++k) results[k].write(destinations[k], bits);
}

}  // namespace

template <>
void emit<Op::atom>(WarpEmitter& e) {
  atomic(e, 0, 1, false);
}
template <>
void emit<Op::atom_cas>(WarpEmitter& e) {
  atomic(e, 0, 1, true);
}
template <>
void emit<Op::atom_half>(WarpEmitter& e) {
  atomic(e, 0, 1, false);
}
template <>
void emit<Op::atom_vec>(WarpEmitter& e) {
  atomic(e, 0, 1, false);
}
template <>
void emit<Op::red_vec>(WarpEmitter& e) {
  atomic(e, -1, 0, false);
}
// One cmpxchg16b, which every processor of the x86-64-v2 level has; an exchange is a loop of them.
template <>
void emit<Op::atom_b128>(WarpEmitter& e) {
  atomic(e, 0, 1, e.has(Mod::cas));
}
template <>
void emit<Op::red>(WarpEmitter& e) {
  atomic(e, -1, 0, false);
}
template <>
void emit<Op::red_async>(WarpEmitter& e) {
  if (e.kernel.late_copies) return send_late(e, bulk_reduction(e));
  atomic(e, -1, 0, false);
  complete_transactions(e, 2, isa::byte_size(e.type()));
}
template <>
void emit<Op::red_half>(WarpEmitter& e) {
  atomic(e, -1, 0, false);
}
template <>
void emit<Op::multimem_red>(WarpEmitter& e) {
  atomic(e, -1, 0, false);
}

}  // namespace raddle::jit
