// Copies of 16 bytes a lane from global to shared memory (cp.async), of MemoryAccess, where each four lanes
// copy a line of the host's caches to another, as kernels do that bring tiles of matrices. Which of the four
// goes where within the line may differ from line to line: kernels swizzle, chunk c of a row goes to c ^ x.
// Whether lanes lie so is known, but for where their lines begin, or found when the code runs.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "jit/memory_access.h"

namespace raddle::jit {
namespace {

constexpr unsigned kLineLanes = 4, kChunkBytes = 16, kLineBytes = kLineLanes * kChunkBytes, kHostLanes = 16;

/// Of the four lanes' lowest, from the base.
std::int64_t begin_of_line(const Shape& shape, unsigned first_lane) {
  std::int64_t begin = shape.offset(first_lane);
  for (unsigned k = 1; k < kLineLanes; ++k) begin = std::min(begin, shape.offset(first_lane + k));
  return begin;
}

}  // namespace

bool MemoryAccess::may_copy_lines(const Access& to, const Access& from) const {
  return from.bytes * from.count == kChunkBytes && code_.lanes() == kHostLanes && has_all_lanes(to.mask) &&
         has_all_lanes(from.mask);
}

/// Addresses without the chunk's number, as if the lines' chunks lay in order; in memory swizzled by what is
/// left in the bits of that number.
std::vector<llvm::Value*> MemoryAccess::begins_of_lines(const Access& a) {
  std::vector<llvm::Constant*> chunks;
  for (unsigned l = 0; l < code_.lanes(); ++l) chunks.push_back(ir_.getInt64(l % kLineLanes * kChunkBytes));
  std::vector<llvm::Value*> begins = values_.vectors(a.address);
  for (auto*& x : begins) x = ir_.CreateXor(x, llvm::ConstantVector::get(chunks));
  return begins;
}

/// Whether each four lanes have one (i1), of which these bits are zero.
llvm::Value* MemoryAccess::are_lines(const std::vector<llvm::Value*>& begins, unsigned zeros) {
  std::vector<int> first_of_line;
  for (unsigned l = 0; l < code_.lanes(); ++l) first_of_line.push_back(static_cast<int>(l - l % kLineLanes));
  Mask differing;
  for (auto* x : begins) {
    auto* low = ir_.CreateAnd(x, code_.splat(ir_.getInt64(zeros)));
    auto* differs = ir_.CreateOr(ir_.CreateXor(x, ir_.CreateShuffleVector(x, first_of_line)), low);
    differing.push_back(ir_.CreateICmpNE(differs, llvm::Constant::getNullValue(differs->getType())));
  }
  return ir_.CreateNot(masks_.any(differing));
}

void MemoryAccess::copy_lines(const std::vector<llvm::Value*>& to, const std::vector<llvm::Value*>& from) {
  constexpr unsigned kWords = kLineBytes / 8;
  auto* line = llvm::FixedVectorType::get(ir_.getInt64Ty(), kWords);
  std::vector<llvm::Constant*> in_order;
  for (unsigned w = 0; w < kWords; ++w) in_order.push_back(ir_.getInt64(w));
  const auto of_lane = [&](const std::vector<llvm::Value*>& vectors, unsigned lane) {
    return ir_.CreateExtractElement(vectors[lane / code_.lanes()], lane % code_.lanes());
  };
  loops_.for_all_marked([&](unsigned lane) {
    if (lane % kLineLanes != 0) return;
    const llvm::Align align(kLineBytes);
    llvm::Value* value = ir_.CreateAlignedLoad(line, code_.pointer(of_lane(from, lane)), align);
    auto* begin = of_lane(to, lane);
    auto* swizzle = ir_.CreateAnd(ir_.CreateLShr(begin, 3), ir_.getInt64(kWords - 2));  // two words a chunk
    auto* order = ir_.CreateXor(llvm::ConstantVector::get(in_order), ir_.CreateVectorSplat(kWords, swizzle));
    value = ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_di_512, {}, {value, order});
    auto* start = ir_.CreateAnd(begin, ir_.getInt64(~std::uint64_t{kLineBytes - 1}));
    ir_.CreateAlignedStore(value, code_.pointer(start), align);
  });
}

