// Vectors of 16 bytes at addresses without a common distance, of MemoryAccess: an access of the host for each
// lane, and shuffles between lanes and elements. Gathers and scatters take the elements one at a time, four
// times as many. Only where all lanes are sure to take part: nothing is tested.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "jit/memory_access.h"
#include "jit/transposes.h"

namespace raddle::jit {
namespace {

constexpr unsigned kWideBytes = 16;

using Vectors = std::vector<llvm::Value*>;

std::vector<int> every_other(unsigned count, int first) {
  std::vector<int> mask;
  for (unsigned i = 0; i < count; ++i) mask.push_back(static_cast<int>(2 * i) + first);
  return mask;
}

/// Of a row of groups of elements, which vectors hold side by side, each element's own row.
std::vector<Vectors> parted(Builder& ir, const Vectors& groups, unsigned elements) {
  if (elements == 1) return {groups};
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(groups[0]->getType())->getNumElements();
  std::vector<Vectors> halves[2];
  for (const int odd : {0, 1}) {
    Vectors some;
    for (std::size_t i = 0; i < groups.size(); i += 2)
      some.push_back(ir.CreateShuffleVector(groups[i], groups[i + 1], every_other(lanes, odd)));
    halves[odd] = parted(ir, some, elements / 2);
  }
  std::vector<Vectors> all;
  for (std::size_t i = 0; i < halves[0].size(); ++i) all.insert(all.end(), {halves[0][i], halves[1][i]});
  return all;
}

/// The way back.
Vectors joined(Builder& ir, const std::vector<Vectors>& elements) {
  if (elements.size() == 1) return elements[0];
  std::vector<Vectors> halves[2];
  for (std::size_t i = 0; i < elements.size(); ++i) halves[i % 2].push_back(elements[i]);
  const Vectors even = joined(ir, halves[0]), odd = joined(ir, halves[1]);
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(even[0]->getType())->getNumElements();
  Vectors groups;
  for (std::size_t i = 0; i < even.size(); ++i)
    for (unsigned half = 0; half < 2; ++half) {
      std::vector<int> mask;
      for (unsigned l = half * lanes / 2; l < (half + 1) * lanes / 2; ++l)
        mask.insert(mask.end(), {static_cast<int>(l), static_cast<int>(lanes + l)});
      groups.push_back(ir.CreateShuffleVector(even[i], odd[i], mask));
    }
  return groups;
}

}  // namespace

bool MemoryAccess::is_wide(const Access& a) const {
  if (a.is_atomic() || a.count < 2 || a.bytes < 4 || a.bytes * a.count != kWideBytes || code_.lanes() < 4 ||
      code_.thread() != nullptr)
    return false;
  return std::ranges::all_of(a.mask, [](llvm::Value* part) {
    const auto* known = llvm::dyn_cast<llvm::Constant>(part);
    return known != nullptr && known->isAllOnesValue();
  });
}

/// @param addresses  the lanes' in memory, null where they have constant distances (a checked address: where
///                   its flag holds)
llvm::Value* MemoryAccess::start_of_lane(const Access& a, llvm::Value* addresses, unsigned lane) {
  if (addresses != nullptr)
    return code_.pointer(values_.load_lane(addresses, ir_.getInt64Ty(), ir_.getInt32(lane)));
  const unsigned p = lane / code_.lanes();
  const auto offset = static_cast<std::uint64_t>(offset_in_part(a, p, lane % code_.lanes()));
  return code_.pointer(ir_.CreateAdd(values_.scalar(a.address, p).v, ir_.getInt64(offset)));
}

/// Lines that the next turn of a loop will read, each once where distances are known.
void MemoryAccess::prefetch_wide_lanes(const Access& a, llvm::Value* addresses) {
  constexpr std::int64_t kLine = 64;
  auto* distance = a.operand != nullptr && a.address.shape.affine ? step_of_turn(*a.operand) : nullptr;
  if (distance == nullptr) return;
  for (unsigned lane = 0, last = 0; lane < exec::kWarpSize; ++lane) {
    const auto from_last = a.address.shape.offset(lane) - a.address.shape.offset(last);
    if (lane % code_.lanes() != 0 && from_last >= 0 && from_last < kLine) continue;
    last = lane;
    prefetch(
        ir_.CreateAdd(ir_.CreatePtrToInt(start_of_lane(a, addresses, lane), ir_.getInt64Ty()), distance));
  }
}

/// The accesses are volatile, and frozen lest LLVM make a load one with a shuffle: each is an instruction of
/// its own, which tells its lane.
MemoryAccess::Parts MemoryAccess::load_wide_lanes(const Access& a) {
  llvm::Value* addresses = a.address.shape.affine ? nullptr : values_.spill(a.address);
  if (addresses != nullptr) keep_in_memory(ir_, addresses);
  prefetch_wide_lanes(a, addresses);
  auto* group = llvm::FixedVectorType::get(ir_.getIntNTy(a.bytes * 8), a.count);
  Parts result(a.count);
  Vectors rows;
  loops_.for_all_marked([&](unsigned lane) {
    auto* at = start_of_lane(a, addresses, lane);
    rows.push_back(ir_.CreateFreeze(ir_.CreateAlignedLoad(group, at, llvm::Align(kWideBytes), true)));
  });
  const unsigned in_vector = code_.lanes() / a.count;  // lanes
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const auto begin = rows.begin() + p * code_.lanes();
    if (has_quads(a)) {
      const auto words =
          words_of_quads(ir_, llvm::concatenateVectors(ir_, Vectors(begin, begin + code_.lanes())));
      for (unsigned e = 0; e < a.count; ++e) result[e].push_back(words[e]);
      continue;
    }
    Vectors groups;
    for (unsigned l = 0; l < code_.lanes(); l += in_vector) {
      const auto first = begin + l;
      groups.push_back(llvm::concatenateVectors(ir_, Vectors(first, first + in_vector)));
    }
    const auto elements = parted(ir_, groups, a.count);
    for (unsigned e = 0; e < a.count; ++e) result[e].push_back(elements[e][0]);
  }
  return result;
}

/// In the order of lanes, so that the highest counts where several write to one place.
void MemoryAccess::store_wide_lanes(const Access& a, const Parts& values) {
  llvm::Value* addresses = a.address.shape.affine ? nullptr : values_.spill(a.address);
  if (addresses != nullptr) keep_in_memory(ir_, addresses);
  const unsigned in_vector = has_quads(a) ? code_.lanes() : code_.lanes() / a.count;
  std::vector<Vectors> groups;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    if (has_quads(a)) {
      groups.push_back({quads_of(values, p)});
      continue;
    }
    std::vector<Vectors> elements;
    for (unsigned e = 0; e < a.count; ++e) elements.push_back({values[e][p]});
    groups.push_back(joined(ir_, elements));
  }
  loops_.for_all_marked([&](unsigned lane) {
    auto* vector = groups[lane / code_.lanes()][lane % code_.lanes() / in_vector];
    auto* type = llvm::FixedVectorType::get(ir_.getIntNTy(a.bytes * 8), a.count);
    auto* group = ir_.CreateExtractVector(type, vector, ir_.getInt64(lane % in_vector * a.count));
    ir_.CreateAlignedStore(group, start_of_lane(a, addresses, lane), llvm::Align(kWideBytes), true);
  });
}

}  // namespace raddle::jit
