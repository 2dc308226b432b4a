// Volatile and relaxed loads and stores of shared memory, of MemoryAccess, where nobody can look while the
// warp runs: vectors of the host, as of ordinary accesses. Old CUDA reductions and scans, whose warps work
// without barriers, consist of them.
//
// Shared memory of a CTA without a cluster belongs to one worker (ADR 0012), which runs something else only
// at calls: at polls, barriers, waits, other services. So between two calls nobody sees in which order the
// lanes' accesses are made, or of how many pieces one is (no host splits an aligned element of 4 or 8 bytes
// anyway). What is left of PTX's rules is the compiler's part: it leaves none out, joins none with another,
// and moves none across another or across a call. LLVM 19 has no volatile vector accesses under a mask, so an
// empty piece of assembly that may touch all memory follows each, and reads what was loaded. In a cluster
// other workers look: such code makes these accesses lane by lane (ADR 0102).
#include <llvm/IR/InlineAsm.h>

#include "jit/memory_access.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Operand;

bool MemoryAccess::is_alone(const Access& a, const Operand& address) const {
  constexpr unsigned kLeastLanes = 8;  // below, the host has no masks, and LLVM makes a branch for each lane
  if (a.ordering != llvm::AtomicOrdering::Monotonic || a.count != 1 || (a.bytes != 4 && a.bytes != 8) ||
      module_.kernel.clustered || code_.lanes() < kLeastLanes)
    return false;
  const Mod space = cursor_.opcode().get(ModKind::space);
  if (space == Mod::none)
    return address.base == Operand::Base::variable &&
           module_.kernel.module.variables[address.index].space == ptx::Space::shared;
  return ptx::space_of(space) == ptx::Space::shared;
}

/// The lanes' elements lie side by side, in order: then a vector of the host tells which lane's faulted.
bool MemoryAccess::is_row(const Access& a) const {
  if (!a.address.shape.affine) return false;
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (unsigned l = 0; l < code_.lanes(); ++l)
      if (offset_in_part(a, p, l) != std::int64_t{a.bytes} * l) return false;
  return true;
}

/// Gathers and scatters are instructions of the host, which tell the lane: what LLVM makes of them elsewhere
/// does not.
bool MemoryAccess::has_lanes_of_addresses() const { return code_.has_mask_registers(); }

/// Of a part's lanes, those of its k-th vector of the host.
LaneRun MemoryAccess::run_of_row(const Access& a, unsigned k) const {
  const unsigned count = code_.lanes() * 4 / a.bytes;
  return {k * count, count};
}

MemoryAccess::Parts MemoryAccess::load_row(const Access& a) {
  Parts result(1);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    std::vector<llvm::Value*> vectors;
    for (unsigned k = 0; k < a.bytes / 4; ++k) {
      const LaneRun run = run_of_row(a, k);
      auto* type = llvm::FixedVectorType::get(ir_.getIntNTy(a.bytes * 8), run.count);
      auto *at = start_of_run(a, {p * code_.lanes() + run.first, run.count}), *mask = some_of(a.mask[p], run);
      vectors.push_back(code_.for_lanes({p * code_.lanes() + run.first, run.count}, [&] {
        return ir_.CreateMaskedLoad(type, at, llvm::Align(a.bytes), mask, llvm::Constant::getNullValue(type));
      }));
    }
    if (vectors.size() == 1) {
      result[0].push_back(vectors[0]);
      continue;
    }
    std::vector<int> all;
    for (unsigned l = 0; l < code_.lanes(); ++l) all.push_back(static_cast<int>(l));
    result[0].push_back(ir_.CreateShuffleVector(vectors[0], vectors[1], all));
  }
  return result;
}

void MemoryAccess::store_row(const Access& a, const Parts& values) {
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (unsigned k = 0; k < a.bytes / 4; ++k) {
      const LaneRun run = run_of_row(a, k), lanes{p * code_.lanes() + run.first, run.count};
      auto *at = start_of_run(a, lanes), *mask = some_of(a.mask[p], run), *some = some_of(values[0][p], run);
      code_.for_lanes(lanes, [&] { return ir_.CreateMaskedStore(some, at, llvm::Align(a.bytes), mask); });
    }
}

/// @param lanes  of the warp, within a part
llvm::Value* MemoryAccess::start_of_run(const Access& a, LaneRun lanes) {
  const unsigned p = lanes.first / code_.lanes();
  auto* start = values_.scalar(a.address, p).v;
  const std::uint64_t bytes = std::uint64_t{lanes.first % code_.lanes()} * a.bytes;
  return code_.pointer(bytes == 0 ? start : ir_.CreateAdd(start, ir_.getInt64(bytes)));
}

MemoryAccess::Parts MemoryAccess::load_alone(const Access& a) {
  Parts values;
  if (a.address.shape.uniform()) {
    llvm::Value* one = nullptr;
    loops_.for_one_marked(masks_.first_lane(masks_.bits(a.mask)), [&] { one = load_uniform(a)[0]; });
    keep_here({});
    return {std::vector<llvm::Value*>(code_.parts(), code_.splat(one))};
  }
  const auto gathered = [&](const Access& any) {
    return has_lanes_of_addresses() ? load_gather(any) : load_lanes(any);
  };
  if (!is_row(a)) {
    ++module_.statistics.not_vectorised;
    values = gathered(a);
  } else {
    const auto near = [&] { return load_by_mask(a, [this](const Access& some) { return load_row(some); }); };
    values = a.address.shape.checked ? load_checked(a, near, [&] { return gathered(wrapped(a)); }) : near();
  }
  keep_here(values);
  return values;
}

void MemoryAccess::store_alone(const Access& a, const std::vector<WarpValue>& inputs, const Parts& values) {
  const auto spread = [&](const Access& any) {
    has_lanes_of_addresses() ? store_scatter(any, values) : store_lanes(any, values);
  };
  const auto near = [&] { store_by_mask(a, [&](const Access& some) { store_row(some, values); }); };
  if (a.address.shape.uniform()) {
    loops_.for_one_marked(masks_.first_lane(masks_.bits(a.mask)), [&] { store_uniform(a, inputs); });
  } else if (!is_row(a)) {
    ++module_.statistics.not_vectorised;
    spread(a);
  } else if (a.address.shape.checked) {
    code_.two_ways(a.address.ok, near, [&] { spread(wrapped(a)); });
  } else {
    near();
  }
  keep_here({});
}

/// The accesses so far are made before the next, and what was loaded is used.
void MemoryAccess::keep_here(const Parts& values) {
  std::vector<llvm::Value*> kept;
  std::vector<llvm::Type*> types;
  std::string constraints;
  for (const auto& element : values)
    for (auto* part : element) {
      auto* type = llvm::cast<llvm::FixedVectorType>(part->getType());
      const unsigned count = code_.lanes() * 32 / type->getScalarSizeInBits();  // in a vector of the host
      for (unsigned first = 0; first < code_.lanes(); first += count) {
        kept.push_back(some_of(part, {first, count}));
        types.push_back(kept.back()->getType());
        constraints += "v,";
      }
    }
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), types, false);
  ir_.CreateCall(llvm::InlineAsm::get(type, "", constraints + "~{memory}", true), kept);
}

}  // namespace raddle::jit
