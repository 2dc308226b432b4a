// Pairs of words that lanes store, of MemoryAccess, where the pairs of each four lanes lie side by side, as
// those of a product of matrices: an access of the host for four lanes in place of one for each lane. They
// are one vector of the program, or two stores behind each other at addresses 4 bytes apart; of these the
// second makes both. Only where all lanes are sure to take part.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "isa/op.h"
#include "jit/memory_access.h"
#include "jit/together.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Instruction;
using ptx::Operand;

namespace {

constexpr unsigned kRowLanes = 4, kWordBytes = 4, kPairBytes = 8, kRowBytes = kRowLanes * kPairBytes;

}  // namespace

bool MemoryAccess::has_all_lanes(const Mask& mask) const {
  return code_.has_mask_registers() && code_.thread() == nullptr &&
         std::ranges::all_of(mask, [](llvm::Value* part) {
           const auto* known = llvm::dyn_cast<llvm::Constant>(part);
           return known != nullptr && known->isAllOnesValue();
         });
}

bool MemoryAccess::has_rows(const Access& a) const {
  if (!a.address.shape.affine || !a.is_plain() || a.bytes != kWordBytes || a.count != 2 ||
      !has_all_lanes(a.mask))
    return false;
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (unsigned l = 0; l < code_.lanes(); ++l)
      if (offset_in_part(a, p, l) != offset_in_part(a, p, l - l % kRowLanes) + l % kRowLanes * kPairBytes)
        return false;
  return true;
}

/// Of the row that a lane begins; rows are stored in their order, so that the highest lane counts where
/// several write to one place.
llvm::Value* MemoryAccess::row_of(const Parts& values, unsigned lane) {
  const unsigned p = lane / code_.lanes(), first = lane % code_.lanes();
  std::vector<int> mask;
  for (unsigned l = first; l < first + kRowLanes; ++l)
    mask.insert(mask.end(), {static_cast<int>(l), static_cast<int>(code_.lanes() + l)});
  return ir_.CreateShuffleVector(values[0][p], values[1][p], mask);
}

void MemoryAccess::store_near_rows(const Access& a, const Parts& values) {
  for (unsigned lane = 0; lane < exec::kWarpSize; lane += kRowLanes) {
    const unsigned p = lane / code_.lanes();
    const auto offset = static_cast<std::uint64_t>(offset_in_part(a, p, lane % code_.lanes()));
    auto* start = ir_.CreateAdd(values_.scalar(a.address, p).v, ir_.getInt64(offset));
    ir_.CreateAlignedStore(row_of(values, lane), code_.pointer(start), llvm::Align(kWordBytes));
  }
}

// ---- two stores ----

bool MemoryAccess::are_pair(const Instruction& first, const Instruction& second) const {
  const auto is_one = [&](const Instruction& i) {
    return i.op() == isa::Op::st && i.guard == ptx::kNone && is_plain_access(i) &&
           isa::byte_size(i.opcode->type(i.opcode->type_count - 1)) == kWordBytes &&
           cursor_.function.operands_of(i)[1].kind != Operand::Kind::vector;
  };
  if (!is_one(first) || !is_one(second) || first.opcode->text != second.opcode->text) return false;
  const Operand &a = cursor_.function.operands_of(first)[0], &b = cursor_.function.operands_of(second)[0];
  return first.opcode->get(ModKind::space) == Mod::global && a.base == Operand::Base::reg &&
         b.base == Operand::Base::reg && a.index == b.index && b.value == a.value + kWordBytes &&
         a.value % kRowBytes == 0 && !cursor_.plan.shape(a.index).affine &&
         isa::bit_size(cursor_.function.registers[a.index].type) == 64;
}

