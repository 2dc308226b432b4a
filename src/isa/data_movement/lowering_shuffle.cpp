// JIT: shfl. Constant distances become vector permutations; others read a spilled copy of the warp's values.
#include <array>

#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

struct Source {
  unsigned lane;
  bool in_range;
};

/// The manual's rule: `c` holds the clamp in bits 0-4 and the segment mask in bits 8-12.
Source source_of(Mod mode, unsigned lane, unsigned b, unsigned c) {
  b &= 31;
  unsigned clamp = c & 31, segment = c >> 8 & 31;
  unsigned highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
  int j = 0;
  bool in_range = false;
  switch (mode) {
    case Mod::up:
      j = static_cast<int>(lane) - static_cast<int>(b), in_range = j >= static_cast<int>(highest);
      break;
    case Mod::down:
      j = static_cast<int>(lane + b), in_range = j <= static_cast<int>(highest);
      break;
    case Mod::bfly:
      j = static_cast<int>(lane ^ b), in_range = j <= static_cast<int>(highest);
      break;
    default:
      j = static_cast<int>(lowest | (b & ~segment)), in_range = j <= static_cast<int>(highest);
      break;
  }
  return {in_range ? static_cast<unsigned>(j) : lane, in_range};
}

void shuffle_constant(WarpEmitter& e, Mod mode, const WarpValue& a, unsigned b, unsigned c) {
  auto& ir = e.ir;
  std::vector<llvm::Value*> whole = e.by_part([&](unsigned p) { return e.part(a, p, Type::b32); });
  while (whole.size() > 1) {  // join pairs until one vector holds the warp
    std::vector<llvm::Value*> joined;
    for (std::size_t k = 0; k < whole.size(); k += 2) {
      std::vector<int> all;
      auto n = llvm::cast<llvm::FixedVectorType>(whole[k]->getType())->getNumElements();
      for (unsigned l = 0; l < 2 * n; ++l) all.push_back(static_cast<int>(l));
      joined.push_back(ir.CreateShuffleVector(whole[k], whole[k + 1], all));
    }
    whole = joined;
  }
  std::vector<llvm::Value*> moved, valid;
  for (unsigned p = 0; p < e.parts(); ++p) {
    std::vector<int> index;
    std::vector<llvm::Constant*> in_range;
    for (unsigned l = 0; l < e.lanes(); ++l) {
      Source s = source_of(mode, p * e.lanes() + l, b, c);
      index.push_back(static_cast<int>(s.lane));
      in_range.push_back(ir.getInt1(s.in_range));
    }
    moved.push_back(ir.CreateShuffleVector(whole[0], index));
    valid.push_back(llvm::ConstantVector::get(in_range));
  }
  e.out(0, Type::b32, moved);
  if (e.wants(1)) e.out(1, Type::pred, valid);
}

void shuffle_dynamic(WarpEmitter& e, Mod mode, const WarpValue& a, const WarpValue& b, const WarpValue& c) {
  auto& ir = e.ir;
  auto* array = e.values.spill_parts(e.by_part([&](unsigned p) { return e.part(a, p, Type::b32); }));
  std::vector<llvm::Value*> moved, valid;
  for (unsigned p = 0; p < e.parts(); ++p) {
    Val distance = e.part(b, p, Type::s32), control = e.part(c, p, Type::s32);
    distance = distance & distance.like(31);
    Val lane = e.lane_numbers(p);
    Val clamp = control & control.like(31),
        segment = shift_right(control, control.like(8)) & control.like(31);
    Val lowest = lane & segment, highest = lowest | (clamp & ~segment);
    Val j = mode == Mod::up     ? lane - distance
            : mode == Mod::down ? lane + distance
            : mode == Mod::bfly ? lane ^ distance
                                : lowest | (distance & ~segment);
    Val in_range = mode == Mod::up ? ge(j, highest) : le(j, highest);
    Val source = select(in_range, j, lane) & lane.like(31);
    auto* i32 = ir.getInt32Ty();
    auto* pointers = ir.CreateGEP(i32, array, source.v);
    moved.push_back(ir.CreateMaskedGather(e.words(), pointers, llvm::Align(4)));
    valid.push_back(in_range.v);
  }
  e.out(0, Type::b32, moved);
  if (e.wants(1)) e.out(1, Type::pred, valid);
}

void shuffle(WarpEmitter& e) {
  Mod mode = e.get(ModKind::shuffle);
  WarpValue a = e.collective(2), b = e.in(3), c = e.in(4);
  auto constant = [](const WarpValue& v) {
    return v.shape.uniform() ? llvm::dyn_cast<llvm::ConstantInt>(v.bases[0]) : nullptr;
  };
  auto *distance = constant(b), *control = constant(c);
  if (distance && control)
    shuffle_constant(e, mode, a, static_cast<unsigned>(distance->getZExtValue()),
                     static_cast<unsigned>(control->getZExtValue()));
  else
    shuffle_dynamic(e, mode, a, b, c);
}

}  // namespace

template <>
void emit<Op::shfl_sync>(WarpEmitter& e) {
  shuffle(e);
}
template <>
void emit<Op::shfl>(WarpEmitter& e) {
  shuffle(e);
}

}  // namespace raddle::jit