void MemoryAccess::copy_lines_or(const Access& to, const Access& from, const std::function<void()>& by_lane) {
  const auto from_lines = begins_of_lines(from), to_lines = begins_of_lines(to);
  auto* are = ir_.CreateAnd(are_lines(from_lines, kLineBytes - 1), are_lines(to_lines, kChunkBytes - 1));
  code_.if_else(are, [&] { copy_lines(to_lines, from_lines); }, by_lane);
}

/// The four lanes' chunks follow each other in their sources, and fill 64 bytes at known places.
bool MemoryAccess::has_known_lines(const Access& to, const ptx::Operand& from) const {
  const Shape& shape = to.address.shape;
  if (!shape.affine || shape.per_part || cursor_.plan.address_shape(from).step_in_fours() != kChunkBytes)
    return false;
  for (unsigned l = 0; l < exec::kWarpSize; l += kLineLanes) {
    const std::int64_t begin = begin_of_line(shape, l);
    if ((begin - begin_of_line(shape, 0)) % kLineBytes != 0) return false;
    std::array<bool, kLineLanes> filled{};
    for (unsigned k = l; k < l + kLineLanes; ++k) {
      const std::int64_t at = shape.offset(k) - begin;
      if (at >= kLineBytes || at % kChunkBytes != 0) return false;
      filled[static_cast<std::size_t>(at / kChunkBytes)] = true;
    }
    if (std::ranges::find(filled, false) != filled.end()) return false;
  }
  return true;
}

void MemoryAccess::copy_known_lines(const Access& to, const std::vector<llvm::Value*>& from) {
  constexpr unsigned kPrefetched = 2;  // lines further on, which kernels copy soon: into the second cache
  const Shape& shape = to.address.shape;
  auto* base = values_.scalar(to.address).v;
  auto* line = llvm::FixedVectorType::get(ir_.getInt64Ty(), kLineBytes / 8);
  loops_.for_all_marked([&](unsigned lane) {
    if (lane % kLineLanes != 0) return;
    const std::int64_t begin = begin_of_line(shape, lane);
    std::vector<int> order(kLineBytes / 8);
    for (unsigned k = 0; k < kLineLanes; ++k)
      for (unsigned w = 0; w < 2; ++w)
        order[static_cast<std::size_t>(shape.offset(lane + k) - begin) / 8 + w] = static_cast<int>(2 * k + w);
    auto* source = ir_.CreateExtractElement(from[lane / code_.lanes()], lane % code_.lanes());
    llvm::Value* value = ir_.CreateAlignedLoad(line, code_.pointer(source), llvm::Align(kLineBytes));
    value = ir_.CreateShuffleVector(value, order);
    prefetch(ir_.CreateAdd(source, ir_.getInt64(kPrefetched * kLineBytes)));
    auto* start = ir_.CreateAdd(base, ir_.getInt64(static_cast<std::uint64_t>(begin)));
    ir_.CreateAlignedStore(value, code_.pointer(start), llvm::Align(kLineBytes));
  });
}

/// A line of the host's caches lies in one page, so that its first lane faults if any does.
void MemoryAccess::copy_known_lines_or(const Access& to, const Access& from,
                                       const std::function<void()>& by_lane) {
  if (code_.writes_otherwise()) return by_lane();
  const auto lines = values_.vectors(from.address);
  const auto known = [&] {
    std::vector<llvm::Constant*> low;
    for (unsigned l = 0; l < code_.lanes(); ++l)
      low.push_back(ir_.getInt64(l % kLineLanes == 0 ? kLineBytes - 1 : 0));
    Mask is_apart;
    for (auto* x : lines) {
      auto* within = ir_.CreateAnd(x, llvm::ConstantVector::get(low));
      is_apart.push_back(ir_.CreateICmpNE(within, llvm::Constant::getNullValue(x->getType())));
    }
    auto* begin = ir_.CreateAdd(values_.scalar(to.address).v,
                                ir_.getInt64(static_cast<std::uint64_t>(begin_of_line(to.address.shape, 0))));
    begin = ir_.CreateAnd(begin, ir_.getInt64(kLineBytes - 1));
    auto* are = ir_.CreateNot(ir_.CreateOr(masks_.any(is_apart), ir_.CreateICmpNE(begin, ir_.getInt64(0))));
    code_.if_else(are, [&] { copy_known_lines(to, lines); }, by_lane);
  };
  to.address.shape.checked ? code_.two_ways(to.address.ok, known, by_lane) : known();
}

}  // namespace raddle::jit