/// The instruction so many further on that forms a pair with this one; null if there is none.
const Instruction* MemoryAccess::other_of_pair(int distance) const {
  const KernelPlan& kernel = module_.kernel;
  if (kernel.windowed || kernel.modelled || kernel.clustered || module_.listener || cursor_.plan.together ||
      !has_all_lanes(registers_.executing()))
    return nullptr;
  const ptx::Block& block = cursor_.function.blocks[cursor_.block];
  const auto* other = cursor_.instruction + distance;
  const auto number = other - cursor_.function.instructions.data();
  if (number < block.begin || number >= block.end) return nullptr;
  const bool forms =
      distance < 0 ? are_pair(*other, *cursor_.instruction) : are_pair(*cursor_.instruction, *other);
  return forms ? other : nullptr;
}

/// Whether each four lanes' pairs follow each other from a multiple of a row on (i1): in one page, so that
/// the first of them faults if any does.
llvm::Value* MemoryAccess::lie_in_rows(const std::vector<llvm::Value*>& addresses) {
  std::vector<int> first_of_row;
  std::vector<llvm::Constant*> distances;
  for (unsigned l = 0; l < code_.lanes(); ++l) {
    first_of_row.push_back(static_cast<int>(l - l % kRowLanes));
    distances.push_back(ir_.getInt64(l % kRowLanes * kPairBytes));
  }
  Mask differing;
  for (auto* x : addresses) {
    auto* begin = ir_.CreateXor(x, llvm::ConstantVector::get(distances));
    auto* low = ir_.CreateAnd(begin, code_.splat(ir_.getInt64(kRowBytes - 1)));
    auto* differs = ir_.CreateOr(ir_.CreateXor(begin, ir_.CreateShuffleVector(begin, first_of_row)), low);
    differing.push_back(ir_.CreateICmpNE(differs, llvm::Constant::getNullValue(differs->getType())));
  }
  return ir_.CreateNot(masks_.any(differing));
}

void MemoryAccess::store_pair(const Instruction& first) {
  const Instruction& second = *cursor_.instruction;
  const Mod space = cursor_.opcode().get(ModKind::space);
  const Operand to[] = {cursor_.function.operands_of(first)[0], cursor_.operand(0)};
  const Operand from[] = {cursor_.function.operands_of(first)[1], cursor_.operand(1)};
  Parts values(2);
  for (unsigned n = 0; n < 2; ++n) {
    const WarpValue value = registers_.read(from[n]);
    for (unsigned p = 0; p < code_.parts(); ++p) {
      const Val v = values_.part(value, p);
      values[n].push_back(
          ir_.CreateZExtOrTrunc(v.as(isa::bits_type(v.bits())).v, code_.vector_of(ir_.getInt32Ty())));
    }
  }
  Operand base = to[0];
  base.kind = Operand::Kind::reg;
  base.type = isa::Type::none;
  base.negated = false;
  const std::vector<llvm::Value*> addresses = values_.vectors(registers_.read(base));
  std::vector<llvm::Value*> starts;  // found before the test, so that all pairs near a register share them
  for (unsigned lane = 0; lane < exec::kWarpSize; lane += kRowLanes)
    starts.push_back(
        code_.pointer(ir_.CreateExtractElement(addresses[lane / code_.lanes()], lane % code_.lanes())));
  const auto near = [&] {
    code_.at_line(first.line);
    loops_.for_all_marked([&](unsigned lane) {
      if (lane % kRowLanes != 0) return;
      auto* start = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), starts[lane / kRowLanes],
                                           static_cast<std::uint64_t>(to[0].value));
      ir_.CreateAlignedStore(row_of(values, lane), start, llvm::Align(kRowBytes));
    });
  };
  const auto apart = [&] {
    for (unsigned n = 0; n < 2; ++n) {
      code_.at_line(n == 0 ? first.line : second.line);
      WarpAccess begun = addresses_.begin(to[n], space, kWordBytes);
      store_scatter({.type = isa::Type::b32,
                     .bytes = kWordBytes,
                     .count = 1,
                     .address = std::move(begun.address),
                     .mask = std::move(begun.lanes),
                     .ordering = llvm::AtomicOrdering::NotAtomic,
                     .elements = {},
                     .fetches_lines = n == 0},  // the others lie there
                    {values[n]});
    }
  };
  code_.if_else(lie_in_rows(addresses), near, apart);
  code_.at_line(second.line);
}

}  // namespace raddle::jit
